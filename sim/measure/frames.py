"""A run's rows as pandas data frames: requests, attempts, series and observations.

Owns the columns, their types and units. Times stay integer nanoseconds and nothing is rounded. It must not know what
wrote the rows, nor work out a metric: what a frame adds to a row is a difference of two of its times. pandas is
imported when a frame is made, so that no run pays for it.
"""
# ruff: noqa: PLC0415 - pandas takes longer to import than a short run does

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from sim.measure.observe import Observation
from sim.measure.series import SeriesView
from sim.measure.shape import RunShape
from sim.metrics import SELECTORS, STOPS
from sim.trace import REASONS, AttemptCol, AttemptOutcome, Cause, Consumer, RequestCol, RequestOutcome, Rows
from tollgate.decision.evidence import Hold

if TYPE_CHECKING:
    import pandas as pd

_HOLDS: Final = tuple(hold.name.lower().replace("_", "-") for hold in Hold)


def _words(codes: Iterable[AttemptOutcome | RequestOutcome | Cause]) -> tuple[str, ...]:
    return tuple(code.name.lower().replace("_", "-") for code in codes)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a frame.

    Attributes:
        name: Its name; a unit comes last.
        dtype: Its pandas type.
        meaning: What it holds.
    """

    name: str
    dtype: str
    meaning: str


def _places(of: str) -> tuple[Column, ...]:
    return (
        Column("stream", "category", f"the stream of the manifest that the {of} belongs to"),
        Column("class", "category", "the class of its principal"),
        Column("principal", "category", "who asks; ids out of a trace are numbered, as in records"),
        Column("provider", "category", "who is to serve"),
        Column("phase", "category", "the phase that its request arrived in"),
    )


REQUESTS: Final = (
    *_places("request"),
    Column("intended_ns", "int64", "when its client meant to ask, ns from the start of the run"),
    Column("settled_ns", "int64", "when it was over, or the end of the run, ns"),
    Column("sojourn_ns", "int64", "from the one to the other, ns"),
    Column("outcome", "category", "completed, failed, shed, cancelled or in-flight"),
    Column("reason", "category", "why admission refused it; missing if it did not"),
    Column("stopped", "category", "what kept its client from an attempt that its policy had left; missing for nothing"),
    Column("attempts", "int64", "times it asked for admission"),
    Column("admissions", "int64", "times it was admitted"),
    Column("tokens", "int64", "tokens as estimated"),
    Column("actual_tokens", "int64", "tokens as used, prompt and output"),
    Column("signal_ns", "Int64", "when its caller cancelled it, ns; missing where nobody did"),
    Column("is_measured", "bool", "whether it arrived after the warm-up, so that observations count it"),
)
"""Columns of ``Run.requests``; the index, ``request``, is the place among the arrivals, from 0."""

ATTEMPTS: Final = (
    *_places("attempt"),
    Column("requested_ns", "int64", "when it asked for admission, ns from the start of the run"),
    Column("decided_ns", "int64", "when it was admitted, refused or given up, ns"),
    Column("ended_ns", "int64", "when it was over, ns"),
    Column("wait_ns", "int64", "from the request to the decision, ns"),
    Column("service_ns", "int64", "from the decision to the end, ns; 0 where it was not admitted"),
    Column("eligible_wait_ns", "int64", "how long it was eligible at the head of its lane and not served, ns"),
    Column("outcome", "category", "completed, failed, shed, cancelled (before admission) or aborted (in service)"),
    Column("reason", "category", "why admission refused it; missing if it did not"),
    Column("hold", "category", "what first made it wait; missing if it never did"),
    Column("cause", "category", "why an admitted attempt did not succeed; missing if it did or was cancelled"),
    Column("tokens", "int64", "tokens as estimated"),
)
"""Columns of ``Run.attempts``; the index is ``request`` and ``attempt``, which counts from 1."""

OBSERVATIONS: Final = (
    Column("metric", "category", "a name of the metrics' page"),
    *(Column(selector, "category", f"the {selector} it is of; missing for all") for selector in SELECTORS),
    Column("value", "object", "the exact value, as in the record: an integer or decimal text"),
    Column("number", "float64", "the value as a double, for plots"),
    Column("unit", "category", "its unit"),
)
"""Columns of ``observations_frame``."""


class KeptRows(Consumer):
    """A consumer that keeps every attempt and request row: 120 bytes each.

    Attributes:
        attempt_blocks: Blocks of attempt rows, in the order in which they ended.
        request_blocks: Blocks of request rows, in the order in which they settled.
    """

    def __init__(self) -> None:
        """Keep none yet."""
        self.attempt_blocks: list[Rows] = []
        self.request_blocks: list[Rows] = []

    def attempts(self, rows: Rows) -> None:
        """Take attempt rows."""
        self.attempt_blocks.append(rows.copy())

    def requests(self, rows: Rows) -> None:
        """Take request rows."""
        self.request_blocks.append(rows.copy())


class Tables:
    """The frames of one run, made when they are first asked for and then kept."""

    def __init__(self, shape: RunShape, streams: Sequence[str], rows: Callable[[], KeptRows]) -> None:
        """Prepare frames.

        Args:
            shape: Names by index.
            streams: Names of the streams by index.
            rows: Gives the run's rows; called once, when a frame is first asked for.
        """
        self._shape = shape
        self._streams = tuple(streams)
        self._give = rows

    @cached_property
    def requests(self) -> pd.DataFrame:
        """Every request, in order of intended arrival."""
        rows = _sorted(self._rows.request_blocks, len(RequestCol), RequestCol.ORDINAL)
        col = RequestCol
        return self._frame(
            REQUESTS,
            rows,
            {
                "intended_ns": rows[:, col.INTENDED],
                "settled_ns": rows[:, col.SETTLED],
                "sojourn_ns": rows[:, col.SETTLED] - rows[:, col.INTENDED],
                "outcome": (rows[:, col.OUTCOME], _words(RequestOutcome)),
                "reason": (rows[:, col.REASON], tuple(reason.value for reason in REASONS)),
                "stopped": (rows[:, col.STOPPED], STOPS),
                "attempts": rows[:, col.ATTEMPTS],
                "admissions": rows[:, col.ADMISSIONS],
                "tokens": rows[:, col.TOKENS],
                "actual_tokens": rows[:, col.ACTUAL_TOKENS],
                "signal_ns": rows[:, col.SIGNAL],
                "is_measured": rows[:, col.INTENDED] >= self._shape.warmup_ns,
            },
            {"request": rows[:, col.ORDINAL]},
        )

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """Every attempt that ended, by request and in order."""
        rows = _sorted(self._rows.attempt_blocks, len(AttemptCol), AttemptCol.ORDINAL, AttemptCol.ATTEMPT)
        col = AttemptCol
        hold = rows[:, col.HOLD]
        return self._frame(
            ATTEMPTS,
            rows,
            {
                "requested_ns": rows[:, col.REQUESTED],
                "decided_ns": rows[:, col.DECIDED],
                "ended_ns": rows[:, col.ENDED],
                "wait_ns": rows[:, col.DECIDED] - rows[:, col.REQUESTED],
                "service_ns": rows[:, col.ENDED] - rows[:, col.DECIDED],
                "eligible_wait_ns": rows[:, col.ELIGIBLE_WAIT],
                "outcome": (rows[:, col.OUTCOME], _words(AttemptOutcome)),
                "reason": (rows[:, col.REASON], tuple(reason.value for reason in REASONS)),
                "hold": (np.where(hold == Hold.NONE, -1, hold), _HOLDS),
                "cause": (rows[:, col.CAUSE], _words(Cause)),
                "tokens": rows[:, col.TOKENS],
            },
            {"request": rows[:, col.ORDINAL], "attempt": rows[:, col.ATTEMPT]},
        )

    @cached_property
    def _rows(self) -> KeptRows:
        return self._give()

    def _frame(
        self,
        columns: Sequence[Column],
        rows: Rows,
        values: Mapping[str, np.ndarray | tuple[np.ndarray, Sequence[str]]],
        index: Mapping[str, np.ndarray],
    ) -> pd.DataFrame:
        import pandas as pd

        # The first five columns of both kinds of rows are the same.
        of = self._shape
        principal = rows[:, RequestCol.PRINCIPAL]
        places = {
            "stream": (rows[:, RequestCol.STREAM], self._streams),
            "class": (np.asarray(of.class_of, np.int64)[principal], of.classes),
            "principal": (principal, of.principals),
            "provider": (rows[:, RequestCol.PROVIDER], of.providers),
            "phase": (rows[:, RequestCol.PHASE], tuple(phase.name for phase in of.phases)),
        }
        made: dict[str, object] = {}
        for column in columns:
            value = (places | values)[column.name]  # type: ignore[operator]  # both are read only
            if isinstance(value, tuple):
                made[column.name] = pd.Categorical.from_codes(value[0], categories=pd.Index(value[1], dtype="object"))
            elif column.dtype == "Int64":
                made[column.name] = pd.array(np.where(value < 0, 0, value), dtype="Int64")
                made[column.name][value < 0] = pd.NA  # type: ignore[index]
            else:
                made[column.name] = value
        names = list(index)
        at = pd.Index(index[names[0]], name=names[0])
        if len(names) > 1:
            at = pd.MultiIndex.from_arrays(list(index.values()), names=names)
        return pd.DataFrame(made, index=at)


def series_frame(view: SeriesView) -> pd.DataFrame:
    """Return a run's series, a row a bin.

    Args:
        view: The series.

    Returns:
        The index, ``from_ns``, is the start of each bin, ns; ``length_ns`` its length; then a column for each series by
        its name: counts a bin, for ``active`` and ``queue`` the time integral in ns (divided by ``length_ns`` it is the
        mean level). Columns are ``int64``, or ``object`` with exact integers where one does not fit.
    """
    import pandas as pd

    starts = [place * view.bin_ns for place in range(view.bins)]
    lengths = [min(view.bin_ns, view.end_ns - start) for start in starts]
    columns = {"length_ns": lengths, **{name: view.series[name] for name in sorted(view.series)}}
    limit = np.iinfo(np.int64)
    typed = {
        name: pd.Series(values, dtype="int64" if limit.min <= min(values) <= max(values) <= limit.max else "object")
        for name, values in columns.items()
    }
    frame = pd.DataFrame(typed)
    frame.index = pd.Index(starts, name="from_ns")
    return frame


def observations_frame(rows: Sequence[Observation]) -> pd.DataFrame:
    """Return observations, a row a figure, in their order; columns as ``OBSERVATIONS`` says."""
    import pandas as pd

    made: dict[str, object] = {"metric": pd.Categorical([row["metric"] for row in rows])}
    for selector in SELECTORS:
        made[selector] = pd.Categorical([row["labels"].get(selector) for row in rows])
    made["value"] = pd.Series([row["value"] for row in rows], dtype="object")
    made["number"] = [float(row["value"]) for row in rows]
    made["unit"] = pd.Categorical([row["unit"] for row in rows])
    return pd.DataFrame(made)


def _sorted(blocks: Sequence[Rows], width: int, *keys: int) -> Rows:
    rows = np.concatenate(blocks) if blocks else np.empty((0, width), np.int64)
    return rows[np.lexsort([rows[:, key] for key in reversed(keys)])]
