"""When a failing gate began to go wrong, as far as a bundle shows it.

Owns the way back from a metric over the whole run to a moment of it. The series are bins and the worst requests are
few, so the answer is an interval, the earliest request kept, or that the bundle does not show it; never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sim.gates.gate import OPERATORS
from sim.measure.accumulate import PEAK_WINDOW_NS
from sim.measure.series import SeriesView, series_name
from sim.measure.slowest import SlowRequest
from sim.report import reading
from sim.report.result import Gate
from sim.report.series import phase_at, trailing_ratios
from sim.report.text import listing, with_seconds
from tollgate.core.units import NS_PER_MS

_MOVED_BY_REFUSALS: Final = ("admission.ratio", "goodput.ratio", "goodput.per_second", "completed", "shed")
_LEVELS: Final = {"queue.length.max": "queue", "active.max": "active"}
_TIMES: Final = ("queue.wait.", "queue.dwell.", "sojourn.")


@dataclass(frozen=True, slots=True)
class Breach:
    """The first sign of a miss.

    Attributes:
        gate: The gate that was missed.
        from_ns: When it shows at the earliest.
        text: What happened, with its time.
    """

    gate: Gate
    from_ns: int
    text: str


def first_breach(gates: Sequence[Gate], view: SeriesView | None, slowest: Sequence[SlowRequest]) -> str:
    """Return in a sentence when the first of some missed gates began to go wrong.

    Args:
        gates: The gates that were missed.
        view: The run's series, if the bundle has them.
        slowest: The worst requests.
    """
    found = [breach for gate in gates for breach in (_in_series(gate, view), _in_requests(gate, slowest)) if breach]
    if found:
        first = min(found, key=lambda breach: breach.from_ns)
        return f"First breach ({first.gate.id}): {first.text}."
    if view is None:
        return "When it began is not known: the bundle has no series."
    return "When it began does not show: no time bin and no kept request crosses the bound by itself."


def _in_series(gate: Gate, view: SeriesView | None) -> Breach | None:
    if view is None:
        return None
    for place, what in _signs(gate, view):
        start_ns = place * view.bin_ns
        end_ns = min(start_ns + view.bin_ns, view.end_ns)
        phase = phase_at(view, start_ns)
        when = f"between {with_seconds(start_ns)} and {with_seconds(end_ns)}{f', in phase {phase}' if phase else ''}"
        return Breach(gate, start_ns, f"{what} {when}")
    return None


def _signs(gate: Gate, view: SeriesView) -> Iterator[tuple[int, str]]:
    """Yield each bin in which a gate's metric goes wrong, with what happens in it."""
    of = listing(f"{key} {value}" for key, value in gate.where.items() if key != "phase")
    holds = OPERATORS[gate.op]

    def bins(metric: str) -> Iterable[int]:
        """Yield the values of the gate's selection; outside its phase, and where they are not kept, zeros."""
        where = {key: value for key, value in gate.where.items() if key != "phase"}
        phase = gate.where.get("phase")
        for place, value in enumerate(view.values(series_name(metric, where))):
            yield value if phase is None or phase_at(view, place * view.bin_ns) == phase else 0

    if gate.metric in _MOVED_BY_REFUSALS or gate.metric.startswith("shed."):
        yield from (
            (place, f"the first refusal{f' of {of}' if of else ''}") for place, n in enumerate(bins("shed")) if n
        )
    elif gate.metric.startswith("retry.amplification"):
        width = max(1, PEAK_WINDOW_NS // view.bin_ns)
        for place, ratio in enumerate(trailing_ratios([*bins("attempts")], [*bins("arrivals")], width)):
            if ratio is not None and not holds(ratio, gate.bound):
                shown = reading.apart(ratio, gate.bound)
                yield place, f"{shown} attempts an arrival over ten seconds, the last of them"
    elif gate.metric in _LEVELS:
        for place, area in enumerate(bins(_LEVELS[gate.metric])):
            mean = Fraction(area, view.bin_ns)
            if not holds(mean, gate.bound):
                yield place, f"{reading.apart(mean, gate.bound)} on average"


def _in_requests(gate: Gate, slowest: Sequence[SlowRequest]) -> Breach | None:
    """Return the earliest of the worst requests that a gate on a time counts as too long."""
    if not gate.metric.startswith(_TIMES):
        return None
    too_long = [
        (row["intended_ns"], took_ns, row["phase"])
        for row in slowest
        if _selected(row, gate)
        and not OPERATORS[gate.op](
            Fraction(took_ns := row["sojourn_ns" if gate.metric.startswith("sojourn.") else "wait_ns"], NS_PER_MS),
            gate.bound,
        )
    ]
    if not too_long:
        return None
    at_ns, took_ns, phase = min(too_long)
    word = "took" if gate.metric.startswith("sojourn.") else "waited"
    what = f"the earliest of the worst requests kept, which {word} {reading.ms(took_ns)}"
    return Breach(gate, at_ns, f"{what}, arrived at {reading.seconds(at_ns)} in phase {phase}")


def _selected(row: SlowRequest, gate: Gate) -> bool:
    labels = {"class": row["cls"], "principal": row["principal"], "provider": row["provider"], "phase": row["phase"]}
    return all(labels[key] == value for key, value in gate.where.items())
