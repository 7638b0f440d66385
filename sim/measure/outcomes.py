"""The outcome of every request as text, in order of arrival, and its digest.

Owns the order of the lines; how a line is spelt belongs to ``sim.textformats``. It must not know metrics or files:
lines go to whatever text sink it is given. Requests settle out of order, so what has settled ahead of an older one is
held back: memory follows the requests in flight.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sim.measure.accumulate import IS_ADMITTED
from sim.textformats import LineDigest, TextOut, outcome_line
from sim.trace import REASONS, AttemptCol, Consumer, RequestCol, RequestOutcome, Rows

_WORDS: Final = [outcome.name.lower().replace("_", "-") for outcome in RequestOutcome]
_REASON_WORDS: Final = [*(reason.value for reason in REASONS), None]  # NONE, -1, is the last
_SHOWN: Final = [RequestCol.ORDINAL, RequestCol.OUTCOME, RequestCol.ATTEMPTS, RequestCol.SETTLED, RequestCol.REASON]


class Outcomes(Consumer):
    """A consumer that writes a line for each request."""

    def __init__(self, out: TextOut | None = None) -> None:
        """Digest the lines, and copy them to ``out`` if it is given."""
        self._lines = LineDigest(out)
        self._delays: dict[int, list[int]] = {}
        self._ahead: Rows = np.empty((0, len(_SHOWN)), np.int64)
        self._next = 0

    def attempts(self, rows: Rows) -> None:
        """Take attempt rows."""
        admitted = rows[IS_ADMITTED[rows[:, AttemptCol.OUTCOME]]]
        waits = admitted[:, AttemptCol.DECIDED] - admitted[:, AttemptCol.REQUESTED]
        delays = self._delays
        for ordinal, wait in zip(admitted[:, AttemptCol.ORDINAL].tolist(), waits.tolist(), strict=True):
            if ordinal in delays:
                delays[ordinal].append(wait)
            else:
                delays[ordinal] = [wait]

    def requests(self, rows: Rows) -> None:
        """Take request rows and write the lines that are next."""
        waiting = np.concatenate([self._ahead, rows[:, _SHOWN]])
        waiting = waiting[np.argsort(waiting[:, 0], kind="stable")]
        in_place = waiting[:, 0] == self._next + np.arange(len(waiting))
        ready = len(waiting) if in_place.all() else int(np.argmin(in_place))
        self._write(waiting[:ready])
        self._next += ready
        self._ahead = waiting[ready:]

    def hexdigest(self) -> str:
        """Return the SHA-256 of all lines, lower-case hex; call it once the trace is closed."""
        return self._lines.hexdigest()

    def _write(self, rows: Rows) -> None:
        take = self._delays.pop
        self._lines.add_all(
            outcome_line(ordinal, _WORDS[outcome], attempts, settled_ns, take(ordinal, ()), _REASON_WORDS[reason])
            for ordinal, outcome, attempts, settled_ns, reason in rows.tolist()
        )
