"""How long a client waits before its next attempt.

This module owns that arithmetic, in integers, so that no attempt is too late for it. It must not know requests or the
clock.

Source:
    Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
"""

from __future__ import annotations

from sim.manifest.clients import Retry


def backoff_ns(retry: Retry, tries: int, word: int, previous_ns: int) -> int:
    """Return the wait after an attempt that failed, ns.

    ``fixed`` waits ``base`` each time, ``exponential`` ``min(cap, base * 2^(tries - 1))``. On these, full jitter draws
    uniformly from 0 up to the wait w, equal jitter from ``floor(w / 2)`` up to it, ends included. ``decorrelated``
    waits ``min(cap, uniform(base, 3 * previous))``, where the wait before the first counts as ``base``.

    Args:
        retry: The policy.
        tries: Attempts so far under this policy, from 1.
        word: 64 bits of this wait's own.
        previous_ns: The wait before this one, ns; ``base`` where there was none.
    """
    if retry.kind == "decorrelated":
        return min(retry.cap_ns, _uniform(word, retry.base_ns, max(retry.base_ns, 3 * previous_ns)))
    wait_ns = retry.base_ns
    if retry.kind == "exponential":
        # Beyond this many doublings the cap has long been reached, and the shift would only grow.
        doublings = min(tries - 1, retry.cap_ns.bit_length())
        wait_ns = min(retry.cap_ns, retry.base_ns << doublings)
    if retry.jitter == "none":
        return wait_ns
    return _uniform(word, wait_ns // 2 if retry.jitter == "equal" else 0, wait_ns)


def _uniform(word: int, low: int, high: int) -> int:
    """Return the integer from ``low`` to ``high``, both included, that a 64-bit word picks."""
    return low + (word * (high - low + 1) >> 64)
