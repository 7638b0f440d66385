"""How long a client waits before its next attempt.

This module owns that arithmetic, in integers. It must not know requests or the clock.
"""

from __future__ import annotations

from sim.manifest.model import Retry
from sim.seeds import derived_word


def backoff_ns(retry: Retry, attempt: int, jitter: int) -> int:
    """Return the wait after an attempt that failed, ns.

    ``fixed`` waits ``base`` each time; ``exponential`` waits ``min(cap, base * 2^(attempt - 1))``. Full jitter draws
    the wait uniformly from 0 up to and including that (Brooker, "Exponential Backoff and Jitter", AWS Architecture
    Blog, 2015).

    Args:
        retry: The client's policy; not of kind ``none``.
        attempt: The attempt that failed, from 1.
        jitter: The request's own 64-bit word.
    """
    wait_ns = retry.base_ns
    if retry.kind == "exponential":
        # Beyond this many doublings the cap has long been reached, and the shift would only grow.
        doublings = min(attempt - 1, retry.cap_ns.bit_length())
        wait_ns = min(retry.cap_ns, retry.base_ns << doublings)
    if retry.jitter == "full":
        wait_ns = derived_word(jitter, attempt - 1) * (wait_ns + 1) >> 64
    return wait_ns
