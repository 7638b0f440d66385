"""What the user says about a trace, and what a manifest keeps of it."""

from __future__ import annotations

import pytest

from sim.workload.traces.columns import Reading, choice
from tollgate.core.errors import ConfigError


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"format": "xml"}, "format"),
        ({"time_unit": "h"}, "time_unit"),
        ({"time_is": "end"}, "time_is"),
        ({"duration_column": "d"}, "duration_unit"),
        ({"duration_unit": "s"}, "duration_unit"),
        ({"duration_column": "d", "duration_unit": "date-time"}, "duration_unit"),
    ],
)
def test_a_reading_that_contradicts_itself_is_refused(changes, path):
    with pytest.raises(ConfigError) as caught:
        Reading(**({"format": "csv", "time_column": "t", "time_unit": "s"} | changes))
    assert caught.value.path == path


def test_an_unknown_word_gets_the_nearest_one_offered():
    with pytest.raises(ConfigError, match='one of csv, jsonl; did you mean "jsonl"'):
        choice("--format", "jsonnl", ("csv", "jsonl"))
