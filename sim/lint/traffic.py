"""Rules about traffic that does not come, is not measured, or is not known.

Owns these rules. It must not know limits, but for the names that have some.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sim.lint.finding import Found
from sim.lint.subject import Subject
from sim.manifest.model import Manifest, Stream, TraceReplay
from sim.manifest.processes import BurstyPoisson
from sim.report.text import with_seconds


def principals_without_stream(subject: Subject) -> Iterator[Found]:
    """Find principals with limits and without traffic."""
    for name, limits in subject.manifest.profile.principals.items():
        if name not in subject.busy and not limits.reserved_concurrency:
            yield Found(subject.principal_path(name), f"no stream is {name}'s, so nothing is learnt about its limits")


def providers_without_stream(subject: Subject) -> Iterator[Found]:
    """Find providers with limits whom no stream calls."""
    called = {name for flow in subject.flows for name in flow.providers}
    for name in subject.manifest.profile.providers:
        if name not in called:
            prefix = "" if subject.is_seed else "profile."
            yield Found(f"{prefix}providers.{name}", f"no stream calls {name}, so nothing is learnt about its limits")


def streams_without_arrivals(subject: Subject) -> Iterator[Found]:
    """Find streams that every measured phase multiplies by zero."""
    for stream in subject.manifest.streams:
        if not arrives(subject.manifest, stream, None):
            yield Found(
                f"streams[{stream.index}]",
                f"its rate is multiplied by 0 in every measured phase, so class {stream.cls} has no traffic from it",
                (("stream", stream.name), ("class", stream.cls)),
            )


def phases_within_warmup(subject: Subject) -> Iterator[Found]:
    """Find phases that are over before anything is measured."""
    manifest = subject.manifest
    for at, phase in enumerate(manifest.phases):
        if phase.end_ns <= manifest.warmup_ns:
            yield Found(
                f"phases[{at}]",
                f"{phase.name} ends at {with_seconds(phase.end_ns)}, within the warm-up of "
                f"{with_seconds(manifest.warmup_ns)}: nothing of it is measured",
                (("end_s", with_seconds(phase.end_ns)), ("warmup_s", with_seconds(manifest.warmup_ns))),
            )


def bursts_outside(subject: Subject) -> Iterator[Found]:
    """Find bursts that begin after the last arrival."""
    for stream in subject.manifest.streams:
        arrivals = stream.arrivals
        if isinstance(arrivals, BurstyPoisson) and arrivals.first_ns >= subject.manifest.declared_horizon_ns:
            yield Found(
                f"streams[{stream.index}].arrivals.first_seconds",
                f"the first burst would begin at {with_seconds(arrivals.first_ns)}, when the run is over",
                (("first_s", with_seconds(arrivals.first_ns)),),
            )


def assumed_profiles(subject: Subject) -> Iterator[Found]:
    """Find limits that somebody, or a tool, made up."""
    for at, entry in enumerate(subject.manifest.provenance):
        if entry.kind == "assumed" and (entry.path == "profile" or entry.path.startswith("profile.")):
            yield Found(
                f"provenance[{at}]",
                f"the limits under {entry.path} are assumed ({entry.source}), so a verdict says nothing of yours",
                (("path", entry.path), ("kind", entry.kind)),
            )


def arrives(manifest: Manifest, stream: Stream, phase: str | None) -> bool:
    """Return whether a stream can have arrivals that are measured, in one phase or in any.

    A trace is taken to have some wherever the run is.
    """
    return any(
        each.end_ns > manifest.warmup_ns
        and (isinstance(stream.arrivals, TraceReplay) or each.rate_multiplier.get(stream.name, Fraction(1)) > 0)
        for each in manifest.phases
        if phase in {None, each.name}
    )
