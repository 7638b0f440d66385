"""The description of a trace, with values worked out by hand beside each."""

from __future__ import annotations

import json

import pytest

from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.figures import Quantiles
from sim.workload.traces.inspect import inspect

S = 10**9


def test_figures_of_ticks(fixtures):
    figures = inspect(fixtures / "ticks.csv", TraceOptions())
    assert (figures.rows, figures.span_ns) == (6, 3_500_000_000)
    assert figures.rate_per_s == pytest.approx(5 / 3.5)
    # Whole seconds hold 3, 1, 1: mean 5/3, variance 8/9.
    assert figures.windows == {1: 3, 10: 0, 60: 0}
    assert figures.dispersion == {1: pytest.approx(8 / 15), 10: None, 60: None}
    assert (figures.gap_max_ns, figures.gap_max_line, figures.gap_zero_share) == (1_500_000_000, 7, 0)
    # The gaps are 500 ms, 100 ns, 749,999,900 ns, 750 ms and 1.5 s.
    assert figures.gaps_longest == ((1_500_000_000, 7), (750_000_000, 6), (749_999_900, 5))
    assert (figures.ties_max, figures.peak, figures.grid_ns) == (1, {1: 3, 10: 6}, None)
    assert figures.tokens == Quantiles(330, 660, 660, 660)
    assert figures.tokens_top_share == pytest.approx(660 / 2310)
    assert (figures.principals, figures.principal_top_share) == (1, 1)


def test_figures_of_a_grid_and_the_warning_not_to_trust_them(fixtures):
    figures = inspect(fixtures / "grid.jsonl", TraceOptions())
    # Gaps 0 0 3 3 0 3 s: mean 3/2, variance 9/4. Neighbouring deviations multiply to + - + - - of 9/4, over six squares
    # of 9/4.
    assert figures.gap_cv == pytest.approx(1)
    assert figures.gap_autocorrelation == pytest.approx(-1 / 6)
    assert (figures.gap_zero_share, figures.ties_max) == (0.5, 3)
    # Nine whole seconds hold 3 0 0 1 0 0 2 0 0: mean 2/3, variance 10/9.
    assert figures.dispersion[1] == pytest.approx(5 / 3)
    assert figures.grid_ns == 3 * S
    assert any(
        "grid of about 3 s: gaps, dispersion and peak over 1 s show the grid" in text for text in figures.warnings
    )
    assert any("milliseconds" in text and "--time-unit" in text for text in figures.warnings)


def test_repairs_and_what_is_left_after_them_are_told(fixtures):
    figures = inspect(fixtures / "two_weeks.jsonl", TraceOptions(drop_invalid=True))
    assert figures.repairs == ("dropped: 3 for a step back in time (rows 5, 6, 7; in the first 'timestamp' was '0')",)
    assert figures.dropped == {"step back in time": 3}
    assert "42.9 % of the rows were dropped: what is left is another traffic than the one recorded" in figures.warnings


def test_a_long_silence_and_few_windows_are_doubted(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts_s\n" + "".join(f"{t}\n" for t in [*range(200), 400]))
    warnings = inspect(path, TraceOptions()).warnings
    assert any("longest gap, 201 s before row 202, is 100 times the mean gap" in text for text in warnings)
    assert any("only 6 whole windows of 60 s: read the dispersion as ±63%" in text for text in warnings)


def test_one_row_has_no_rate_and_no_gaps(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts\n5\n")
    figures = inspect(path, TraceOptions())
    assert (figures.rows, figures.span_ns, figures.rate_per_s, figures.gap_cv, figures.gap_max_ns) == (
        1,
        0,
        None,
        None,
        None,
    )
    assert "1 over 0 s, n/a a second" in figures.render()


def test_all_rows_at_one_instant(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts\n" + "5\n" * 4)
    figures = inspect(path, TraceOptions())
    assert (figures.ties_max, figures.gap_zero_share, figures.gap_cv) == (4, 1, None)
    assert figures.to_json()["remarks"] == ["rows equal to another of the same instant: 3, kept"]


def test_durations_and_principals_are_described(fixtures):
    figures = inspect(fixtures / "ended.csv", TraceOptions())
    assert figures.duration_ns == Quantiles(S // 4, 3 * S, 3 * S, 3 * S)
    assert (figures.principals, figures.principal_top_share) == (3, 0.5)
    assert "principals           3; the busiest brings 50.0 % of the rows; Zipf exponent" in figures.render()
    assert any("1.3 rows a principal on average: who is busiest" in text for text in figures.warnings)


def test_json_is_plain_and_complete(fixtures):
    figures = inspect(fixtures / "grid.jsonl", TraceOptions())
    plain = json.loads(json.dumps(figures.to_json(), allow_nan=False))
    assert plain["dispersion"] == {"1s": 1.666667, "10s": None, "60s": None}
    assert plain["tokens"] == {"median": 300, "p95": 930, "p99": 930, "max": 930}
    assert plain["span_ns"] == 9 * S
    assert set(plain) == set(figures.__dataclass_fields__)


def test_the_text_shows_what_was_taken_for_what(fixtures):
    text = inspect(fixtures / "grid.jsonl", TraceOptions()).render()
    for part in ("7 over 9 s", "read as", "'timestamp' in ms", "not used: 'blocks'", "met in the file", "to doubt"):
        assert part in text


def test_answers_are_counted_and_a_log_of_refusals_is_doubted(fixtures):
    figures = inspect(fixtures / "access.log", TraceOptions(sort=True, drop_invalid=True, missing_size=0))
    assert figures.statuses == {"2xx": 2, "3xx": 1, "4xx": 2, "5xx": 1}
    assert "answers              2 2xx, 1 3xx, 2 4xx, 1 5xx" in figures.render()
    assert (figures.dropped, figures.moved) == ({"row that cannot be read": 1}, 1)
    assert any("2 rows were answered 429 or 503: callers who then tried again" in text for text in figures.warnings)


def test_statuses_that_are_none_are_counted_as_none(tmp_path):
    path = tmp_path / "trace.jsonl"
    rows = ['"0"', "200", "null", '"000"', "2000", "true", "[1]"]
    path.write_text("".join(f'{{"ts": {k}, "status": {status}}}\n' for k, status in enumerate(rows)))
    assert inspect(path, TraceOptions()).statuses == {"2xx": 1, "none": 6}


def test_captures_sorted_into_each_other_and_captures_laid_end_to_end_are_doubted(fixtures):
    merged = inspect(fixtures / "two_weeks.jsonl", TraceOptions(sort=True))
    assert any("step back of 604453 s was sorted" in text and "overlap" in text for text in merged.warnings)
    split = inspect(fixtures / "two_weeks.jsonl", TraceOptions(split_on_step_back=True))
    assert split.segments == (4, 3)
    assert any("2 segments were laid end to end" in text for text in split.warnings)
    alone = inspect(fixtures / "two_weeks.jsonl", TraceOptions(split_on_step_back=True, segment=2))
    assert not any("end to end" in text for text in alone.warnings)


def test_counts_of_ten_seconds_are_correlated_over_whole_windows(tmp_path):
    path = tmp_path / "trace.csv"
    # Whole windows hold 3 1 3 1: deviations 1 -1 1 -1, three products of -1 over four squares. The last is cut short.
    path.write_text("ts_s\n" + "".join(f"{t}\n" for t in [0, 1, 2, 10, 20, 21, 22, 30, 40]))
    assert inspect(path, TraceOptions()).count_autocorrelation == pytest.approx(-3 / 4)
