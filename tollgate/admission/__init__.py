"""The request path: may this principal do this now, and what does it cost, from what one instance holds in memory.

Import from the modules. Nothing here does I/O, waits, draws at random or reads a clock: ``now_ns`` is an argument.
"""
