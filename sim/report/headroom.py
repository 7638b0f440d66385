"""How near the offered load comes to each limit, and which limit it would meet first.

Owns the comparison of a record's observations with the figures of a profile. Pure: works from the two, the lengths of
the phases and the busiest stretches. Must not know how a limit is enforced.

A limit on a flow (calls in service, requests a minute, tokens a second) is compared with what was offered to it: the
figure is what the limit would have had to carry to refuse nobody. A bucket carries its rate plus, over a stretch of
time, its burst: a short spike far above the rate can fit. A queue is a buffer: it fills because some flow is too large,
so it is listed but never the limit that binds first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

from sim.report.peaks import Peaks
from sim.report.result import Result
from sim.report.scopes import Scope, scopes
from sim.report.text import rounded, with_seconds
from tollgate.core.units import NS_PER_MIN, NS_PER_S

_PER_NS: Final = {"a minute": NS_PER_MIN, "tokens/s": NS_PER_S}
"""Time that the unit of a rate counts over."""


@dataclass(frozen=True, slots=True)
class Headroom:
    """One limit beside the load offered to it.

    Attributes:
        scope: Whose limit it is: ``workspace``, ``provider jev``, ``principal noisy``.
        limit: Name of the limit.
        path: Where the profile holds it, for ``--set``.
        bound: What it allows, in ``unit``.
        unit: ``calls``, ``a minute``, ``tokens/s`` or ``waiting``.
        offered: Load offered to it over the measured time, in ``unit``; for a queue the longest length seen.
        peak: The same over the busiest stretch, where the run keeps series of it; else over the busiest phase, where
            the record tells phases apart: the load scaled by that phase's attempts a second over the run's.
        peak_bound: What it carries over that time, a bucket's burst included.
        peak_over: What that time is: ``its busiest 10 s``, ``phase spike``.
        is_buffer: Whether it holds load back rather than carrying it.
    """

    scope: str
    limit: str
    path: str
    bound: Fraction
    unit: str
    offered: Fraction
    peak: Fraction | None = None
    peak_bound: Fraction | None = None
    peak_over: str | None = None
    is_buffer: bool = False

    @property
    def use(self) -> Fraction:
        """The load as a share of what the limit carries, where that is highest; above 1 requests are held back."""
        overall = self.offered / self.bound
        if self.peak is None or self.peak_bound is None:
            return overall
        return max(overall, self.peak / self.peak_bound)

    @property
    def needed(self) -> int:
        """The smallest whole limit that would carry the load, a bucket's burst staying what it is."""
        if self.peak is None or self.peak_bound is None:
            return ceil(self.offered)
        return ceil(max(self.offered, self.peak - (self.peak_bound - self.bound)))


def headroom(
    result: Result,
    profile: Mapping[str, object],
    phases_ns: Mapping[str, int],
    tokens: Mapping[str, int] | None = None,
    peaks: Peaks | None = None,
) -> list[Headroom]:
    """Return every limit that the observations say something of, the fullest first, buffers after the rest.

    Args:
        result: The record.
        profile: A ``profile:`` block: workspace, providers and principals with their limits.
        phases_ns: Measured length of each phase, nanoseconds, by name; at least one, or nothing but queues is compared.
        tokens: Tokens that attempts asked for, admitted or not, over the measured time by scope name (``workspace``,
            ``provider jev``, ...), where known.
        peaks: The busiest stretches, where the run keeps series.

    Returns:
        At most one row a limit for the workspace, each provider, and the principal that is nearest to that limit.
    """
    meter = _Meter(result, phases_ns, sum(phases_ns.values()), tokens or {}, peaks)
    workspace, providers, principals = scopes(profile)
    rows = [*meter.rows(workspace)]
    for provider in providers:
        rows.extend(meter.rows(provider))
    nearest: dict[str, Headroom] = {}
    reserved = sum((each.bound("reserved_concurrency") or Fraction(0) for each in principals), Fraction(0))
    for principal in principals:
        others = reserved - (principal.bound("reserved_concurrency") or 0)
        own = (*meter.shares(principal, workspace), *meter.unreserved(principal, workspace, others))
        for row in (*meter.rows(principal), *own):
            if row.limit not in nearest or row.use > nearest[row.limit].use:
                nearest[row.limit] = row
    rows.extend(nearest.values())
    return sorted(rows, key=lambda row: (row.is_buffer, -row.use))


def binding(rows: Sequence[Headroom]) -> Headroom | None:
    """Return the limit that growing load meets first: the fullest that is no buffer."""
    return max((row for row in rows if not row.is_buffer), key=lambda row: row.use, default=None)


@dataclass(frozen=True, slots=True)
class _Meter:
    """Offered loads read from one record."""

    result: Result
    phases_ns: Mapping[str, int]
    window_ns: int
    tokens: Mapping[str, int]
    peaks: Peaks | None

    def rows(self, scope: Scope) -> Iterator[Headroom]:
        """Yield a row for each limit of a scope whose load is known."""
        for limit, unit, load, burst in (
            ("concurrency", "calls", self._calls(scope), None),
            ("requests_per_minute", "a minute", self._requests_per_minute(scope), "requests_burst"),
            ("tokens_per_second", "tokens/s", self._tokens_per_second(scope), "tokens_burst"),
        ):
            bound = scope.bound(limit)
            if bound is None or load is None:
                continue
            extra = None if burst is None else scope.burst(limit, burst)
            yield self._flow(scope, limit, f"{scope.path}.{limit}", bound, unit, load, extra)
        longest, bound = self.result.exact("queue.length.max", **scope.label), scope.bound("max_queue_length")
        if bound is not None and longest is not None:
            path = f"{scope.path}.max_queue_length"
            yield Headroom(scope.name, "max_queue_length", path, bound, "waiting", longest, is_buffer=True)

    def shares(self, principal: Scope, workspace: Scope) -> Iterator[Headroom]:
        """Yield the row for a principal's share of the workspace's calls: rounded down, at least one."""
        share, whole = workspace.bound("max_principal_share"), workspace.bound("concurrency")
        calls = self._calls(principal)
        if share is not None and whole is not None and calls is not None:
            cap, path = Fraction(max(1, share * whole // 1)), f"{workspace.path}.max_principal_share"
            yield self._flow(principal, "max_principal_share", path, cap, "calls", calls)

    def unreserved(self, principal: Scope, workspace: Scope, others: Fraction) -> Iterator[Headroom]:
        """Yield the row for what others' reservations leave a principal: used or not, those permits are theirs."""
        whole, calls = workspace.bound("concurrency"), self._calls(principal)
        if whole is not None and calls is not None and 0 < others < whole:
            path = f"{workspace.path}.concurrency"
            yield self._flow(principal, "concurrency less others' reservations", path, whole - others, "calls", calls)

    def _flow(
        self,
        scope: Scope,
        limit: str,
        path: str,
        bound: Fraction,
        unit: str,
        load: Fraction,
        burst: Fraction | None = None,
    ) -> Headroom:
        stretch = self._stretch(scope, unit)
        if stretch is not None and self.peaks is not None:
            peak, length_ns, over = stretch, self.peaks.length_ns, f"its busiest {with_seconds(self.peaks.length_ns)}"
        else:
            phase, factor = self._busiest(scope)
            if phase is None:
                return Headroom(scope.name, limit, path, bound, unit, load)
            peak, length_ns, over = load * factor, self.phases_ns[phase], f"phase {phase}"
        spread_ns = _PER_NS.get(unit, 0)  # the time over which the unit counts
        carried = bound if burst is None else bound + burst * spread_ns / length_ns
        return Headroom(scope.name, limit, path, bound, unit, load, peak, carried, over)

    def _stretch(self, scope: Scope, unit: str) -> Fraction | None:
        """Return the load over the scope's busiest stretch, in ``unit``; None without series of it."""
        if self.peaks is None:
            return None
        if unit == "calls":
            return self.peaks.calls(scope.label)
        most = self.peaks.most("tokens" if unit == "tokens/s" else "attempts", scope.label)
        return None if most is None else most * _PER_NS[unit]

    def _calls(self, scope: Scope) -> Fraction | None:
        """Return the calls that would be in service if all were admitted.

        By Little's law calls in service are proportional to admissions a second, so the mean seen is divided by the
        share of arrivals that was admitted.
        """
        return self._if_all_admitted(scope, self.result.exact("active.mean", **scope.label))

    def _requests_per_minute(self, scope: Scope) -> Fraction | None:
        attempts = self.result.exact("attempts", **scope.label)
        return attempts * NS_PER_MIN / self.window_ns if attempts is not None and self.window_ns else None

    def _tokens_per_second(self, scope: Scope) -> Fraction | None:
        asked = self.tokens.get(scope.name)
        if asked is None or not self.window_ns:
            return None
        return Fraction(asked * NS_PER_S, self.window_ns)

    def _if_all_admitted(self, scope: Scope, carried: Fraction | None) -> Fraction | None:
        admitted = self.result.exact("admission.ratio", **scope.label)
        return carried / admitted if carried is not None and admitted else carried

    def _busiest(self, scope: Scope) -> tuple[str | None, Fraction]:
        """Return the phase with most attempts a second, and its rate over the mean rate.

        Where the record does not split a scope by phase, the whole run's rhythm stands in for it.
        """
        for label in (scope.label, {}):
            rates = {
                phase: attempts / length_ns
                for phase, length_ns in self.phases_ns.items()
                if length_ns and (attempts := self.result.exact("attempts", **label, phase=phase)) is not None
            }
            whole = self.result.exact("attempts", **label)
            if len(rates) > 1 and whole:
                phase = max(rates, key=lambda name: rates[name])
                return phase, rates[phase] * self.window_ns / whole
        return None, Fraction(1)


def with_unit(figure: Fraction, row: Headroom) -> str:
    """Return a figure of a row as text with the row's unit."""
    return f"{rounded(figure)} {row.unit}"


def first_sentence(first: Headroom, *, was_refused: bool, interrupted: str | None = None) -> str:
    """Return which limit binds first, or that none was exceeded though requests were refused for want of room.

    Args:
        first: The fullest limit.
        was_refused: Whether requests were refused for want of room.
        interrupted: What kept calls from providers beside limits, as a sentence; None if nothing did.
    """
    if first.peak is None or first.use == first.offered / first.bound:
        load, over, burst = first.offered, "on average", ""
    else:
        load, over = first.peak, f"over {first.peak_over}"
        burst = "" if first.peak_bound == first.bound else f" ({rounded(first.peak_bound or 0)} with its burst)"
    what = f"{first.limit} of {first.scope}, offered {with_unit(load, first)} {over}"
    limit = f"limit {with_unit(first.bound, first)}{burst}"
    if first.use > 1 or not was_refused:
        return " ".join(filter(None, (f"Binds first: {what}, {limit}.", interrupted)))
    span = f" over {first.peak_over.removeprefix('its busiest ')}" if first.peak_over else ""
    none, nearest = f"No limit compared here was exceeded on average{span}", f"Nearest: {what}, {limit}."
    if interrupted is not None:
        return f"{none}. {interrupted} {nearest}"
    return f"{none}: refusals came from shorter bursts, or from a limit that is not compared. {nearest}"
