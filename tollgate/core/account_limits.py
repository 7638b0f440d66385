"""The limits of one principal and of its account: how much in one request, how fast, how many at once.

Values only: what counts against them is in :mod:`tollgate.admission`. Rates are whole numbers a second, as documents
carry them. This module knows no time and no state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tollgate.core.cost import COST_UNITS_MAX
from tollgate.core.errors import ConfigError

__all__ = ["SCALAR_MAX", "AccountPolicy", "RateLimit", "RequestLimits"]

SCALAR_MAX: Final = 2**32 - 1
"""Most of a rate, a burst or a concurrency (spec 02, limits)."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A rate with its burst.

    Args:
        per_second: Earned a second, 1 to 2^32 - 1.
        burst: The most that is held, 1 to 2^32 - 1.
    """

    per_second: int
    burst: int

    def __post_init__(self) -> None:
        _scalar(self.per_second, "per_second")
        _scalar(self.burst, "burst")


@dataclass(frozen=True, slots=True)
class AccountPolicy:
    """What holds for an account as a whole, whichever of its principals asks.

    Attributes:
        weighted_rate: In cost units; None = no limit.
        request_rate: In requests; None = no limit.
        concurrency: Requests at once; None = no limit.
    """

    weighted_rate: RateLimit | None = None
    request_rate: RateLimit | None = None
    concurrency: int | None = None

    def __post_init__(self) -> None:
        if self.concurrency is not None:
            _scalar(self.concurrency, "concurrency")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The limits that a snapshot carries.

    Scalars rather than pairs, as a document carries them: a weighted rate that is switched off keeps its two, so that a
    rollback finds them.

    Args:
        max_items_per_request: Items of all classes together, 1 to 2^64 - 1.
        rate_units_per_second: Cost units a second, 1 to 2^32 - 1; both this and the burst, or neither.
        rate_burst_units: Cost units at once.
        is_weighted_rate_enabled: Whether the weighted rate holds.
        requests_per_second: Requests a second, 1 to 2^32 - 1; both this and the burst, or neither.
        request_burst: Requests at once.
        account_concurrency: Requests of the account in flight, 1 to 2^32 - 1.
        principal_concurrency: Requests of the principal in flight; only with an account's, and not above it.

    Raises:
        ConfigError: Naming the field.
    """

    max_items_per_request: int
    rate_units_per_second: int | None = None
    rate_burst_units: int | None = None
    is_weighted_rate_enabled: bool = True
    requests_per_second: int | None = None
    request_burst: int | None = None
    account_concurrency: int | None = None
    principal_concurrency: int | None = None

    def __post_init__(self) -> None:
        items = self.max_items_per_request
        if type(items) is not int or not 1 <= items <= COST_UNITS_MAX:
            raise ConfigError("max_items_per_request", items, f"an integer from 1 to {COST_UNITS_MAX}")
        if type(self.is_weighted_rate_enabled) is not bool:
            raise ConfigError("is_weighted_rate_enabled", self.is_weighted_rate_enabled, "true or false")
        for name in ("rate_units_per_second", "rate_burst_units", "requests_per_second", "request_burst"):
            _optional(getattr(self, name), name)
        _optional(self.account_concurrency, "account_concurrency")
        _optional(self.principal_concurrency, "principal_concurrency")
        _both("rate_units_per_second", self.rate_units_per_second, "rate_burst_units", self.rate_burst_units)
        _both("requests_per_second", self.requests_per_second, "request_burst", self.request_burst)
        if self.principal_concurrency is not None:
            if self.account_concurrency is None:
                raise ConfigError(
                    "principal_concurrency", self.principal_concurrency, "none where the account has no concurrency"
                )
            if self.principal_concurrency > self.account_concurrency:
                raise ConfigError(
                    "principal_concurrency",
                    self.principal_concurrency,
                    f"at most the account's, which is {self.account_concurrency}",
                )

    @property
    def account_policy(self) -> AccountPolicy:
        """What of it holds for the account as a whole."""
        weighted = _pair(self.rate_units_per_second, self.rate_burst_units)
        return AccountPolicy(
            weighted_rate=weighted if self.is_weighted_rate_enabled else None,
            request_rate=_pair(self.requests_per_second, self.request_burst),
            concurrency=self.account_concurrency,
        )


def _pair(per_second: int | None, burst: int | None) -> RateLimit | None:
    return None if per_second is None or burst is None else RateLimit(per_second, burst)


def _both(rate_name: str, rate: int | None, burst_name: str, burst: int | None) -> None:
    if (rate is None) != (burst is None):
        missing, present = (rate_name, burst_name) if rate is None else (burst_name, rate_name)
        raise ConfigError(missing, None, f"a value, as {present} has one; or neither")


def _optional(value: int | None, path: str) -> None:
    if value is not None:
        _scalar(value, path)


def _scalar(value: int, path: str) -> None:
    if type(value) is not int or not 1 <= value <= SCALAR_MAX:
        raise ConfigError(path, value, f"an integer from 1 to {SCALAR_MAX}")
