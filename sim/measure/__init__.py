"""Metrics, self-checks, series and outcomes of a run, from its trace alone.

A run hands ``Instruments(manifest).consumers`` to a :class:`sim.trace.Trace` and asks for the results once the trace is
closed. Nothing here knows what wrote the trace.
"""

from __future__ import annotations

from sim.measure.checks import CheckResult
from sim.measure.instruments import Instruments
from sim.measure.observe import Measure, Observation
from sim.measure.quantiles import LogLinearHistogram
from sim.measure.series import Band, SeriesView
from sim.measure.shape import RunShape
from sim.measure.slowest import SlowRequest

__all__ = [
    "Band",
    "CheckResult",
    "Instruments",
    "LogLinearHistogram",
    "Measure",
    "Observation",
    "RunShape",
    "SeriesView",
    "SlowRequest",
]
