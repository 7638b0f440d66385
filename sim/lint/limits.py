"""Rules about limits that can never bind, because others bind first or there is nothing to limit.

Owns these rules. What the other limits leave is asked of ``sim.gates``, which tells gates as implied by the same
reckoning; buckets, which no gate is about, are compared here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from sim.lint.finding import Found
from sim.lint.subject import BUCKETS, Flow, Scope, Subject, text
from sim.manifest.model import Manifest, Stream
from sim.manifest.processes import BurstyPoisson, ModulatedPoisson, Poisson, RateCurve
from sim.report.text import listing, rounded
from tollgate.core.units import NS_PER_MIN, NS_PER_MS, NS_PER_S
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.profile import AdmissionProfile

_POOLED: Final = (
    ("concurrency", "active.max", "calls in flight"),
    ("max_queue_length", "queue.length.max", "requests waiting"),
)

MARGIN: Final = 4
"""How many times the offered load a bucket's rate has to be for it to be called out of reach."""

BATCH: Final = 20
"""How many of the largest requests, with all their retries, its burst has to hold as well. Poisson arrivals at a
quarter of the rate then exceed it with a chance below e^-46 at any instant (Kingman's bound, Inequalities in the theory
of queues, 1970: the exponent solves e^x - 1 = 4 x)."""


def pools(subject: Subject) -> Iterator[Found]:
    """Find concurrencies and queue lengths above what all other limits leave."""
    for scope in subject.scopes:
        for limit, metric, noun in _POOLED:
            value = getattr(scope.limits, limit)
            left = None if value is None else _left_without(subject, scope, limit, metric)
            # Others' shares and reservations are taken from a pool's limit: it binds through them as well.
            is_base = scope.limits.max_principal_share is not None
            kept = subject.guarantees.reserved if limit == "concurrency" and scope.kind != "principal" else 0
            if left is not None and not is_base and left + kept < value:
                yield Found(
                    f"{scope.path}.{subject.key(limit)}",
                    f"the other limits leave at most {left} {noun} here, so {value} is never reached",
                    (("limit", str(value)), ("reachable", str(left))),
                )


def waits(subject: Subject) -> Iterator[Found]:
    """Find queue waits longer than any other limit on the wait, or than the callers' patience."""
    limit = "max_queue_wait_ns"
    for scope in subject.scopes:
        value = scope.limits.max_queue_wait_ns
        left = None if value is None else _left_without(subject, scope, limit, "queue.wait.max")
        if value is not None and left is not None and left * NS_PER_MS < value:
            shown, longest = text(scope.limits, limit), rounded(left, 6)
            yield Found(
                f"{scope.path}.{subject.key(limit)}",
                f"nobody waits longer than {longest} ms here, by another limit or a time-out, so {shown} ms never end",
                (("limit_ms", shown), ("reachable_ms", longest)),
            )


def buckets(subject: Subject) -> Iterator[Found]:
    """Find rate limits that another bucket on the same requests always reaches first."""
    for scope in subject.scopes:
        for limit, bucket in BUCKETS:
            mine = _bucket(scope.limits, bucket)
            if mine is None or mine[0] == 0:
                continue
            for others in _over_the_same(subject, scope):
                theirs = [pair for _, limits in others if (pair := _bucket(limits, bucket)) is not None]
                if not theirs or len(theirs) < len(others):
                    continue
                rate, burst = sum(pair[0] for pair in theirs), sum(pair[1] for pair in theirs)
                if 0 < rate <= mine[0] and burst <= mine[1] and (rate, burst) != mine:
                    shown = text(scope.limits, limit)
                    paths = listing(
                        f"{path}.{subject.key(limit)}" for path in dict.fromkeys(path for path, _ in others)
                    )
                    yield Found(
                        f"{scope.path}.{subject.key(limit)}",
                        f"what {paths} let through always fits {shown}: at no higher a rate nor in larger bursts",
                        (("limit", shown), ("bound_by", paths)),
                    )
                    break


def shares(subject: Subject) -> Iterator[Found]:
    """Find shares and reservations of a pool that has no limit to take them from."""
    is_bounded = any(scope.limits.concurrency for scope in subject.scopes if scope.kind != "principal")
    for scope in subject.scopes:
        limits = scope.limits
        if limits.max_principal_share is not None and limits.concurrency is None and limits.max_queue_length is None:
            yield Found(
                f"{scope.path}.{subject.key('max_principal_share')}",
                "neither concurrency nor queue length is limited here, so there is nothing to have a share of",
                (("limit", text(limits, "max_principal_share")),),
            )
        if scope.kind == "principal" and limits.reserved_concurrency and not is_bounded:
            yield Found(
                f"{scope.path}.{subject.key('reserved_concurrency')}",
                "neither the workspace's concurrency nor a provider's is limited, so no permit has to be kept back",
                (("limit", str(limits.reserved_concurrency)),),
            )


def weights(subject: Subject) -> Iterator[Found]:
    """Find weights that the plain order of turns does not look at."""
    if subject.manifest.profile.scheduling.kind == "turns":
        for scope in subject.scopes:
            if scope.kind == "principal" and scope.limits.weight != 1:
                yield Found(
                    f"{scope.path}.{subject.key('weight')}",
                    "scheduling is by turns, which serves every lane alike whatever its weight",
                    (("weight", str(scope.limits.weight)), ("scheduling", "turns")),
                )


def out_of_reach(subject: Subject) -> Iterator[Found]:
    """Find rate limits far above everything that the streams offer, retries included."""
    for scope in subject.scopes:
        for limit, bucket in BUCKETS:
            mine = _bucket(scope.limits, bucket)
            offered = None if mine is None else _offered(subject, scope, in_tokens=bucket == "token_rate")
            if mine is None or offered is None or offered[0] == 0:
                continue
            rate, largest = offered
            if mine[0] >= MARGIN * rate and mine[1] >= BATCH * largest:
                per = NS_PER_MIN if limit == "requests_per_minute" else NS_PER_S
                shown, most = text(scope.limits, limit), rounded(rate * per)
                yield Found(
                    f"{scope.path}.{subject.key(limit)}",
                    f"at most {most} are offered on average where the rate is highest, retries included, and {shown} "
                    f"are allowed: this load never empties the bucket",
                    (("limit", shown), ("offered_peak", most), ("margin", rounded(mine[0] / rate))),
                )


def _left_without(subject: Subject, scope: Scope, limit: str, metric: str) -> Fraction | None:
    """Return the ceiling of a metric in a scope if that scope did not set a limit."""
    guarantees, profile = subject.guarantees, subject.manifest.profile
    without: dict[str, Any] = {limit: None}
    changed = replace(guarantees, profile=_replaced(profile, scope, replace(scope.limits, **without)))
    return changed.value(metric, scope.where, "<=")


def _replaced(profile: AdmissionProfile, scope: Scope, limits: AdmissionLimits) -> AdmissionProfile:
    if scope.kind == "workspace":
        return replace(profile, workspace=limits)
    if scope.kind == "provider":
        return replace(profile, providers={**profile.providers, scope.name: limits})
    return replace(profile, principals={**profile.principals, scope.name: limits})


def _bucket(limits: AdmissionLimits, name: str) -> tuple[Fraction, int] | None:
    """Return refill (units a nanosecond, exact) and capacity of a bucket."""
    found = getattr(limits, name)
    if found is None:
        return None
    rate, burst = found
    return Fraction(rate.units, rate.per_ns), burst


def _over_the_same(subject: Subject, scope: Scope) -> Iterator[list[tuple[str, AdmissionLimits]]]:
    """Yield the sets of limits which, taken together, see every request that this scope sees, with their key paths."""
    profile = subject.manifest.profile
    flows = [flow for flow in subject.flows if _concerns(flow, scope)]
    if scope.kind != "workspace":
        yield [(subject.scopes[0].path, profile.workspace)]
    if scope.kind != "provider":
        called = {name: None for flow in flows for name in flow.providers}
        yield [(each.path, each.limits) for each in subject.scopes if each.kind == "provider" and each.name in called]
    if scope.kind != "principal":
        asking = {name: None for flow in flows for name in flow.principals}
        yield [(subject.principal_path(name), profile.principals[name]) for name in asking]


def _concerns(flow: Flow, scope: Scope) -> bool:
    """Return whether requests of a flow are held to the limits of a scope."""
    names = {"workspace": ("",), "provider": flow.providers, "principal": flow.principals}[scope.kind]
    return scope.name in names


def _offered(subject: Subject, scope: Scope, *, in_tokens: bool) -> tuple[Fraction, int] | None:
    """Return what streams offer to a scope: units a nanosecond where it is most, and the largest offered at once.

    Each arrival is taken to make all its attempts, each with the most tokens that it can have; None where that is not
    known of some stream.
    """
    total, largest = Fraction(0), 0
    for flow in subject.flows:
        if not _concerns(flow, scope):
            continue
        rate = None if flow.stream is None else _highest_rate(subject.manifest, flow.stream)
        size = flow.tokens[1] if in_tokens else 1
        if rate is None or size is None or flow.stream is None:
            return None
        weight = Fraction(1)
        if scope.kind == "provider":
            shares = {subject.manifest.providers[at].id: share for at, share in flow.stream.providers}
            weight = shares[scope.name]
        asking = 1 if scope.kind == "principal" else len(flow.principals)
        units = size * flow.client.max_attempts
        total += rate * weight * asking * units
        largest = max(largest, units)
    return total, largest


def _highest_rate(manifest: Manifest, stream: Stream) -> Fraction | None:
    """Return the highest rate of one principal's arrivals, a nanosecond; None where they are no Poisson process.

    A process whose rate changes, in time or by chance, never gives more than a Poisson process of its highest rate.
    """
    match stream.arrivals:
        case Poisson(per_second):
            rate = per_second
        case BurstyPoisson(per_second, multiplier):
            rate = per_second * max(Fraction(1), multiplier)
        case RateCurve(points):
            rate = max(per_second for _, per_second in points)
        case ModulatedPoisson(states):
            rate = max(state.per_second for state in states)
        case _:
            return None
    return rate * max(phase.rate_multiplier.get(stream.name, Fraction(1)) for phase in manifest.phases) / NS_PER_S
