"""Files that look like traces and are none: figures of many requests a row, or something other than requests.

This module owns how they are recognised by their columns and what to say of each. It must not know how a trace is read.
Imported row by row, each of them would give traffic that nobody ever sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sim.workload.traces.timestamps import name_words
from tollgate.core.errors import ConfigError


class _Foreign(NamedTuple):
    """One kind of file: all of these columns, and what it is."""

    columns: frozenset[str]
    what: str
    way: str


# Column names run together without case and separators. Layouts: ServeGen's clients as summarised per client; Locust's
# --csv; the export of OpenAI's usage page; k6's --out csv; Prometheus and vLLM write one JSON document.
_KINDS: Final = (
    _Foreign(
        frozenset({"client", "windows", "meanratepers"}),
        "a population of clients, one row each with its mean rate",
        "it has no arrivals; give a stream such rates as per_second instead",
    ),
    _Foreign(
        frozenset({"requestcount", "failurecount", "averageresponsetime"}),
        "totals of a load test, one row for each kind of request",
        "it has no arrivals; take the log of the requests themselves",
    ),
    _Foreign(
        frozenset({"usercount", "totalrequestcount"}),
        "the history of a load test, one row for each moment at which it was looked at",
        "it has no arrivals; take the log of the requests themselves",
    ),
    _Foreign(
        frozenset({"starttime", "endtime", "nummodelrequests"}),
        "usage by period, one row for all requests of an hour or a day",
        "it has no arrivals; its totals can set a rate, per_second",
    ),
    _Foreign(
        frozenset({"metricname", "metricvalue", "timestamp"}),
        "samples of metrics, several rows for each request",
        "put the rows of one metric (http_req_duration) into a file of their own and name its --time-column",
    ),
    _Foreign(
        frozenset({"metric", "type", "data"}),
        "samples of metrics, several rows for each request",
        "write those of one metric (http_req_duration) as flat rows with a time and a duration",
    ),
)


def refuse_foreign(path: Path, names: Sequence[str]) -> None:
    """Refuse a file whose columns say that its rows are no requests.

    Args:
        path: The file.
        names: Its columns.

    Raises:
        ConfigError: Saying what it is.
    """
    plain = {"".join(name_words(name)) for name in names}
    for kind in _KINDS:
        if kind.columns <= plain:
            raise ConfigError("", kind.what, "one row for each request, with its time", file=str(path), hint=kind.way)
