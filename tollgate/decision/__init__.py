"""The decision scheduler: one workspace's limits, and who may go under them.

Everything here is sans I/O: state machines that are told the time. Drivers (:mod:`tollgate.drivers`) and the lab
(:mod:`sim`) drive the same code.
"""

from tollgate.decision.controller import AdmissionController, BreakerEvent
from tollgate.decision.evidence import AdmissionEvidence, Check, Decision, Hold
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.profile import AdmissionProfile, Scheduling
from tollgate.decision.ticket import Estimate, Permit, Request, Ticket

__all__ = [
    "AdmissionController",
    "AdmissionEvidence",
    "AdmissionLimits",
    "AdmissionProfile",
    "BreakerEvent",
    "Check",
    "Decision",
    "Estimate",
    "Hold",
    "Permit",
    "Request",
    "Scheduling",
    "Ticket",
]
