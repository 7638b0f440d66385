"""Rules about requests that can never pass, and permits that nobody can have.

Owns these rules. What the controller refuses whatever the load is told by ``tollgate.decision.preflight`` in the same
order; here it is asked of whole streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sim.lint.finding import Found
from sim.lint.subject import BUCKETS, Flow, Scope, Subject, extent, text
from sim.manifest.distributions import Distribution
from tollgate.core.units import ms_text


def tokens_above_bucket(subject: Subject) -> Iterator[Found]:
    """Find sizes above what a token bucket can ever hold."""
    for flow, scopes in _held(subject):
        smallest, largest = flow.tokens
        for scope in scopes:
            if scope.limits.token_rate is None or largest is None or largest <= scope.limits.token_rate[1]:
                continue
            burst = scope.limits.token_rate[1]
            which = "every request" if smallest is not None and smallest > burst else f"a request of {largest} tokens"
            yield Found(
                flow.tokens_path,
                f"{which} is refused whatever the load: the bucket of {scope.path} never holds more than {burst}",
                (("tokens", str(largest)), ("burst", str(burst)), ("bucket", scope.path)),
            )


def zero_rates(subject: Subject) -> Iterator[Found]:
    """Find rates of zero, which admit nothing."""
    for scope in subject.scopes:
        for limit, bucket in BUCKETS:
            found = getattr(scope.limits, bucket)
            if found is not None and found[0].units == 0:
                yield Found(
                    f"{scope.path}.{subject.key(limit)}",
                    "a rate of 0 admits nothing: every request that it counts is refused",
                    (("limit", text(scope.limits, limit)),),
                )


_SIZES: Final = (
    ("request_bytes", "max_request_bytes"),
    ("items", "max_items"),
    ("batch_size", "max_batch_size"),
    ("retained_work", "max_retained_work"),
    ("attempts", "max_attempts"),
    ("cost_micros", "max_cost_micros"),
)
"""What a request states, and the limit that it is held to when it asks."""

_MUST_BE_KNOWN: Final = {"retained_work", "cost_micros"}


def sizes_above_limits(subject: Subject) -> Iterator[Found]:
    """Find stated figures above a limit on one request."""
    for flow, scopes in _held(subject):
        for name, limit in _SIZES:
            stated = flow.stated.get(name)
            for scope in scopes:
                most = getattr(scope.limits, limit)
                if stated is None or most is None or stated[1] is None or stated[1] <= most:
                    continue
                which = "every request" if (stated[0] or 0) > most else f"a request with {name} {stated[1]}"
                yield Found(
                    f"{flow.path}.work.{name}",
                    f"{which} is refused whatever the load: {scope.path} allows {most}",
                    ((name, str(stated[1])), ("limit", str(most)), ("scope", scope.path)),
                )


def unknown_sizes(subject: Subject) -> Iterator[Found]:
    """Find figures that are unknown where a limit asks for them."""
    for flow, scopes in _held(subject):
        unknown = {name for name in _MUST_BE_KNOWN if flow.stated.get(name, ()) is None}
        for scope in scopes:
            asked = [(name, limit) for name, limit in _SIZES if name in unknown]
            if not flow.knows_tokens:
                asked.append(("output_estimate", "max_tokens"))
            for name, limit in asked:
                is_let_pass = name == "cost_micros" and scope.limits.allow_unknown_cost
                if getattr(scope.limits, limit) is not None and not is_let_pass:
                    yield Found(
                        f"{flow.path}.work.{name}",
                        f"every request is refused whatever the load: {scope.path} has a {subject.key(limit)}, and a "
                        "request must state what it is held to",
                        ((name, "unknown"), ("scope", scope.path)),
                    )


def tokens_above_budget(subject: Subject) -> Iterator[Found]:
    """Find tokens of one request above what an invocation may use in all its attempts."""
    for flow, scopes in _held(subject):
        smallest, largest = flow.tokens
        for scope in scopes:
            limit = scope.limits.max_tokens
            if limit is None or largest is None or largest <= limit:
                continue
            which = "every request" if smallest is not None and smallest > limit else f"a request of {largest} tokens"
            yield Found(
                flow.tokens_path,
                f"{which} is refused at its first attempt: {scope.path} allows an invocation {limit}",
                (("tokens", str(largest)), ("limit", str(limit)), ("scope", scope.path)),
            )


def attempts_above_budget(subject: Subject) -> Iterator[Found]:
    """Find clients that may try more often than their budget of attempts admits."""
    for flow, scopes in _held(subject):
        attempts = flow.client.max_attempts
        for scope in scopes:
            limit = scope.limits.max_attempts
            if limit is not None and attempts > limit:
                yield Found(
                    flow.client_path,
                    f"a request makes up to {attempts} attempts and {scope.path} admits {limit} of them",
                    (("attempts", str(attempts)), ("limit", str(limit)), ("scope", scope.path)),
                )


def timeouts_below_service(subject: Subject) -> Iterator[Found]:
    """Find patience that ends before the shortest call does."""
    services = {provider.id: provider.service for provider in subject.manifest.providers}
    for flow in subject.flows:
        timeout_ns = flow.client.timeout_ns
        if timeout_ns is None or _brings_services(flow):
            continue
        for name in flow.providers:
            service = services[name]
            shortest_ns = extent(service)[0] if isinstance(service, Distribution) else service.base_ns
            if shortest_ns is not None and shortest_ns > timeout_ns:
                yield Found(
                    f"{flow.client_path}.timeout_ms",
                    f"no call to {name} can complete: the shortest takes {ms_text(shortest_ns)} ms",
                    (("timeout_ms", ms_text(timeout_ns)), ("shortest_ms", ms_text(shortest_ns)), ("provider", name)),
                )


def reservations_that_leave_none(subject: Subject) -> Iterator[Found]:
    """Find callers without a reservation whom the reservations of others leave no permit."""
    profile = subject.manifest.profile
    total = profile.workspace.concurrency
    reserved = subject.guarantees.reserved
    if total is None or not reserved:
        return
    for scope in subject.scopes:
        if scope.kind == "principal" and not scope.limits.reserved_concurrency and reserved >= total:
            yield Found(
                scope.path,
                f"it can never be admitted: others have reserved {reserved} of the workspace's {total} permits",
                (("reserved", str(reserved)), ("concurrency", str(total))),
            )


def reservations_of_nobody(subject: Subject) -> Iterator[Found]:
    """Find permits kept back for principals who have no traffic."""
    for name, limits in subject.manifest.profile.principals.items():
        if limits.reserved_concurrency and name not in subject.busy:
            yield Found(
                f"{subject.principal_path(name)}.{subject.key('reserved_concurrency')}",
                f"no stream is {name}'s, and yet {limits.reserved_concurrency} permits are kept from everybody else",
                (("reserved", str(limits.reserved_concurrency)),),
            )


def _held(subject: Subject) -> Iterator[tuple[Flow, list[Scope]]]:
    """Yield each flow with every scope whose limits some request of it is held to."""
    held: dict[int, dict[str, Scope]] = {}
    flows: dict[int, Flow] = {}
    for flow, *scopes in subject.lanes():
        flows[id(flow)] = flow
        held.setdefault(id(flow), {}).update({scope.path: scope for scope in scopes})
    for key, flow in flows.items():
        yield flow, list(held[key].values())


def _brings_services(flow: Flow) -> bool:
    options = getattr(flow.stream.arrivals, "options", {}) if flow.stream is not None else {}
    return bool(options.get("duration_column") or options.get("ms_per_token"))
