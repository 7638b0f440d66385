from __future__ import annotations

from sim.report import tables
from sim.report.result import Result


def test_every_gate_is_shown_with_what_the_record_says(failing):
    rows = tables.gates(failing.result)
    assert [row.id for row in rows] == [row["id"] for row in failing.record["plan"]["gates"]]
    missed = rows[0]
    assert (missed.observed, missed.bound, missed.margin, missed.verdict) == (
        "94.11 %",
        ">= 95 %",
        "-0.89 points",
        "FAIL",
    )
    assert (missed.scope, missed.runs) == ("class quiet", "1")
    assert rows[1].observed == "520 ms"


def test_implied_warning_and_host_gates_say_what_they_are(make_record):
    record = make_record(
        "PASS", gate_changes={"quiet_wait": {"severity": "warn"}, "amplification": {"metric": "host.cpu_ratio"}}
    )
    notes = {row.id: row.note for row in tables.gates(Result(record))}
    assert notes["active"] == "implied by the configuration, not counted"
    assert notes["quiet-wait"] == "warns only"
    assert notes["amplification"] == "of the machine, ignored by a re-run"
    assert notes["quiet-admitted"] == ""


def test_a_gate_that_one_run_leaves_open_says_what_it_speaks_of(inconclusive, make_record):
    assert tables.gates(inconclusive.result)[0].note == "speaks of the mean over many runs"
    holds = {"quiet_wait": {"verdict": "INCONCLUSIVE", "estimand": "hold", "severity": "warn"}}
    notes = {row.id: row.note for row in tables.gates(Result(make_record("PASS", gate_changes=holds)))}
    assert notes["quiet-wait"] == "warns only; speaks of the share of many runs that hold"


def test_an_implied_gate_that_broke_counts(make_record):
    changes = {"active": {"verdict": "INVALID", "basis": "implied-bound-broken", "observed": 9, "margin": "-1"}}
    result = Result(make_record("INVALID", "implied-bound-broken", gate_changes=changes))
    (note,) = [row.note for row in tables.gates(result) if row.id == "active"]
    assert "not counted" not in note
    assert "the code under test let it through" in note


def test_refusals_are_split_by_reason_class_and_phase(failing):
    table = tables.refusals(failing)
    assert table.head == ("reason", "class", "load", "spike", "soak", "all phases")
    assert table.rows == (
        ("queue-full", "noisy", "0", "210", "0", "210"),
        ("queue-timeout", "noisy", "0", "73", "7", "80"),
        ("queue-timeout", "quiet", "0", "20", "0", "20"),
    )


def counted(metric, value, **labels):
    unit = "ratio" if metric == "admission.ratio" else "count"
    return {"metric": metric, "labels": labels, "value": value, "unit": unit, "n": 1, "half_width": None}


def test_of_principals_that_share_a_class_those_refused_most_come_first(make_record):
    rows = [counted("arrivals", 120, **{"class": "trace"})]
    rows += [counted("arrivals", 10, principal=f"p{place}") for place in range(12)]
    rows += [counted("shed", place, principal=f"p{place}") for place in range(12)]
    rows += [counted("admission.ratio", "0.250000", principal="p11")]
    table = tables.refused_principals(Result(make_record("PASS", observations=rows)))
    assert table.rows[0] == ("p11", "10", "11", "25 %")
    assert [row[0] for row in table.rows] == [f"p{place}" for place in range(11, 1, -1)]
    assert table.left_out == 1  # p1; p0 was refused nothing


def test_a_principal_that_is_a_class_of_its_own_needs_no_row(make_record):
    rows = [counted("arrivals", 9, **{"class": "a"}), counted("arrivals", 9, principal="a")]
    rows += [counted("shed", 3, principal="a")]
    assert tables.refused_principals(Result(make_record("PASS", observations=rows))).rows == ()


def test_figures_that_were_not_measured_are_dashes(failing):
    table = tables.times(failing.result)
    quiet = {row[0]: row[table.head.index("class quiet")] for row in table.rows}
    assert quiet["wait, p99"] == "520 ms"
    assert quiet["wait, p50"] == "\N{EN DASH}"
    assert "wait, p95" not in quiet  # measured for nobody


def test_a_table_is_cut_and_says_how_much_is_missing(make_record):
    rows = [
        {
            "metric": "arrivals",
            "labels": {"class": f"c{index}"},
            "value": 1,
            "unit": "count",
            "n": 1,
            "half_width": None,
        }
        for index in range(30)
    ]
    table = tables.counts(Result(make_record("PASS", observations=rows)))
    assert len(table.head) == 2 + tables.CLASSES_MAX
    assert table.left_out == 30 - tables.CLASSES_MAX


def test_the_worst_requests_name_what_held_them_and_the_command(failing):
    rows = tables.worst(failing)
    assert len(rows) == 5
    first = rows[0]
    assert (first.ordinal, first.arrived, first.took, first.waited) == (1840, "66 s", "2000 ms", "2000 ms")
    assert first.outcome == "shed, queue-timeout (1 attempt)"
    assert first.held_by == "every permit of the workspace was in use"
    assert first.command == "tollgate explain out/noisy-neighbour-ffffffffffff --request 1840"


def test_absent_digests_are_left_out(make_record):
    names = [name for name, _ in tables.digests(make_record("PASS", lock_sha256=None))]
    assert "locked dependencies" not in names
    assert names[0] == "record"
