from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Philox, SeedSequence

from sim import seeds


def test_c118_a_name_is_the_words_of_its_digest():
    # A name enters a stream by a stable digest, not by the interpreter's hash of it.
    # SHA-256 of "abc": FIPS 180-4, example 1.
    assert [f"{word:08x}" for word in seeds.name_words("abc")] == (
        ["ba7816bf", "8f01cfea", "414140de", "5dae2223", "b00361a3", "96177a9c", "b410ff61", "f20015ad"]
    )


def test_a_stream_is_philox_seeded_by_seed_replication_and_name():
    spawn_key = (3, *seeds.name_words("quiet/work"))
    expected = Philox(SeedSequence(2601, spawn_key=spawn_key)).random_raw(5)
    assert (seeds.words(2601, "quiet/work", replication=3)(5) == expected).all()


def test_words_do_not_depend_on_how_many_are_taken_at_a_time():
    all_at_once = seeds.words(1, "a")(100)
    take = seeds.words(1, "a")
    pieces = np.concatenate([take(n) for n in (0, 1, 7, 92)])
    assert (pieces == all_at_once).all()


def test_seeds_names_and_replications_give_streams_of_their_own():
    firsts = [
        int(seeds.words(seed, name, replication=replication)(1)[0])
        for seed in (0, 1, 2)
        for name in ("a/arrivals", "a/work", "b/arrivals")
        for replication in (0, 1, 2)
    ]
    assert len(set(firsts)) == 27


def test_c119_streams_of_replication_zero_are_uncorrelated():
    # Stream seeds that are multiples of the run's number are all zero in run 0.
    arrivals, service = (seeds.words(5, f"a/{part}")(4000) / 2.0**64 for part in ("arrivals", "service"))
    correlation = float(np.corrcoef(arrivals, service)[0, 1])
    assert abs(correlation) < 4 / 4000**0.5


@pytest.mark.parametrize(
    ("word", "outputs"),
    [
        # The first outputs of SplitMix64 for seed 0 (Vigna's splitmix64.c) and for 1234567 (Rosetta Code).
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]),
        (1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]),
    ],
)
def test_derived_words_are_those_of_splitmix64(word, outputs):
    assert [seeds.derived_word(word, k) for k in range(len(outputs))] == outputs


def test_derived_words_of_an_array_are_those_of_its_words():
    words = seeds.words(3, "jitter")(200)
    for k in (0, 1, 61):
        assert seeds.derived_words(words, k).tolist() == [seeds.derived_word(word, k) for word in words.tolist()]
