"""Small random profiles, so that every limit is met within a few steps.

Rates are twelfths of a unit a nanosecond: buckets then refill within a few nanoseconds, most instants fall between two
of them, and a change of rate loses nothing to rounding, so that the model's fractions stay comparable.

Everything is made of choices out of short lists, the simplest first: ``choice`` is Hypothesis's or a generator's.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from tollgate.core.breaker import BreakerConfig, FailureRateWindow
from tollgate.decision import AdmissionLimits, AdmissionProfile, Estimate, Scheduling

PRINCIPALS = ("ann", "bob", "cid")
PROVIDERS = ("u", "v")
WORKSPACE = "w"


GROUPS = ("concurrency", "queues", "waits", "requests", "tokens", "budgets", "shares", "reservations", "breakers")


def make_shape(choice):
    """Which kinds of limit there are, and where: a few at a time get into each other's way more than all at once.

    The profiles of one run have the same shape and differ in their figures.
    """
    present = {group for group in GROUPS if choice((False, True))}
    scopes = [("workspace", ""), *(("principal", name) for name in PRINCIPALS)]
    scopes += [("provider", name) for name in PROVIDERS]
    rarely = (False, False, True)
    return {
        scope: {
            "concurrency": "concurrency" in present,
            "queues": "queues" in present,
            "waits": "waits" in present,
            "requests": "requests" in present and choice(rarely),
            "tokens": "tokens" in present and choice((False, True)),
            "max_attempts": "budgets" in present and choice(rarely),
            "max_cost_micros": "budgets" in present and choice(rarely),
            "max_tokens": "budgets" in present and choice(rarely),
            "shares": "shares" in present and scope[0] != "principal",
            "reservations": "reservations" in present and scope[0] == "principal",
            "breaker": "breakers" in present and scope[0] == "provider" and choice((False, True)),
        }
        for scope in scopes
    }


def make_breaker(choice):
    window = choice((None, None, FailureRateWindow(4, 2, Fraction(1, 2)), FailureRateWindow(2, 1, Fraction(1, 2))))
    return BreakerConfig(choice((1, 2, 3)), choice((1, 7, 25)), choice((1, 2)), window)


def make_limits(choice, shape, scope, name="", *, reserved=0):
    """Limits of one scope."""
    has = shape[scope, name]
    values = {"allow_unknown_cost": choice((True, False)), "max_batch_size": choice((None, None, None, None, 1))}
    if has["concurrency"]:
        values["concurrency"] = choice((None, *(n for n in (1, 2, 3) if n >= reserved)))
    if has["queues"]:
        values["max_queue_length"] = choice((None, 0, 1, 2, 3))
    if has["waits"]:
        values["max_queue_wait_ns"] = choice((None, 1, 7, 20, 40))
    for budget, figures in (("max_attempts", (3, 2, 1)), ("max_cost_micros", (6, 4, 2)), ("max_tokens", (20, 12, 4))):
        if has[budget]:
            values[budget] = choice(figures)
    if has["requests"]:
        values["requests_per_minute"] = Fraction(choice((1, 5, 7)) * 60 * 10**9, 12)
        values["requests_burst"] = choice((1, 2, 3))
    if has["tokens"]:
        values["tokens_per_second"] = Fraction(choice((1, 5, 7)) * 10**9, 12)
        values["tokens_burst"] = choice((4, 6, 8))
    if scope == "principal":
        values["reserved_concurrency"] = reserved
    if has["shares"]:
        values["max_principal_share"] = choice((None, Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)))
    if has["breaker"]:
        values["circuit_breaker"] = make_breaker(choice)
    return AdmissionLimits(**values)


def make_profile(choice, shape, *, everybody=True):
    """A profile of the given shape; without ``everybody`` it may leave a principal or a provider out."""
    principals, providers = list(PRINCIPALS), list(PROVIDERS)
    if not everybody:
        principals = principals[: choice((3, 3, 2))]
        providers = providers[: choice((2, 2, 1))]
    workspace = make_limits(choice, shape, "workspace")
    of_providers = {name: make_limits(choice, shape, "provider", name) for name in providers}
    reserved = {name: choice((0, 1, 0, 2)) if shape["principal", name]["reservations"] else 0 for name in principals}
    smallest = min((each.concurrency for each in (workspace, *of_providers.values()) if each.concurrency), default=9)
    if sum(reserved.values()) > smallest:
        reserved = dict.fromkeys(principals, 0)
    return AdmissionProfile(
        "v",
        workspace,
        of_providers,
        {name: make_limits(choice, shape, "principal", name, reserved=reserved[name]) for name in principals},
        Scheduling(protect_large_requests=choice((True, True, True, False))),
    )


def make_estimate(choice):
    return Estimate(
        tokens=choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 9, None, -1)),
        cost_micros=choice((1, 1, 2, 0, None)),
        attempts=choice((None, None, None, 0, 2)),
        batch_size=choice((None, None, None, None, 2)),
    )


@st.composite
def shapes(draw):
    return make_shape(lambda options: draw(st.sampled_from(options)))


@st.composite
def profiles(draw, shape, *, everybody=True):
    return make_profile(lambda options: draw(st.sampled_from(options)), shape, everybody=everybody)


@st.composite
def estimates(draw):
    return make_estimate(lambda options: draw(st.sampled_from(options)))
