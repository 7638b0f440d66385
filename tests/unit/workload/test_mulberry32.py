from __future__ import annotations

import numpy as np
import pytest

from sim.workload.mulberry32 import uniforms, words

# The first raw words of four seeds, measured on the reference's generator.
FIRST_WORDS = {
    2601: [1487533176, 641714311, 3434445603, 2076544347, 153593883, 376773],
    7: [50271532, 266108690, 4195786334],
    99991: [867311128, 2088947356, 2735887135],
    4294967295: [3850105811, 813802916, 3073704848],
}


@pytest.mark.parametrize("seed", FIRST_WORDS)
def test_first_words_are_those_of_the_reference(seed):
    assert words(seed, 0, len(FIRST_WORDS[seed])).tolist() == FIRST_WORDS[seed]


def test_a_stretch_of_draws_does_not_depend_on_where_it_starts():
    whole = words(2601, 0, 5000)
    pieces = [words(2601, first, 1000) for first in range(0, 5000, 1000)]
    assert np.concatenate(pieces).tolist() == whole.tolist()


def test_draws_far_ahead_wrap_with_the_state():
    assert words(7, 2**32, 3).tolist() == FIRST_WORDS[7]


def test_only_the_seed_modulo_2_to_the_32_counts():
    assert words(2601 + 2**32, 0, 4).tolist() == words(2601, 0, 4).tolist()


def test_uniforms_are_the_words_over_2_to_the_32():
    assert [u * 2**32 for u in uniforms(7, 0, 3).tolist()] == FIRST_WORDS[7]
