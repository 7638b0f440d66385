"""A small workspace behind the driver, as every test of it needs one."""

from __future__ import annotations

from tollgate.core.breaker import BreakerConfig
from tollgate.core.units import NS_PER_MS
from tollgate.decision import AdmissionController, AdmissionLimits, AdmissionProfile, Estimate, Request
from tollgate.drivers.aio import AsyncAdmission

MS = NS_PER_MS
BREAKER = BreakerConfig(failure_threshold=1, open_ns=100 * MS, half_open_max_calls=1)


def profile(version="v1", *, providers=None, principals=None, **workspace):
    """Limits of the workspace by keyword; one provider and two principals without limits unless given."""
    return AdmissionProfile(
        version,
        AdmissionLimits(**workspace),
        providers or {"llm": AdmissionLimits()},
        principals or {"ann": AdmissionLimits(), "bob": AdmissionLimits()},
    )


def gate(loop, **workspace):
    """A driver under the loop's clock, over a controller with these limits."""
    return AsyncAdmission(AdmissionController("w", profile(**workspace)), clock=loop.clock)


def ask(principal="ann", *, tokens=None, deadline_ns=None, budget_id="job"):
    return Request(budget_id, principal, "w", "llm", Estimate(tokens=tokens), deadline_ns)


def assert_nothing_left(admission, loop):
    """Nothing in flight, nobody waiting, no timer, and nothing that the driver still remembers."""
    assert admission.controller.active == 0
    assert admission.controller.waiting == 0
    assert admission.controller.is_idle
    assert admission._waiters == {}
    assert admission._given_up == []
    assert admission._timer is None
    assert loop.timers == 0
