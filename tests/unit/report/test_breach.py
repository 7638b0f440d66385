from __future__ import annotations

from sim.measure.series import Band, SeriesView
from sim.report.breach import first_breach
from sim.report.result import Gate

S, MS = 10**9, 10**6
VIEW = SeriesView(
    bin_ns=5 * S,
    end_ns=60 * S,
    series={
        "shed|class=quiet": [0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0],
        "shed": [0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 0],
        "arrivals": [100] * 12,
        "attempts": [100, 100, 100, 100, 120, 150, 150, 100, 100, 100, 100, 100],
        "queue": [0, 0, 0, 5 * 4 * S, 5 * 10 * S, 0, 0, 0, 0, 0, 0, 0],
    },
    bands=(Band("phase", "load", "", 0, 30 * S), Band("phase", "spike", "", 30 * S, 60 * S)),
)


def gate(metric, op, bound, **where):
    asked = {"id": "g", "metric": metric, "where": where, "op": op, "bound": bound, "unit": "ms", "severity": "block"}
    return Gate(asked, {"verdict": "FAIL", "implied": False})


def request(intended_ns, wait_ns, cls="quiet"):
    labels = {"cls": cls, "principal": cls, "provider": "jev", "phase": "spike"}
    return labels | {"intended_ns": intended_ns, "wait_ns": wait_ns, "sojourn_ns": wait_ns + 100 * MS}


def test_a_ratio_of_admissions_breaks_at_the_first_refusal_of_its_class():
    said = first_breach([gate("admission.ratio", ">=", "0.95", **{"class": "quiet"})], VIEW, [])
    assert said == "First breach (g): the first refusal of class quiet between 30 s and 35 s, in phase spike."


def test_a_gate_on_one_phase_looks_at_that_phase_only():
    said = first_breach([gate("admission.ratio", ">=", "0.95", phase="spike")], VIEW, [])
    assert said == "First breach (g): the first refusal between 30 s and 35 s, in phase spike."


def test_amplification_breaks_when_ten_seconds_together_exceed_the_bound():
    # Bins of 5 s: 220/200 = 1.1 at 20 s, 270/200 = 1.35 at 25 s.
    said = first_breach([gate("retry.amplification", "<=", "1.25")], VIEW, [])
    assert said == (
        "First breach (g): 1.35 attempts an arrival over ten seconds, the last of them "
        "between 25 s and 30 s, in phase load."
    )


def test_a_level_breaks_where_its_average_does():
    said = first_breach([gate("queue.length.max", "<=", "8")], VIEW, [])
    assert said == "First breach (g): 10 on average between 20 s and 25 s, in phase load."


def test_a_wait_breaks_with_the_earliest_of_the_worst_requests_that_is_too_long():
    slowest = [
        request(50 * S, 3000 * MS),
        request(40 * S, 1600 * MS),
        request(10 * S, 1400 * MS),
        request(5 * S, 9000 * MS, "noisy"),
    ]
    said = first_breach([gate("queue.wait.p99", "<=", "1500", **{"class": "quiet"})], VIEW, slowest)
    assert said == (
        "First breach (g): the earliest of the worst requests kept, which waited 1600 ms, "
        "arrived at 40 s in phase spike."
    )


def test_the_earliest_of_several_misses_is_told():
    gates = [gate("admission.ratio", ">=", "0.95", **{"class": "quiet"}), gate("retry.amplification", "<=", "1.25")]
    assert "between 25 s and 30 s" in first_breach(gates, VIEW, [])


def test_what_a_bundle_does_not_show_is_not_guessed():
    asked = gate("queue.length.max", "<=", "100")
    assert first_breach([asked], VIEW, []) == (
        "When it began does not show: no time bin and no kept request crosses the bound by itself."
    )
    assert first_breach([asked], None, []) == "When it began is not known: the bundle has no series."
