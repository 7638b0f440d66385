"""Every metric once more, from plain requests, as spec 00 words it: lists, loops and fractions, no rows, no arrays.

Shares nothing with ``sim.measure`` but the names of metrics and codes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from sim.measure.shape import RunShape
from sim.trace import RequestOutcome
from tests.unit.measure.written import MS, Ask, S, Try, phase_of
from tollgate.core.deny import DenyReason

Value = int | Fraction | None


class Naive:
    """One selection of a run, all at once in memory."""

    def __init__(self, of: RunShape, asks: Sequence[Ask], where: dict[str, str]):
        self.shape = of
        self.where = where
        self.everyone = list(asks)
        self.asks = [ask for ask in asks if ask.intended >= of.warmup_ns and self.holds(ask)]
        self.tries = [attempt for ask in self.asks for attempt in ask.tries]
        self.start, self.end = of.warmup_ns, of.horizon_ns
        if "phase" in where:
            (phase,) = (phase for phase in of.phases if phase.name == where["phase"])
            self.start, self.end = max(self.start, phase.start_ns), phase.end_ns

    def holds(self, ask: Ask, *, at_any_time: bool = False) -> bool:
        labels = {
            "principal": self.shape.principals[ask.principal],
            "class": self.shape.classes[self.shape.class_of[ask.principal]],
            "provider": self.shape.providers[ask.provider],
            "phase": self.shape.phases[phase_of(self.shape, ask.intended)].name,
        }
        return all(labels[key] == value or (key == "phase" and at_any_time) for key, value in self.where.items())

    # counts and ratios

    def count(self, outcome: RequestOutcome) -> int:
        return len([ask for ask in self.asks if ask.outcome == outcome])

    def shed(self, reason: DenyReason) -> int:
        return len([ask for ask in self.asks if ask.outcome == RequestOutcome.SHED and ask.reason == reason])

    def deferrals(self, reason: DenyReason) -> int:
        return len([attempt for attempt in self.tries if attempt.hold.reason == reason])

    def over_arrivals(self, part: int) -> Value:
        return Fraction(part, len(self.asks)) if self.asks else None

    def admission(self) -> Value:
        return self.over_arrivals(len([ask for ask in self.asks if any(attempt.admitted for attempt in ask.tries)]))

    def per_second(self) -> Value:
        length = self.end - self.start
        return Fraction(self.count(RequestOutcome.COMPLETED) * S, length) if length > 0 else None

    def peak_10s(self) -> Value:
        ratios = []
        for window in range(self.shape.horizon_ns // (10 * S) + 1):
            inside = [ask for ask in self.asks if ask.intended // (10 * S) == window]
            if inside:
                ratios.append(Fraction(sum(len(ask.tries) for ask in inside), len(inside)))
        return max(ratios, default=None)

    def off(self, sign: int) -> Value:
        """Tokens estimated above (+1) or below (-1) the use, of completed requests, over the use."""
        done = [ask for ask in self.asks if ask.outcome == RequestOutcome.COMPLETED]
        used = [ask.tries[0].tokens if ask.actual is None else ask.actual for ask in done]
        errors = [sign * (ask.tries[0].tokens - use) for ask, use in zip(done, used, strict=True)]
        return Fraction(sum(error for error in errors if error > 0), sum(used)) if sum(used) else None

    def jain(self) -> Value:
        shares = []
        for principal in range(len(self.shape.principals)):
            own = [ask for ask in self.asks if ask.principal == principal]
            if own:
                shares.append(Fraction(len([ask for ask in own if ask.admissions]), len(own)))
        squares = sum(share**2 for share in shares)
        return sum(shares) ** 2 / (len(shares) * squares) if squares else None

    # times

    def quantile(self, p: str, values: list[int]) -> Value:
        """The smallest value with at least ceil(p n) values at or below it."""
        for value in sorted(values):
            if len([other for other in values if other <= value]) >= Fraction(p) * len(values):
                return value
        return None

    def waits(self) -> list[int]:
        return [attempt.wait for attempt in self.tries if attempt.admitted]

    def dwells(self) -> list[int]:
        return [attempt.wait for attempt in self.tries if attempt.wait > 0]

    def sojourns(self) -> list[int]:
        return [ask.settled - ask.intended for ask in self.asks if ask.outcome == RequestOutcome.COMPLETED]

    def cancel_latencies(self) -> list[int]:
        return [
            ask.settled - ask.signal for ask in self.asks if ask.outcome == RequestOutcome.CANCELLED and ask.signal >= 0
        ]

    # levels: over everybody, warm-up included, because what came before may still be there

    def stays(self, kind: str) -> list[tuple[int, int]]:
        spans = []
        for ask in self.everyone:
            if self.holds(ask, at_any_time=True):
                for attempt in ask.tries:
                    if kind == "queue" and attempt.wait:
                        spans.append((attempt.requested, attempt.decided))
                    if kind == "active" and attempt.admitted:
                        spans.append((attempt.decided, attempt.ended))
        return spans

    def level_mean(self, kind: str) -> Value:
        area = sum(max(min(end, self.end) - max(start, self.start), 0) for start, end in self.stays(kind))
        return Fraction(area, self.end - self.start) if self.end > self.start else None

    def utilisation(self) -> Value:
        limits = self.shape.profile.workspace
        if "provider" in self.where:
            limits = self.shape.profile.providers[self.where["provider"]]
        mean = self.level_mean("active")
        return None if limits.concurrency is None or mean is None else mean / limits.concurrency


def _longest(values: list[int]) -> Value:
    return max(values, default=None)


def _mean(values: list[int]) -> Value:
    return Fraction(sum(values), len(values)) if values else None


def _eligible(tries: list[Try]) -> Value:
    """Of the admitted, but a value of 0 as soon as anybody asked."""
    return max((attempt.eligible if attempt.admitted else 0 for attempt in tries), default=None)


FORMULAS: dict[str, Callable[[Naive], Value]] = {
    "arrivals": lambda n: len(n.asks),
    "attempts": lambda n: len(n.tries),
    "completed": lambda n: n.count(RequestOutcome.COMPLETED),
    "failed": lambda n: n.count(RequestOutcome.FAILED),
    "shed": lambda n: n.count(RequestOutcome.SHED),
    "shed.queue-full": lambda n: n.shed(DenyReason.QUEUE_FULL),
    "shed.queue-timeout": lambda n: n.shed(DenyReason.QUEUE_TIMEOUT),
    "cancelled": lambda n: n.count(RequestOutcome.CANCELLED),
    "in_flight.end": lambda n: n.count(RequestOutcome.IN_FLIGHT),
    "deferrals.concurrency": lambda n: n.deferrals(DenyReason.CONCURRENCY),
    "deferrals.tokens-per-second": lambda n: n.deferrals(DenyReason.TOKENS_PER_SECOND),
    "admission.ratio": Naive.admission,
    "goodput.ratio": lambda n: n.over_arrivals(n.count(RequestOutcome.COMPLETED)),
    "goodput.per_second": Naive.per_second,
    "utilisation": Naive.utilisation,
    "active.mean": lambda n: n.level_mean("active"),
    "queue.length.mean": lambda n: n.level_mean("queue"),
    "queue.wait.mean": lambda n: _mean(n.waits()),
    "queue.wait.p50": lambda n: n.quantile("0.5", n.waits()),
    "queue.wait.p95": lambda n: n.quantile("0.95", n.waits()),
    "queue.wait.p99": lambda n: n.quantile("0.99", n.waits()),
    "queue.wait.max": lambda n: _longest(n.waits()),
    "queue.dwell.p99": lambda n: n.quantile("0.99", n.dwells()),
    "queue.dwell.max": lambda n: _longest(n.dwells()),
    "lane.eligible_wait.max": lambda n: _eligible(n.tries),
    "sojourn.p50": lambda n: n.quantile("0.5", n.sojourns()),
    "sojourn.p95": lambda n: n.quantile("0.95", n.sojourns()),
    "sojourn.p99": lambda n: n.quantile("0.99", n.sojourns()),
    "cancel.latency.max": lambda n: _longest(n.cancel_latencies()),
    "retry.amplification": lambda n: n.over_arrivals(len(n.tries)),
    "retry.amplification.peak_10s": Naive.peak_10s,
    "fairness.jain": Naive.jain,
    "tokens.overestimate.ratio": lambda n: n.off(1),
    "tokens.underestimate.ratio": lambda n: n.off(-1),
}


def spelt(value: Value, unit: str) -> int | str | None:
    """Return a value as records carry it: six places, the last one rounded half up."""
    if value is None or (isinstance(value, int) and unit == "count"):
        return value
    exact = Fraction(value, MS) if unit == "ms" else Fraction(value)
    micros = int(exact * 10**6 + Fraction(1, 2))
    return f"{micros // 10**6}.{micros % 10**6:06d}"
