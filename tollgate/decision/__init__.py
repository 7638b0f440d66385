"""The decision scheduler: one workspace's limits, and who may go under them.

Everything here is sans I/O: state machines that are told the time. Drivers (:mod:`tollgate.drivers`) and the lab
(:mod:`sim`) drive the same code.
"""

from tollgate.decision.controller import AdmissionController
from tollgate.decision.decisions import BreakerEvent, Decision, Permit
from tollgate.decision.evidence import AdmissionEvidence, Check, Hold
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.pools import Ticket
from tollgate.decision.profile import AdmissionProfile, Scheduling
from tollgate.decision.registry import AdmissionRegistry, InvalidDefinition, ProfileChange, RegistryFull
from tollgate.decision.request import Estimate, Request

__all__ = [
    "AdmissionController",
    "AdmissionEvidence",
    "AdmissionLimits",
    "AdmissionProfile",
    "AdmissionRegistry",
    "BreakerEvent",
    "Check",
    "Decision",
    "Estimate",
    "Hold",
    "InvalidDefinition",
    "Permit",
    "ProfileChange",
    "RegistryFull",
    "Request",
    "Scheduling",
    "Ticket",
]
