"""The register of fault cases is complete, and what it says is tested is tested."""

import re
from pathlib import Path

import pytest

from tests.cases import register

ALL = sorted({case for cases in register.KINDS.values() for case in cases} | set(register.IN_NO_KIND))
TABLES = (register.CORE, register.CONTROLLER, tuple(register.ELSEWHERE), tuple(register.LATER))
TESTS = Path(__file__).parents[1]


def cases_in(name):
    text = (TESTS / name).read_text(encoding="utf-8")
    return {case.upper() for case in re.findall(r"^def test_(c\d{3})_", text, re.MULTILINE | re.IGNORECASE)}


def test_ninety_five_cases_are_known():
    assert len(ALL) == 95


def test_each_case_is_in_exactly_one_table():
    assert sorted(case for table in TABLES for case in table) == ALL


@pytest.mark.parametrize(
    ("file", "cases"),
    [("cases/test_cases_core.py", register.CORE), ("cases/test_cases_controller.py", register.CONTROLLER)],
)
def test_cases_said_to_be_tested_have_their_test(file, cases):
    assert cases_in(file) == set(cases)


@pytest.mark.parametrize(("case", "file"), register.ELSEWHERE.items())
def test_a_case_said_to_be_tested_elsewhere_is_tested_there(case, file):
    assert case in cases_in(file)
