"""Named streams of randomness: each is a function of the seed, the replication and its own name, and of nothing else.

So adding a stream, or changing limits, never shifts another stream, and two policies can be compared on identical
traffic. This module owns how streams are derived and the mixing of one word into many. It must not know what the words
are drawn for.

Source:
    Seeding and spawn keys are numpy's ``SeedSequence``; the generator is Philox 4x64-10 (Salmon et al., SC 2011), whose
    raw words are the same on every platform. The mixer is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA
    2014; constants of D. Stafford's variant 13).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.random import Philox, SeedSequence
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Raw 64-bit words, shape ``(n,)``."""

MASK: Final = 2**64 - 1
GOLDEN: Final = 0x9E3779B97F4A7C15
"""SplitMix64's step: 2^64 over the golden ratio, made odd."""
FACTOR_1: Final = 0xBF58476D1CE4E5B9
FACTOR_2: Final = 0x94D049BB133111EB
_ONE, _GOLDEN = np.uint64(1), np.uint64(GOLDEN)


def name_words(name: str) -> tuple[int, ...]:
    """Return the eight 32-bit words, most significant byte first, of the SHA-256 of a stream's name in UTF-8."""
    return struct.unpack(">8I", hashlib.sha256(name.encode()).digest())


def words(seed: int, name: str, *, replication: int = 0) -> Callable[[int], Words]:
    """Return one named stream at its beginning: a function that takes its next words, as many as it is asked for.

    Args:
        seed: The manifest's seed, not negative.
        name: The stream's name, such as ``noisy/arrivals``.
        replication: Number of the run, from 0.
    """
    generator = Philox(SeedSequence(seed, spawn_key=(replication, *name_words(name))))

    def take(count: int) -> Words:
        return np.asarray(generator.random_raw(count), dtype=np.uint64)

    return take


def derived_word(word: int, k: int) -> int:
    """Return the ``k``-th word derived from ``word``, for draws whose number is not known beforehand.

    Args:
        word: A raw 64-bit word.
        k: Which one, from 0.
    """
    z = (word + (k + 1) * GOLDEN) & MASK
    z = ((z ^ (z >> 30)) * FACTOR_1) & MASK
    z = ((z ^ (z >> 27)) * FACTOR_2) & MASK
    return z ^ (z >> 31)


def derived_words(first: Words, k: int | Words) -> Words:
    """Return ``derived_word(word, k)`` of every word of ``first``, in the shape of both together.

    Args:
        first: Raw words.
        k: Which one, from 0; the same of all of them, or an array of them.
    """
    steps: Words = np.asarray(np.uint64((k + 1) * GOLDEN & MASK) if isinstance(k, int) else (k + _ONE) * _GOLDEN)
    z: Words = first + steps
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FACTOR_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(FACTOR_2)
    return z ^ (z >> np.uint64(31))
