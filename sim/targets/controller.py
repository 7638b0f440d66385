"""The target ``admission-controller``: the production controller itself, built from a manifest's profile.

This module owns what the world may ask of a target. It adds nothing to the controller: what is simulated is what ships.
"""

from __future__ import annotations

from typing import Final, Protocol

from sim.manifest.model import Manifest
from tollgate.core.breaker import Outcome
from tollgate.decision import AdmissionController, Decision, Permit, Request, Ticket

WORKSPACE: Final = "workspace"
"""Id of the one workspace of a lab run."""


class Target(Protocol):
    """The part of the controller that the world drives."""

    @property
    def active(self) -> int:
        """Calls in flight."""

    @property
    def waiting(self) -> int:
        """Requests that wait."""

    def request(self, request: Request, now_ns: int) -> Ticket:
        """Take in a request."""

    def release(self, permit: Permit, outcome: Outcome, now_ns: int) -> bool:
        """Give a permit back."""

    def cancel(self, ticket: Ticket, now_ns: int) -> bool:
        """Give a waiting request up."""

    def settle(self, budget_id: str) -> None:
        """Forget an invocation."""

    def poll(self, now_ns: int) -> list[Decision]:
        """Return the decisions not yet delivered."""

    def eligible_since_ns(self, ticket: Ticket, now_ns: int) -> int | None:
        """Return since when a request has been its lane's head and lacked shared permits only; None if it is not."""

    def next_wakeup_ns(self, before_ns: int) -> int | None:
        """Return when to poll next; None for never, or not before an instant at which it is polled in any case."""


def build(manifest: Manifest) -> AdmissionController:
    """Return the controller under the manifest's profile, with nothing in flight."""
    return AdmissionController(WORKSPACE, manifest.profile)
