"""Simulated providers, as values: service, load, own limits, failures, outages.

This module owns the shape of these values. It must not know how a manifest spells them, nor what becomes of a call:
that belongs to ``sim.world``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sim.manifest.distributions import Distribution
from tollgate.core.units import Rate

OutageKind = Literal["error", "stall", "slow", "throttle"]


@dataclass(frozen=True, slots=True)
class Outage:
    """A stretch of time in which a provider does not do what it should, and its recovery.

    Attributes:
        name: Its name; no other outage of the manifest has it.
        provider: Index into ``Manifest.providers``.
        kind: ``error`` (calls fail), ``stall`` (calls hang), ``slow`` (calls take longer), ``throttle`` (calls are told
            to wait).
        start_ns: Its first instant, from the start of the run.
        end_ns: Its end, itself not part of it.
        ramp_end_ns: From when on nothing of it is left; ``end_ns`` where it ends at once.
        ramp_steps: Equal steps in which it fades from ``end_ns`` to ``ramp_end_ns``.
        probability: Chance that a call begun inside is hit, for ``error`` and ``throttle``.
        answer_ns: How long the provider takes for such an answer, ns.
        factor: On the work of a call begun inside, for ``slow``.
        retry_after_ns: The wait that it announces, for ``throttle``.
    """

    name: str
    provider: int
    kind: OutageKind
    start_ns: int
    end_ns: int
    ramp_end_ns: int
    ramp_steps: int = 1
    probability: Fraction = Fraction(1)
    answer_ns: int = 1
    factor: Fraction = Fraction(1)
    retry_after_ns: int = 0


@dataclass(frozen=True, slots=True)
class TokenService:
    """A call's work follows from its size: ``base_ns`` and so many ns a token, rounded down, at least 1 ns.

    Attributes:
        base_ns: Work of any call, ns.
        per_prompt_token_ns: Work a token of the prompt, ns, exact.
        per_output_token_ns: Work a token of the output, ns, exact.
    """

    base_ns: int
    per_prompt_token_ns: Fraction
    per_output_token_ns: Fraction


@dataclass(frozen=True, slots=True)
class Bursts:
    """Failures that come in bursts: a chain of two states in time, each of exponential length (Gilbert and Elliott).

    Attributes:
        good_ns: Mean stay in the good state, where the run begins, ns.
        bad_ns: Mean stay in the bad state, ns.
        good_probability: Chance that a call begun in the good state fails.
        bad_probability: Chance that one begun in the bad state does.
    """

    good_ns: int
    bad_ns: int
    good_probability: Fraction
    bad_probability: Fraction


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Calls in service slow each other down: each runs ``1 + per_call * (n - above)`` times as long while n are in it.

    Attributes:
        above: Calls in service that do not.
        per_call: What each further one adds, exact.
    """

    above: int
    per_call: Fraction


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A provider's own limits, which it answers with 429 and a wait.

    Attributes:
        requests: Refill and capacity of its request bucket; None for no such limit.
        tokens: Those of its token bucket.
        concurrency: Calls it has in progress at once; None for no such limit.
        answer_ns: How long it takes to say no, ns.
        retry_after_ns: The wait it announces where ``concurrency`` is what binds; buckets announce the exact one.
    """

    requests: tuple[Rate, int] | None
    tokens: tuple[Rate, int] | None
    concurrency: int | None
    answer_ns: int
    retry_after_ns: int


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """A simulated provider.

    Attributes:
        id: Its name in the profile.
        service: Work of a call, ns, as if it had the provider to itself.
        failure_probability: Chance that a call fails, each independently.
        failure_ns: How long a call that fails takes, ns; None where it takes as long as any other.
        bursts: Failures that come in bursts instead; None for none.
        servers: Calls it works on at a time, each at full speed; None for any number.
        sharing: What happens to more calls than ``servers``: they queue (``fifo``), or all of them share the servers
            alike (``processor``).
        slowdown: How its load slows it down further; None for not at all.
        rate_limit: Its own limits; None for none.
        outages: Its bad times, by ``start_ns``.
    """

    id: str
    service: Distribution | TokenService
    failure_probability: Fraction = Fraction(0)
    failure_ns: int | None = None
    bursts: Bursts | None = None
    servers: int | None = None
    sharing: Literal["fifo", "processor"] = "fifo"
    slowdown: Slowdown | None = None
    rate_limit: RateLimit | None = None
    outages: tuple[Outage, ...] = ()

    @property
    def has_chances(self) -> bool:
        """Whether what happens to a call is drawn when it begins, from its arrival's own word."""
        hits = [outage for outage in self.outages if outage.kind in {"error", "throttle"}]
        return self.bursts is not None or any(
            outage.probability < 1 or outage.ramp_end_ns > outage.end_ns for outage in hits
        )

    @property
    def is_plain(self) -> bool:
        """Whether each call takes its own work and nothing else matters, so that it ends when it was to end."""
        return (
            self.failure_ns is None
            and self.bursts is None
            and self.servers is None
            and self.slowdown is None
            and self.rate_limit is None
            and not self.outages
        )
