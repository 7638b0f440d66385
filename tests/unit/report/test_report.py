from __future__ import annotations

from sim.report.report import Report

S = 10**9


def test_the_warm_up_is_no_part_of_a_phases_length(make_record, make_report):
    record = make_record("PASS")
    record["plan"]["warmup_ns"] = 70 * S
    assert make_report(record).measured_phases_ns == {"spike": 20 * S, "soak": 210 * S}


def test_a_report_needs_no_run(imported):
    above = ("sim.experiment", "sim.world", "sim.kernel", "sim.targets", "simpy")
    assert not [name for name in imported["page"] if name.startswith(above)]


def test_a_bundle_becomes_a_report(passing):
    from types import SimpleNamespace

    bundle = SimpleNamespace(
        record=passing.record, series=passing.series.to_json, slowest=lambda: list(passing.slowest)
    )
    report = Report.of(bundle, path="out/x", manifest_path="m.yaml")
    assert report.series.series == passing.series.series
    assert [row["ordinal"] for row in report.slowest] == [1840, 1841, 1842, 1843, 1844]
    assert report.headroom == []
    bare = SimpleNamespace(record=passing.record, series=lambda: None, slowest=list)
    assert Report.of(bare, path="out/x", manifest_path="m.yaml").series is None
