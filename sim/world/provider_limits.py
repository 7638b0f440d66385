"""A provider's own limits: what it turns away with 429, and for how long.

The buckets are the library's. This module owns the answer to "is there room, and if not, when". It must not know the
limits under test.
"""

from __future__ import annotations

from sim.manifest.providers import RateLimit
from tollgate.core.bucket import TokenBucket, try_take_each


class OwnLimits:
    """Buckets of requests and tokens, and a ceiling on calls in progress; full at instant 0."""

    __slots__ = ("_answer_ns", "_concurrency", "_requests", "_retry_after_ns", "_tokens")

    def __init__(self, rate_limit: RateLimit) -> None:
        """Begin with full buckets."""
        self._requests, self._tokens = (
            [] if limit is None else [TokenBucket(rate=limit[0], burst=limit[1])]
            for limit in (rate_limit.requests, rate_limit.tokens)
        )
        self._answer_ns = rate_limit.answer_ns
        self._concurrency = rate_limit.concurrency
        self._retry_after_ns = rate_limit.retry_after_ns

    def wait_ns(self, tokens: int, in_progress: int, now_ns: int) -> int | None:
        """Let a call in, or say when to come back.

        Args:
            tokens: What it draws from the token bucket.
            in_progress: Calls in progress without it.
            now_ns: The instant.

        Returns:
            None if it is let in, and has drawn. Otherwise it has drawn nothing, and this is the wait to announce with
            the answer, ns from the answer: after it the same call alone would be let in, and not a nanosecond sooner;
            the stated one where calls in progress are what binds; 0, no wait, where there is room by the time of the
            answer, and for a call larger than the token bucket.
        """
        if self._concurrency is not None and in_progress >= self._concurrency:
            return self._retry_after_ns
        if try_take_each(self._requests, self._tokens, tokens, now_ns) < 0:
            return None
        waits = [bucket.wait_ns(1, now_ns) for bucket in self._requests]
        waits += [bucket.wait_ns(tokens, now_ns) for bucket in self._tokens]
        return 0 if None in waits else max(0, max(filter(None, waits), default=0) - self._answer_ns)
