"""mulberry32, the seed family's random generator, drawn in blocks.

The generator's state is a counter: each draw adds one constant modulo 2^32 and mixes the sum. So draw k depends on the
seed and k alone and any stretch of draws is one array expression. This module owns the raw words; it must not know what
they are drawn for.

Source:
    The seed's reference (REFERENCE 8.1) gives the mixing steps and the first words of four seeds.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

INCREMENT: Final = 0x6D2B79F5
"""What each draw adds to the state."""
WORDS: Final = 2.0**32
"""Number of different words: a word over this is the draw's uniform number in [0, 1)."""


def words(seed: int, first: int, count: int) -> NDArray[np.uint32]:
    """Return draws ``first`` to ``first + count - 1`` of a seed, as raw words.

    Args:
        seed: The seed; only its value modulo 2^32 counts.
        first: Number of the first draw, from 0.
        count: How many.

    Returns:
        The words, shape ``(count,)``.
    """
    start = (seed + (first + 1) * INCREMENT) % 2**32
    state: NDArray[np.uint32] = np.arange(count, dtype=np.uint32) * np.uint32(INCREMENT) + np.uint32(start)
    mixed: NDArray[np.uint32] = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))
    mixed ^= mixed >> np.uint32(14)
    return mixed


def uniforms(seed: int, first: int, count: int) -> NDArray[np.float64]:
    """Return the same draws as uniform numbers in [0, 1), shape ``(count,)``; every one is exact."""
    return words(seed, first, count) / WORDS
