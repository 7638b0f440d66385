"""Values and mechanisms, each usable alone: no clock, no randomness, no I/O.

Import from the modules: ``tollgate.core.bucket``, ``gauge``, ``breaker``, ``deny``, ``errors``, ``units``, ``ids``,
``canonical`` and ``lanes``. Time is an argument, ``now_ns: int``, everywhere.
"""
