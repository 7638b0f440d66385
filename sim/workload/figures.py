"""What the requests of a stream use and state, a column at a time.

Each column is drawn from words of its own, so that adding a figure, or another law for one, shifts no other draw. This
module owns how an estimate comes about from what a request turns out to use. It must not know when requests come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from sim.manifest.distributions import Distribution
from sim.manifest.work import PLAIN, STATEMENTS, Drawn, MaxTokens, OutputEstimate, Scaled, Unknown, Work
from sim.seeds import Words
from sim.workload.blocks import UNKNOWN, Figures
from sim.workload.distributions import Integers, draw, words_per_draw
from tollgate.core.units import MAX_SAFE_INTEGER

ROWS: Final = len(Figures._fields)
"""Columns that figures take."""

NO_FIGURES: Final = -2
"""What their first column holds for a plain request."""

_PLAIN: Final = {name: UNKNOWN if figure is None else figure for name, figure in PLAIN.items()}


class WorkDraws:
    """Draws the tokens and figures of the requests of one stream."""

    def __init__(self, tokens: Distribution, work: Work | None, words: Callable[[str], Callable[[int], Words]]) -> None:
        """Stand at the beginning of each of the stream's words.

        Args:
            tokens: Tokens of a request whose prompt and output are not told apart.
            work: What is special about it; None for a plain one.
            words: Gives what takes the words of the stream's named streams.
        """
        self._work = work
        self._tokens = _Column(tokens, words("work"))
        if work is None:
            return
        estimate = work.output_estimate
        self._prompt = None if work.prompt_tokens is None else _Column(work.prompt_tokens, words("prompt"))
        self._output = _Column(work.output_tokens, words("output"))
        self._guess = _Column(estimate.tokens, words("output-estimate")) if isinstance(estimate, Drawn) else None
        self._stated = {name: _Column(law, words(f"stated/{name}")) for name, law in work.stated.items() if law}
        self._unsaid = [UNKNOWN if name in work.stated else _PLAIN[name] for name in STATEMENTS]

    def next(self, count: int, known: Integers | None) -> WorkColumns:
        """Return the columns of the next requests.

        Args:
            count: How many.
            known: Their tokens, where a trace has them, shape ``(count,)``.
        """
        work = self._work
        if work is None:
            tokens = self._tokens.next(count) if known is None else known
            return WorkColumns(tokens, tokens, None, None)
        if self._prompt is None:
            tokens = self._tokens.next(count) if known is None else known
            return WorkColumns(tokens, tokens, None, self._statements(count))
        prompt, output = self._prompt.next(count), self._output.next(count)
        if isinstance(work.output_estimate, MaxTokens):
            output = np.minimum(output, work.output_estimate.cap)
        tokens = self._estimated(work.output_estimate, prompt, output)
        return WorkColumns(tokens, prompt, output, self._statements(count))

    def _estimated(self, how: OutputEstimate, prompt: Integers, output: Integers) -> Integers:
        match how:
            case MaxTokens(cap):
                guess = np.full(len(output), cap, dtype=np.int64)
            case Scaled(factor):
                over, under = factor.numerator, factor.denominator
                most = MAX_SAFE_INTEGER
                guess = np.array([min(most, -(-one * over // under)) for one in output.tolist()], dtype=np.int64)
            case Unknown():
                return np.full(len(output), UNKNOWN, dtype=np.int64)
            case _:
                guess = output if self._guess is None else self._guess.next(len(output))
        return _capped(prompt + guess)

    def _statements(self, count: int) -> Integers:
        rows = np.empty((len(STATEMENTS), count), dtype=np.int64)
        for place, name in enumerate(STATEMENTS):
            column = self._stated.get(name)
            rows[place] = self._unsaid[place] if column is None else column.next(count)
        return rows


class WorkColumns:
    """Columns of requests that follow each other, each of shape ``(n,)``.

    Attributes:
        tokens: As estimated; ``UNKNOWN`` where nobody estimates them.
        prompt: Tokens of the prompt, as used.
        output: Tokens of the output, as used; None where all are in the prompt.
        stated: What is stated beside them, shape ``(len(STATEMENTS), n)``; None for plain requests.
    """

    __slots__ = ("output", "prompt", "stated", "tokens")

    def __init__(self, tokens: Integers, prompt: Integers, output: Integers | None, stated: Integers | None) -> None:
        self.tokens = tokens
        self.prompt = prompt
        self.output = output
        self.stated = stated

    def fill(self, rows: Integers) -> None:
        """Write the figures into rows of ``Figures``, shape ``(ROWS, n)``."""
        if self.stated is None:
            rows[:] = NO_FIGURES
            return
        rows[0] = self.prompt
        rows[1] = 0 if self.output is None else self.output
        rows[2:] = self.stated


def figures_of(rows: Integers) -> list[Figures | None]:
    """Return the figures that columns hold, one a request; None for a plain one.

    Args:
        rows: Columns as :meth:`WorkColumns.fill` writes them, shape ``(ROWS, n)``.
    """
    make = Figures._make
    return [None if row[0] == NO_FIGURES else make(row) for row in zip(*rows.tolist(), strict=True)]


class _Column:
    """Draws from one law with words of its own, up to the largest figure that an estimate may have."""

    def __init__(self, law: Distribution, take: Callable[[int], Words]) -> None:
        self._law = law
        self._take = take
        self._words = words_per_draw(law)

    def next(self, count: int) -> Integers:
        return _capped(draw(self._law, self._take(count * self._words), count))


def _capped(figures: Integers) -> Integers:
    """Return figures that an estimate may have; a larger one would make it malformed."""
    capped: Integers = np.minimum(figures, MAX_SAFE_INTEGER)
    return capped
