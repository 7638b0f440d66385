"""The simulated world: callers and providers around the code under test.

This package owns what callers do (arrive, retry, lose patience, cancel) and how long and how well providers serve. It
meets measurement in :mod:`sim.trace` only, and must not know metrics, gates or records.
"""

from sim.world.world import World

__all__ = ["World"]
