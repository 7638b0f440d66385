"""The lab: drives the production code of ``tollgate`` under a fake clock and records what a set of limits does.

>>> import sim
>>> run = sim.run(sim.load("manifests/load-manifest.v2.json"), observations_only=True)
>>> float(run.value("admission.ratio", {"class": "quiet"})) >= 0.95
True
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import would be most of this package's
if TYPE_CHECKING:
    from sim.experiment import Run, run
    from sim.manifest import load

__all__ = ["Run", "load", "run"]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: ``import sim`` alone pulls in neither numpy nor simpy."""
    if name in {"Run", "run"}:
        from sim import experiment  # noqa: PLC0415

        return getattr(experiment, name)
    if name == "load":
        from sim.manifest import load  # noqa: PLC0415

        return load
    raise AttributeError(f"module 'sim' has no attribute {name!r}")
