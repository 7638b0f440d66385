"""The example of the request path's page prints what it says, and its table of phases is the code's."""

import re

from tollgate.admission.funding import TRANSITIONS


def page(repository):
    return (repository / "docs" / "reference" / "request-path.md").read_text(encoding="utf-8")


def test_example_prints_what_its_comments_say(repository, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", page(repository), re.DOTALL)
    exec(compile(example, "request-path.md", "exec"), {})
    said = [line.partition("#")[2].partition(";")[0].strip() for line in example.splitlines() if "print(" in line]
    assert capsys.readouterr().out.splitlines() == said


def test_table_of_phases_is_that_of_the_code(repository):
    rows = re.findall(r"^\| `([a-z_]+)` \| `([a-z_]+)` \| (?:commit|cancelled)", page(repository), re.MULTILINE)
    assert set(rows) == {
        (before.value, after.value) for before, following in TRANSITIONS.items() for after in following
    }
