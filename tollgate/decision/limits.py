"""The limits of one scope: what a principal, a workspace or a provider may use.

This module owns which limits exist, the range of each and how a plain mapping (a manifest's or a configuration file's
block) is read into them. It must not know controllers, queues or time; a limit set is a value that never changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any, Final, Literal

from tollgate.core.breaker import BreakerConfig, FailureRateWindow
from tollgate.core.errors import ConfigError
from tollgate.core.units import MAX_SAFE_INTEGER, NS_PER_MS, Rate, decimal_text, ms_text
from tollgate.decision.reading import block, exact, flag, scaled, whole

Scope = Literal["principal", "workspace", "provider"]
SCOPES: Final[tuple[Scope, ...]] = ("principal", "workspace", "provider")
"""The scopes, in the order in which every check walks them."""

MICROS_PER_USD: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """Every limit of one scope. ``None`` means that the scope sets no such limit.

    Zero is a limit only where it says something: a rate of zero admits nothing, a queue length of zero lets nothing
    wait. Any other ceiling of zero or below could only be a mistake and is refused.

    Attributes:
        concurrency: Calls in flight, at least 1.
        requests_per_minute: Refill of the request bucket, requests a minute, exact.
        requests_burst: Its capacity in requests; by default one minute's worth, rounded down, at least 1.
        tokens_per_second: Refill of the token bucket, tokens a second, exact.
        tokens_burst: Its capacity in tokens; by default one second's worth, rounded down, at least 1.
        max_attempts: Attempts of one invocation.
        max_cost_micros: Money of one invocation, micro-units.
        max_tokens: Tokens of one invocation, all attempts together.
        allow_unknown_cost: Whether a request without a cost passes a cost limit.
        max_batch_size: Batch size of one request.
        max_request_bytes: Size of one request, bytes.
        max_items: Items of one request.
        max_retained_work: Retained work of one request, units.
        max_queue_length: Requests that may wait.
        max_queue_wait_ns: Longest wait of a request, ns; at exactly that wait it is refused.
        max_principal_share: Share of this pool's concurrency and queue that one principal may hold (workspace,
            provider).
        reserved_concurrency: Permits kept back for this principal (principal).
        weight: Share in the weighted discipline, at least 1 (principal).
        circuit_breaker: When calls stop going out (provider).
        request_rate: Refill and capacity of the request bucket; None where there is none. Follows from the above.
        token_rate: Refill and capacity of the token bucket; likewise.
    """

    concurrency: int | None = None
    requests_per_minute: Fraction | None = None
    requests_burst: int | None = None
    tokens_per_second: Fraction | None = None
    tokens_burst: int | None = None
    max_attempts: int | None = None
    max_cost_micros: int | None = None
    max_tokens: int | None = None
    allow_unknown_cost: bool = False
    max_batch_size: int | None = None
    max_request_bytes: int | None = None
    max_items: int | None = None
    max_retained_work: int | None = None
    max_queue_length: int | None = None
    max_queue_wait_ns: int | None = None
    max_principal_share: Fraction | None = None
    reserved_concurrency: int = 0
    weight: int = 1
    circuit_breaker: BreakerConfig | None = None
    request_rate: tuple[Rate, int] | None = field(init=False, repr=False, compare=False)
    token_rate: tuple[Rate, int] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse values outside their range.

        Raises:
            ConfigError: Naming the field, the value and what is allowed.
        """
        for entry in FIELDS:
            value = getattr(self, entry.name)
            if value is not None and not entry.accepts(value):
                raise ConfigError(entry.name, value, entry.allowed)
        if self.concurrency is not None and self.reserved_concurrency > self.concurrency:
            raise ConfigError(
                "reserved_concurrency",
                self.reserved_concurrency,
                f"at most this scope's concurrency, {self.concurrency}",
            )
        for burst, rate in (("requests_burst", "requests_per_minute"), ("tokens_burst", "tokens_per_second")):
            if getattr(self, burst) is not None and getattr(self, rate) is None:
                raise ConfigError(burst, getattr(self, burst), f"absent unless {rate} is set")
        requests, tokens = self.requests_per_minute, self.tokens_per_second
        request_rate = (
            None if requests is None else (Rate.per_minute(requests), self.requests_burst or _whole(requests))
        )
        token_rate = None if tokens is None else (Rate.per_second(tokens), self.tokens_burst or _whole(tokens))
        object.__setattr__(self, "request_rate", request_rate)
        object.__setattr__(self, "token_rate", token_rate)

    def share_of(self, total: int | None) -> int | None:
        """Return what one principal may hold of ``total`` under ``max_principal_share``.

        Args:
            total: Permits or waiting places of this pool, or None for no limit.

        Returns:
            ``max(1, floor(share * total))``, or None when nothing is capped.
        """
        if self.max_principal_share is None or total is None:
            return None
        return max(1, floor(self.max_principal_share * total))

    @classmethod
    def from_mapping(cls, mapping: object, *, scope: Scope, path: str) -> AdmissionLimits:
        """Read one scope's block of a profile.

        Args:
            mapping: Keys and values as a manifest spells them (times in ms, money in USD).
            scope: Which scope the block is for; some limits exist for one kind only.
            path: Key path of the block, for messages.

        Raises:
            ConfigError: For an unknown key, a key of another scope, or a value outside its range.
        """
        known = {entry.key: entry for entry in FIELDS if scope in entry.scopes}
        got = block(mapping, path, f"the limits of a {scope}", optional=tuple(known))
        values: dict[str, Any] = {known[key].name: known[key].read(raw, f"{path}.{key}") for key, raw in got.items()}
        try:
            return cls(**values)
        except ConfigError as error:
            raise error.within(path) from None

    def to_mapping(self) -> dict[str, object]:
        """Return the block that reads back as these limits, the absent ones left out.

        A rate that is no decimal, such as a third, is written as ``1/3``; only such a value does not read back.
        """
        return {
            entry.key: entry.write(value)
            for entry in sorted(FIELDS, key=lambda entry: entry.key)
            if (value := getattr(self, entry.name)) != entry.default
        }


def _whole(rate: Fraction) -> int:
    """Return a bucket's default capacity: what the rate gives in its own unit of time, rounded down, at least 1."""
    return max(1, floor(rate))


def _breaker(raw: object, path: str, allowed: str) -> BreakerConfig:  # noqa: ARG001 - every field is read by this signature
    """Read a ``circuit_breaker`` block."""
    required = ("failure_threshold", "open_ms", "half_open_max_calls")
    got = block(raw, path, "a circuit breaker", required=required, optional=("window",))
    count = "an integer of at least 1"
    window = got.get("window")
    failure_threshold = whole(got["failure_threshold"], f"{path}.failure_threshold", count)
    open_ns = scaled(got["open_ms"], f"{path}.open_ms", "a positive number of ms", NS_PER_MS)
    half_open_max_calls = whole(got["half_open_max_calls"], f"{path}.half_open_max_calls", count)
    failure_rate = None if window is None else _window(window, f"{path}.window")
    try:
        return BreakerConfig(failure_threshold, open_ns, half_open_max_calls, failure_rate)
    except ConfigError as error:
        key = "open_ms" if error.path == "open_ns" else error.path
        raise ConfigError(f"{path}.{key}", got[key], error.allowed) from None


def _window(raw: object, path: str) -> FailureRateWindow:
    """Read the ``window`` block of a circuit breaker."""
    got = block(raw, path, "a failure-rate window", required=("calls", "minimum_calls", "failure_rate"))
    count = "an integer of at least 1"
    calls = whole(got["calls"], f"{path}.calls", count)
    minimum_calls = whole(got["minimum_calls"], f"{path}.minimum_calls", count)
    failure_rate = exact(got["failure_rate"], f"{path}.failure_rate", "a decimal above 0, at most 1")
    try:
        return FailureRateWindow(calls, minimum_calls, failure_rate)
    except ConfigError as error:
        raise error.within(path) from None


def _write_breaker(value: object) -> object:
    if not isinstance(value, BreakerConfig):
        return value
    written: dict[str, object] = {
        "failure_threshold": value.failure_threshold,
        "half_open_max_calls": value.half_open_max_calls,
        "open_ms": ms_text(value.open_ns),
    }
    if value.window is not None:
        written["window"] = {
            "calls": value.window.calls,
            "failure_rate": exact_text(value.window.failure_rate),
            "minimum_calls": value.window.minimum_calls,
        }
    return written


def exact_text(value: Fraction | int) -> int | str:
    """Return an exact number as canonical JSON carries it: whole as an integer, a decimal as text, else ``n/d``."""
    value = Fraction(value)
    if value.denominator == 1:
        return value.numerator
    text = decimal_text(value, places=12).rstrip("0")
    return text if Fraction(text) == value else f"{value.numerator}/{value.denominator}"


@dataclass(frozen=True, slots=True)
class LimitField:
    """One limit: its attribute, its key in a profile block, where it exists, its range, how it is read and written."""

    name: str
    key: str
    scopes: tuple[Scope, ...]
    allowed: str
    accepts: Callable[[object], bool] = field(repr=False)
    read_as: Callable[[object, str, str], object] = field(repr=False)
    write: Callable[[object], object] = field(repr=False)
    default: object = None

    def read(self, raw: object, path: str) -> object:
        """Read one value, naming ``path`` when it is refused."""
        value = self.read_as(raw, path, self.allowed)
        if not self.accepts(value):
            raise ConfigError(path, raw, self.allowed)
        return value


def _between(low: int, high: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _count(name: str, *scopes: Scope, low: int = 1, default: object = None) -> LimitField:
    allowed = f"an integer from {low} to 2^53-1"
    return LimitField(name, name, scopes or SCOPES, allowed, _between(low, MAX_SAFE_INTEGER), whole, _same, default)


def _same(value: object) -> object:
    return value


def _rate(name: str) -> LimitField:
    return LimitField(
        name,
        name,
        SCOPES,
        "a decimal from 0 (admits nothing) to 2^53-1",
        lambda value: isinstance(value, (int, Fraction)) and 0 <= value <= MAX_SAFE_INTEGER,
        exact,
        lambda value: exact_text(value) if isinstance(value, (int, Fraction)) else value,
    )


FIELDS: Final[tuple[LimitField, ...]] = (
    _count("concurrency"),
    _rate("requests_per_minute"),
    _count("requests_burst"),
    _rate("tokens_per_second"),
    _count("tokens_burst"),
    _count("max_attempts"),
    LimitField(
        "max_cost_micros",
        "max_cost_usd",
        SCOPES,
        "a positive decimal number of USD, at most six places",
        _between(1, MAX_SAFE_INTEGER),
        lambda raw, path, allowed: scaled(raw, path, allowed, MICROS_PER_USD),
        lambda value: exact_text(Fraction(value, MICROS_PER_USD)) if isinstance(value, int) else value,
    ),
    _count("max_tokens"),
    LimitField(
        "allow_unknown_cost",
        "allow_unknown_cost",
        SCOPES,
        "true or false",
        lambda v: isinstance(v, bool),
        flag,
        _same,
        default=False,
    ),
    _count("max_batch_size"),
    _count("max_request_bytes"),
    _count("max_items"),
    _count("max_retained_work"),
    _count("max_queue_length", low=0),
    LimitField(
        "max_queue_wait_ns",
        "max_queue_wait_ms",
        SCOPES,
        "a positive number of ms",
        _between(1, MAX_SAFE_INTEGER),
        lambda raw, path, allowed: scaled(raw, path, allowed, NS_PER_MS),
        lambda value: exact_text(Fraction(value, NS_PER_MS)) if isinstance(value, int) else value,
    ),
    LimitField(
        "max_principal_share",
        "max_principal_share",
        ("workspace", "provider"),
        "a decimal above 0, at most 1",
        lambda value: isinstance(value, (int, Fraction)) and 0 < value <= 1,
        exact,
        lambda value: exact_text(value) if isinstance(value, (int, Fraction)) else value,
    ),
    _count("reserved_concurrency", "principal", low=0, default=0),
    _count("weight", "principal", default=1),
    LimitField(
        "circuit_breaker",
        "circuit_breaker",
        ("provider",),
        "a mapping of failure_threshold, open_ms and half_open_max_calls",
        lambda value: isinstance(value, BreakerConfig),
        _breaker,
        _write_breaker,
    ),
)
"""Every limit once: reading, range, writing and documentation come from this table."""
