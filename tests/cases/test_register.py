"""The register of fault cases is complete, and what it says is tested is tested."""

import re
from pathlib import Path

import pytest

from tests.cases import register

ALL = sorted({case for cases in register.KINDS.values() for case in cases} | set(register.IN_NO_KIND))
TABLES = (register.CORE, register.CONTROLLER, tuple(register.LATER))


def cases_in(name):
    path = Path(__file__).with_name(name)
    if not path.exists():
        pytest.skip(f"{name} is not there yet")
    return set(re.findall(r"^def test_(C\d{3})_", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_ninety_five_cases_are_known():
    assert len(ALL) == 95


def test_each_case_is_in_exactly_one_table():
    assert sorted(case for table in TABLES for case in table) == ALL


@pytest.mark.parametrize(
    ("file", "cases"),
    [("test_cases_core.py", register.CORE), ("test_cases_controller.py", register.CONTROLLER)],
)
def test_cases_said_to_be_tested_have_their_test(file, cases):
    assert cases_in(file) == set(cases)
