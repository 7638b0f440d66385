"""One request's story, told from a list of steps.

Owns the step values and the sentences. Whoever replays a request fills in the steps; this module must not know how they
were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sim.report.text import listing, plural, with_ms, with_seconds


@dataclass(frozen=True, slots=True)
class ExplainCheck:
    """One limit looked at for one request at one instant.

    Attributes:
        scope: Whose limit: ``principal``, ``workspace``, or ``provider``, with a name where that helps (``provider
            jev``).
        limit: Name of the limit as the profile spells it, such as ``concurrency``.
        figure: What it stood at, with its unit where it has one.
        bound: What the limit allows, in the same unit.
        ok: Whether it let the request pass.
    """

    scope: str
    limit: str
    figure: str
    bound: str
    ok: bool


@dataclass(frozen=True, slots=True)
class ExplainStep:
    """One instant in a request's life.

    Attributes:
        at_ns: Instant from the start of the run, nanoseconds.
        what: What happened, as the rest of a sentence about the request: ``arrived``, ``was refused: queue-full``.
        checks: Limits looked at then, in the order in which they were looked at. If one of them failed, the time up to
            the next step is a wait; a refusal on the spot is the next step at the same instant.
    """

    at_ns: int
    what: str
    checks: tuple[ExplainCheck, ...] = ()

    @property
    def holding(self) -> tuple[ExplainCheck, ...]:
        """The checks that did not let the request pass."""
        return tuple(check for check in self.checks if not check.ok)


def render(heading: str, steps: Sequence[ExplainStep]) -> str:
    """Return the story as lines of plain text.

    Args:
        heading: Which request, in one line.
        steps: Its steps in order of time; at least one.

    Returns:
        The heading, a line a step with its checks below it, and a closing line on the waits.

    Raises:
        ValueError: If there is no step, or a step lies before the one in front of it.
    """
    if not steps:
        raise ValueError("a story needs at least one step, got none")
    lines = [heading, ""]
    for before, step, after in zip([steps[0], *steps], steps, [*steps[1:], steps[-1]], strict=False):
        if step.at_ns < before.at_ns:
            raise ValueError(f"steps go forward in time, got {step.what!r} at {step.at_ns} ns after {before.at_ns} ns")
        gap = f"  (+{with_ms(step.at_ns - before.at_ns)})" if step is not steps[0] else ""
        lines.append(f"at {with_seconds(step.at_ns)}{gap}: it {step.what}.")
        lines.extend(f"    {_check_sentence(check)}" for check in step.checks)
        if _waited_ns(step, after):
            lines.append(f"    So it waited: {_names(step.holding)} held it.")
    lines += ["", *_closing(steps)]
    return "\n".join(lines) + "\n"


def _waited_ns(step: ExplainStep, after: ExplainStep) -> int:
    """Return how long a request was held from one step to the next, ns; 0 if it was let go or refused on the spot."""
    return after.at_ns - step.at_ns if step.holding else 0


def _check_sentence(check: ExplainCheck) -> str:
    mark = "passes" if check.ok else "HOLDS "
    return f"{mark}  {check.scope}, {check.limit}: {check.figure}, allowed {check.bound}"


def _names(checks: Sequence[ExplainCheck]) -> str:
    return listing(f"{check.limit} of the {check.scope}" for check in checks)


def _closing(steps: Sequence[ExplainStep]) -> list[str]:
    """Say how long it took from first to last step and which limits the waits are owed to."""
    total = steps[-1].at_ns - steps[0].at_ns
    waits: dict[str, int] = {}
    spells = 0
    for step, after in pairwise(steps):
        if waited_ns := _waited_ns(step, after):
            spells += 1
            waits[_names(step.holding)] = waits.get(_names(step.holding), 0) + waited_ns
    lines = [f"From first to last step: {with_ms(total)}."]
    if not waits:
        refused = f", but {_names(refusers)} refused it on the spot" if (refusers := _refusers(steps)) else ""
        return [*lines, f"No limit made it wait{refused}."]
    owed = "; ".join(f"{with_ms(ns)} for {names}" for names, ns in waits.items())
    lines.append(f"Of that it waited {with_ms(sum(waits.values()))} in {plural(spells, 'spell')}: {owed}.")
    return lines


def _refusers(steps: Sequence[ExplainStep]) -> list[ExplainCheck]:
    """Return the limits that turned it away at once, each once: of the checks that failed then, the one made last.

    What holds a request only sends it to the queue; the queue's own limits are looked at after that.
    """
    refused = (
        step.holding[-1]
        for step, after in zip(steps, [*steps[1:], steps[-1]], strict=True)
        if step.holding and after.at_ns == step.at_ns and "was refused" in after.what
    )
    return list({(check.scope, check.limit): check for check in refused}.values())
