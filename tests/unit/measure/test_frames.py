from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from sim.measure.frames import (
    ATTEMPTS,
    OBSERVATIONS,
    REQUESTS,
    KeptRows,
    Tables,
    observations_frame,
    series_frame,
)
from sim.measure.series import SeriesView
from sim.trace import AttemptOutcome, Stop
from tests.unit.measure.written import MS, Ask, S, Try, shape, write
from tollgate.core.deny import DenyReason
from tollgate.decision.evidence import Hold

RETRIED = Ask(
    (
        Try(2 * S, wait=3 * MS, service=100 * MS, outcome=AttemptOutcome.FAILED, hold=Hold.BREAKER_OPEN, eligible=MS),
        Try(3 * S, service=50 * MS, tokens=1),
    ),
    principal=1,
    provider=1,
    actual=7,
)
REFUSED = Ask(
    (Try(12 * S, wait=S, outcome=AttemptOutcome.SHED, reason=DenyReason.QUEUE_TIMEOUT, tokens=4),),
    principal=0,
    stopped=Stop.BUDGET,
)
LEFT = Ask((Try(S, service=5 * MS, outcome=AttemptOutcome.ABORTED),), principal=2, signal=S + 5 * MS)


def tables(asks, *, block_rows=1 << 14, warmup=0):
    of, kept = shape(warmup=warmup), KeptRows()
    write(of, asks).read([kept], block_rows=block_rows)
    return Tables(of, ["only"], lambda: kept)


@pytest.fixture
def made():
    return tables([RETRIED, REFUSED, LEFT], warmup=2 * S)


def test_requests_stand_in_order_of_arrival_with_names_and_exact_times(made):
    frame = made.requests
    assert frame.index.tolist() == [0, 1, 2]
    assert frame.index.name == "request"
    assert pd.isna(frame.loc[1, "signal_ns"])
    assert frame.loc[1].drop("signal_ns").to_dict() == {
        "stream": "only",
        "class": "y",
        "principal": "b",
        "provider": "v",
        "phase": "load",
        "intended_ns": 2 * S,
        "settled_ns": 3 * S + 50 * MS,
        "sojourn_ns": S + 50 * MS,
        "outcome": "completed",
        "reason": pytest.approx(float("nan"), nan_ok=True),
        "stopped": pytest.approx(float("nan"), nan_ok=True),
        "attempts": 2,
        "admissions": 2,
        "tokens": 1,
        "actual_tokens": 7,
        "is_measured": True,
    }
    assert frame["outcome"].tolist() == ["cancelled", "completed", "shed"]
    assert frame["is_measured"].tolist() == [False, True, True]
    assert frame.loc[2, ["reason", "stopped", "phase"]].tolist() == ["queue-timeout", "budget", "spike"]
    assert frame.loc[0, "signal_ns"] == S + 5 * MS


def test_attempts_stand_by_request_and_number(made):
    frame = made.attempts
    assert frame.index.names == ["request", "attempt"]
    assert frame.index.tolist() == [(0, 1), (1, 1), (1, 2), (2, 1)]
    failed = frame.loc[1, 1]
    assert failed[["wait_ns", "service_ns", "eligible_wait_ns"]].tolist() == [3 * MS, 100 * MS, MS]
    assert failed[["outcome", "hold", "cause"]].tolist() == ["failed", "breaker-open", "provider-error"]
    assert frame["outcome"].tolist() == ["aborted", "failed", "completed", "shed"]
    assert frame["reason"].isna().tolist() == [True, True, True, False]
    assert frame["hold"].isna().tolist() == [True, False, True, True]


def test_blocks_do_not_matter():
    whole, split = (tables([RETRIED, REFUSED, LEFT], block_rows=rows) for rows in (1 << 14, 1))
    pd.testing.assert_frame_equal(whole.requests, split.requests)
    pd.testing.assert_frame_equal(whole.attempts, split.attempts)


@pytest.mark.parametrize("asks", [[], [RETRIED, REFUSED, LEFT]])
def test_columns_have_the_types_they_are_said_to_have(asks):
    found = tables(asks)
    for frame, columns in ((found.requests, REQUESTS), (found.attempts, ATTEMPTS)):
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {c.name: c.dtype for c in columns}


def test_rows_are_asked_for_once_and_only_when_needed():
    asked = []
    found = Tables(shape(), ["only"], lambda: asked.append(1) or KeptRows())
    assert asked == []
    assert len(found.requests) == len(found.attempts) == len(found.requests) == 0
    assert asked == [1]


def test_a_series_is_a_column_and_a_bin_a_row():
    view = SeriesView(10, 25, {"arrivals": [1, 2, 3], "queue|class=x": [0, 2**70, 5]})
    frame = series_frame(view)
    assert (frame.index.tolist(), frame.index.name) == ([0, 10, 20], "from_ns")
    assert frame["length_ns"].tolist() == [10, 10, 5]
    assert frame["arrivals"].tolist() == [1, 2, 3]
    assert frame["queue|class=x"].tolist() == [0, 2**70, 5]  # exact, beyond 64 bits
    assert [str(dtype) for dtype in frame.dtypes] == ["int64", "int64", "object"]


def test_observations_keep_their_exact_values_beside_doubles():
    rows = [
        {"metric": "arrivals", "labels": {}, "value": 7, "unit": "count", "n": 1, "half_width": None},
        {"metric": "a", "labels": {"class": "x", "phase": "p"}, "value": "0.100000", "unit": "ratio", "n": 1},
    ]
    frame = observations_frame(rows)
    assert frame["value"].tolist() == [7, "0.100000"]
    assert frame["number"].tolist() == [7.0, 0.1]
    assert frame.loc[1, ["class", "phase"]].tolist() == ["x", "p"]
    assert frame.loc[0, ["class", "principal", "provider", "phase"]].isna().all()
    for columns in (frame, observations_frame([])):
        assert {name: str(dtype) for name, dtype in columns.dtypes.items()} == {c.name: c.dtype for c in OBSERVATIONS}


def test_a_run_does_not_pay_for_pandas(repository):
    code = "import sys, sim.experiment; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
