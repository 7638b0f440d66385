from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.result import QUICK, Plan, Result

HELD = Result(0.5, 1.0, "held")
MISSED = Result(1.25, 1.0, "missed")
REFUSED = Result(None, 1.0, "refused")


def stubs(**results):
    return {name.replace("_", "-"): lambda _plan, result=result: result for name, result in results.items()}


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_benchmark_prints_one_object_with_the_five_keys(capsys):
    main([], stubs(first=HELD, second=MISSED))
    assert lines(capsys) == [
        {"name": "first", "ratio": 0.5, "bound": 1.0, "ok": True, "how": "held"},
        {"name": "second", "ratio": 1.25, "bound": 1.0, "ok": False, "how": "missed"},
    ]


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ({"a": HELD, "b": HELD}, 0),
        ({"a": MISSED, "b": HELD}, 1),
        ({"a": REFUSED, "b": MISSED}, 4),
    ],
)
def test_exit_code_is_that_of_the_worst_result(results, code):
    assert main([], stubs(**results)) == code


def test_a_ratio_at_its_bound_holds():
    assert Result(1.0, 1.0, "").ok


def test_only_names_one_benchmark_or_a_group(capsys):
    known = stubs(bucket=HELD, bucket_limits=HELD, buckets=HELD, scale_memory=HELD)
    main(["--only", "bucket"], known)
    assert [line["name"] for line in lines(capsys)] == ["bucket", "bucket-limits"]
    main(["--only", "scale"], known)
    assert [line["name"] for line in lines(capsys)] == ["scale-memory"]
    main(["--only", "bucket-limits"], known)
    assert [line["name"] for line in lines(capsys)] == ["bucket-limits"]


def test_an_unknown_name_is_a_usage_error_that_lists_the_names(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["--only", "buckt"], stubs(bucket=HELD))
    assert exit_info.value.code == 2
    assert "'buckt' is none of bucket" in capsys.readouterr().err


def test_quick_measures_less(capsys):
    plans: list[Plan] = []
    for arguments in (["--quick"], []):
        main(arguments, {"one": lambda plan: plans.append(plan) or HELD})
    assert plans == [QUICK, Plan(rounds=5, arrivals_max=1_000_000, calls=100_000)]
    assert len(lines(capsys)) == 2


def test_the_groups_that_are_promised_are_there():
    assert {name.split("-")[0] for name in BENCHMARKS} == {"v2", "scale", "traces", "world", "bucket"}
