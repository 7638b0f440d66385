"""Admission control for shared services: mechanisms, the decision controller, drivers.

Everything outside the drivers is free of clocks, randomness and I/O: time comes in as ``now_ns``, decisions go out as
values.
"""

__version__ = "0.1.0"
