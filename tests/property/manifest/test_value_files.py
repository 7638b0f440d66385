"""A file of values is read exactly, or refused by its row, whatever bytes it holds."""

from __future__ import annotations

import struct
from fractions import Fraction
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from sim.manifest.value_files import read_values
from tollgate.core.errors import ConfigError

PIECES = st.sampled_from(
    [
        b"7",
        b"0.5",
        b"-1",
        b"1e9",
        b"1e-9",
        b"nan",
        b"\n",
        b"\r\n",
        b"\r",
        b",",
        b'"',
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"a",
    ]
)
NUMBERS = st.decimals(0, 10**6, places=3, allow_nan=False)


@given(st.binary(max_size=60) | st.lists(PIECES, max_size=20).map(b"".join), st.sampled_from([None, "a"]))
def test_any_bytes_are_values_or_one_sentence(data, column):
    found, refusal = b"", ""
    try:
        found = read_values(BytesIO(data), column, Fraction(1), 10**6, 1)
    except ConfigError as error:
        refusal = str(error)
    values = struct.unpack(f"<{len(found) // 8}q", found)
    assert "\n" not in refusal
    assert bool(refusal) != (len(values) >= 2)
    assert list(values) == sorted(values)
    assert min(values, default=1) >= 1


@given(st.lists(NUMBERS, min_size=2, max_size=30), st.sampled_from(["{}", "{:e}", "+{}"]), st.integers(1, 1000))
def test_lengths_are_those_of_exact_fractions_rounded_once(numbers, form, scale):
    data = "".join(form.format(number) + "\n" for number in numbers).encode()
    found = read_values(BytesIO(data), None, Fraction(scale, 7), 10**6, 0)
    exact = sorted(Fraction(number) * scale * 10**6 / 7 for number in numbers)
    values = struct.unpack(f"<{len(found) // 8}q", found)
    assert list(values) == [int(value + Fraction(1, 2)) for value in exact]
