"""The registry of rules, and a manifest held to all of them.

Owns the order, the names and the advice. Documentation has the same table and is compared with it. It must not know how
a rule looks.
"""

from __future__ import annotations

from typing import Final

from sim.lint import clients, gates, limits, traffic, work
from sim.lint.finding import Basis, Finding, Rule
from sim.lint.subject import Subject
from sim.manifest.model import Manifest

RULES: Final = (
    Rule(
        "limit-cannot-bind",
        "a concurrency or a queue length above what all other limits leave",
        "Lower it below that, or leave it out: as it stands it protects nothing.",
        limits.pools,
    ),
    Rule(
        "wait-cannot-bind",
        "a queue wait longer than another limit on the same wait, or than every caller's time-out",
        "Lower it, or leave it out: something else always ends the wait first.",
        limits.waits,
    ),
    Rule(
        "bucket-cannot-bind",
        "a rate that another bucket on the same requests, with no larger burst, always reaches first",
        "Lower it below theirs, or leave it out.",
        limits.buckets,
    ),
    Rule(
        "bucket-out-of-reach",
        f"a rate at least {limits.MARGIN} times what streams offer at their highest rate, retries included, whose "
        f"burst holds {limits.BATCH} of the largest requests",
        "If it is meant to be tested, offer more; a PASS says nothing of it.",
        limits.out_of_reach,
        Basis.OFFERED_LOAD,
    ),
    Rule(
        "share-of-nothing",
        "a principal's share, or a reservation, of a pool that has no limit to take it from",
        "Limit the pool as well, or leave it out.",
        limits.shares,
    ),
    Rule(
        "weight-without-effect",
        "a weight under scheduling by turns",
        "Set scheduling.kind to deficit, or leave the weight out.",
        limits.weights,
    ),
    Rule(
        "tokens-above-bucket",
        "requests with more tokens than a bucket they draw on can hold",
        "Raise tokens_burst to the largest request, or make requests smaller.",
        work.tokens_above_bucket,
    ),
    Rule(
        "zero-rate",
        "a rate of 0, which admits nothing",
        "Raise it, unless nothing is to pass.",
        work.zero_rates,
    ),
    Rule(
        "tokens-above-budget",
        "requests with more tokens than an invocation may use",
        "Raise max_tokens, or make requests smaller.",
        work.tokens_above_budget,
    ),
    Rule(
        "size-above-limit",
        "requests that state more than a limit on one request: bytes, items, batch, retained work, attempts, cost",
        "Raise the limit, or make requests smaller.",
        work.sizes_above_limits,
    ),
    Rule(
        "unknown-size-refused",
        "requests that leave unknown what a limit holds them to: retained work, cost, tokens",
        "State it, allow unknown cost, or take the limit out.",
        work.unknown_sizes,
    ),
    Rule(
        "attempts-above-budget",
        "clients that may try more often than a budget of attempts admits",
        "Lower max_attempts of the client, or raise that of the limits.",
        work.attempts_above_budget,
    ),
    Rule(
        "timeout-below-service",
        "a time-out shorter than the shortest call",
        "Raise timeout_ms above the shortest service time.",
        work.timeouts_below_service,
    ),
    Rule(
        "reservations-leave-none",
        "principals whom the reservations of others leave no permit of the workspace",
        "Raise the workspace's concurrency above the sum of the reservations, or reserve less.",
        work.reservations_that_leave_none,
    ),
    Rule(
        "reservation-of-nobody",
        "permits kept back for a principal without traffic",
        "Give it a stream, or take the reservation out.",
        work.reservations_of_nobody,
    ),
    Rule(
        "layers-multiply",
        "several layers of a client that each try again",
        "Let one layer retry, or give the outer ones a budget.",
        clients.layers_that_multiply,
    ),
    Rule(
        "refusals-retried",
        "refusals that are tried again without a budget of retries",
        "Give up on a refusal, or give the retries a budget.",
        clients.refusals_retried,
    ),
    Rule(
        "retry-beyond-timeout",
        "retries that would come when the request has been given up",
        "Raise timeout_ms, or shorten base_ms.",
        clients.waits_beyond_patience,
    ),
    Rule(
        "cancellation-beyond-timeout",
        "cancellations that would come when the request has been given up",
        "Raise timeout_ms, or shorten after_ms.",
        clients.cancellations_too_late,
    ),
    Rule(
        "principal-without-stream",
        "a principal with limits and without traffic",
        "Give it a stream, or take it out.",
        traffic.principals_without_stream,
    ),
    Rule(
        "provider-without-stream",
        "a provider with limits whom no stream calls",
        "Send it traffic, or take it out.",
        traffic.providers_without_stream,
    ),
    Rule(
        "stream-without-arrivals",
        "a stream whose rate is 0 in every measured phase, so that its class may have no traffic",
        "Give it a rate in a phase after the warm-up.",
        traffic.streams_without_arrivals,
    ),
    Rule(
        "phase-within-warmup",
        "a phase that ends before anything is measured",
        "Shorten the warm-up, or lengthen the phase.",
        traffic.phases_within_warmup,
    ),
    Rule(
        "burst-outside-run",
        "bursts that begin when the run is over",
        "Bring first_seconds into the phases.",
        traffic.bursts_outside,
    ),
    Rule(
        "profile-assumed",
        "limits that provenance marks as assumed, such as those of `trace to-manifest` without a profile",
        "Put in the limits you run, and mark them as measured.",
        traffic.assumed_profiles,
    ),
    Rule(
        "gate-implied",
        "a gate that no run can miss",
        "Tighten its bound below what the configuration keeps anyway; as it stands it is not counted.",
        gates.implied,
    ),
    Rule(
        "gate-impossible",
        "a gate that no run can hold",
        "Move its bound to the other side of what the configuration keeps.",
        gates.impossible,
    ),
    Rule(
        "no-deciding-gate",
        "a manifest whose every gate is implied or only warns",
        "Add a gate that could fail, such as a least admission.ratio of a class you care for.",
        gates.nothing_decides,
    ),
    Rule(
        "gate-without-traffic",
        "a gate on labels under which nothing arrives",
        "Select what has traffic, or add the traffic.",
        gates.without_traffic,
    ),
    Rule(
        "gate-needs-replications",
        "a gate on the mean or on a share of runs in a manifest of one run",
        "Set replications.n, or ask of the path.",
        gates.one_replication,
    ),
)
"""Every rule, in the order in which findings are listed."""


def lint(manifest: Manifest) -> list[Finding]:
    """Return what the rules find in a manifest, rule by rule.

    Args:
        manifest: From :func:`sim.manifest.load`.

    Raises:
        ConfigError: If the manifest lacks what a run needs; it is not linted on stand-ins.
    """
    manifest.refuse_lacking()
    subject = Subject(manifest)
    return [
        Finding(rule.code, found.path, found.values, found.says, rule.advice, rule.basis)
        for rule in RULES
        for found in rule.look(subject)
    ]
