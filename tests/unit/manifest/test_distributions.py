"""Distributions of amounts and lengths: what is read, what is refused, and the files of values."""

from __future__ import annotations

import hashlib
import struct
from fractions import Fraction

import pytest

from sim.manifest import load, value_files
from sim.manifest.distributions import (
    BoundedPareto,
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Uniform,
)
from sim.workload.arrivals import arrival_blocks
from tests.unit.manifest.texts import SMALL, read
from tollgate.core.errors import ConfigError

MS = 10**6
DIGEST = "0" * 64


def texts(tokens="1", service="1"):
    """Return the small manifest with the second stream's tokens and the service times replaced."""
    return SMALL.replace("{tokens: 200}", f"{{tokens: {tokens}}}").replace(
        "{kind: uniform, min: 40, max: 160}", str(service)
    )


LAWS = [
    ("7", Constant(7)),
    ("{kind: constant, value: 7}", Constant(7)),
    ("{kind: uniform, min: 1, max: 9}", Uniform(1, 9)),
    ("{kind: exponential, mean: 250}", Exponential(250)),
    ("{kind: lognormal, mean: 250, cv: 1.5}", Lognormal(250, Fraction(3, 2))),
    ("{kind: lognormal, median: 250, p99: 4000}", Lognormal(250, None, 4000)),
    ("{kind: gamma, mean: 250, cv: 0.5}", Gamma(250, Fraction(1, 2))),
    ("{kind: bounded-pareto, alpha: 1.2, min: 10, max: 9000}", BoundedPareto(Fraction(6, 5), 10, 9000)),
    (
        "{kind: mixture, of: [[0.25, {kind: gamma, mean: 250, cv: 2}], [0.75, 3]]}",
        Mixture(((Fraction(1, 4), Gamma(250, Fraction(2))), (Fraction(3, 4), Constant(3)))),
    ),
]


@pytest.mark.parametrize(("text", "law"), LAWS, ids=[text for text, _ in LAWS])
def test_a_law_of_amounts_is_read_exactly(text, law):
    assert read(texts(tokens=text)).streams[1].tokens == law


def in_ns(law):
    match law:
        case Mixture(parts):
            return Mixture(tuple((weight, in_ns(part)) for weight, part in parts))
        case Lognormal(centre, cv, p99):
            return Lognormal(centre * MS, cv, None if p99 is None else p99 * MS)
        case Gamma(mean, cv):
            return Gamma(mean * MS, cv)
        case BoundedPareto(alpha, low, high):
            return BoundedPareto(alpha, low * MS, high * MS)
        case Uniform(low, high):
            return Uniform(low * MS, high * MS)
        case Exponential(mean):
            return Exponential(mean * MS)
        case Constant(value):
            return Constant(value * MS)


@pytest.mark.parametrize(("text", "law"), LAWS, ids=[text for text, _ in LAWS])
def test_a_law_of_lengths_is_the_same_block_in_ms(text, law):
    assert read(texts(service=text)).providers[0].service == in_ns(law)


BAD = {
    "{kind: exponential, mean: 0}": "mean: got 0; allowed: an integer of at least 1",
    "{kind: exponential, mean: -1}": "mean: got -1",
    "{kind: exponential, mean: 2.5}": "mean: got 2.5; allowed: an integer",
    "{kind: exponential, mean: .nan}": "mean: got '.nan'; allowed: an integer",
    "{kind: exponential, mean: 1e400}": "got '1e400'; allowed: a number between 1e-40 and 1e40",
    "{kind: exponential}": "mean: got nothing; allowed: a value: this key is required",
    "{kind: exponential, mean: 1, cv: 1}": "cv: got the unknown key 'cv'; allowed: the keys kind, mean",
    "{kind: gamma, mean: 5, cv: 0}": "cv: got 0; allowed: a decimal number from 0.01 to 10",
    "{kind: gamma, mean: 5, cv: 10.1}": "cv: got 10.1; allowed: a decimal number from 0.01 to 10",
    "{kind: gamma, mean: 5, cv: wide}": "cv: got 'wide'",
    "{kind: lognormal, mean: 5}": "cv: got nothing; allowed: mean and cv, or median and p99",
    "{kind: lognormal, cv: 1}": "mean: got nothing; allowed: mean and cv, or median and p99",
    "{kind: lognormal, median: 5}": "p99: got nothing; allowed: mean and cv, or median and p99",
    "{kind: lognormal, p99: 5}": "median: got nothing; allowed: mean and cv, or median and p99",
    "{kind: lognormal}": "mean: got nothing; allowed: mean and cv, or median and p99",
    "{kind: lognormal, mean: 5, cv: 1, p99: 50}": "allowed: mean and cv, or median and p99",
    "{kind: lognormal, mean: 5, median: 5}": "median: got 5; allowed: absent beside mean and cv",
    "{kind: lognormal, median: 5, p99: 5}": "p99: got 5; allowed: above median",
    "{kind: bounded-pareto, alpha: 1, min: 9, max: 8}": "max: got 8; allowed: at least min",
    "{kind: bounded-pareto, alpha: 0, min: 1, max: 8}": "alpha: got 0; allowed: a decimal number from 0.01 to 100",
    "{kind: bounded-pareto, alpha: 1, min: 0, max: 8}": "min: got 0",
    "{kind: pareto, alpha: 1, min: 1, max: 8}": 'did you mean "bounded-pareto"?',
    "{kind: mixture, of: [[1, {kind: mixture, of: [[1, 1]]}]]}": "of[0][1].kind: got 'mixture'",
    "{kind: mixture, of: [[0.5, 1], [0.4, 2]]}": "sum to exactly 1",
    "{kind: empirical, file: f}": "sha256: got nothing",
    f"{{kind: empirical, file: nowhere, sha256: {DIGEST}}}": "no such file: nowhere; allowed: a file of values",
    f"{{kind: empirical, file: nowhere, sha256: {DIGEST}, scale: 0}}": "scale: got 0",
    "{kind: empirical, file: 7, sha256: x}": "file: got 7; allowed: a text",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_law_is_refused_by_its_key(text):
    with pytest.raises(ConfigError) as caught:
        read(texts(tokens=text))
    message = str(caught.value)
    assert message.startswith("small.yaml: ")
    assert BAD[text] in message
    if "1e400" not in text:
        assert "streams[1].work.tokens." in message


def test_a_length_of_zero_or_of_a_fraction_of_a_nanosecond_is_refused():
    for text in ("0", "{kind: constant, value: 0}", "{kind: exponential, mean: 0.0000001}"):
        with pytest.raises(ConfigError, match=r"providers\[0\]\.service_ms.*above 0, at most a year, in whole ns"):
            read(texts(service=text))


# --- files of values


def from_file(folder, data, options="", *, key="tokens", digest=None):
    """Load a manifest whose tokens, or service times, are drawn from a file."""
    (folder / "values.txt").write_bytes(data)
    sha256 = digest or hashlib.sha256(data).hexdigest()
    law = f"{{kind: empirical, file: values.txt, sha256: {sha256}{options}}}"
    (folder / "m.yaml").write_text(texts(**{key: law}))
    return load(folder / "m.yaml")


def values_of(law):
    assert isinstance(law, Empirical)
    return list(struct.unpack(f"<{len(law.values) // 8}q", law.values))


def test_values_are_read_one_a_line_in_any_order_and_kept_in_rising_order(tmp_path):
    found = from_file(tmp_path, b"30\n10\r\n20\n10")
    assert values_of(found.streams[1].tokens) == [10, 10, 20, 30]


def test_values_of_a_column_are_read_by_its_name(tmp_path):
    data = '\ufeffid,"size, tokens"\nx,7\n"y\nz",9\n'.encode()
    assert values_of(from_file(tmp_path, data, ", column: 'size, tokens'").streams[1].tokens) == [7, 9]


def test_lengths_are_scaled_and_rounded_to_whole_nanoseconds(tmp_path):
    found = from_file(tmp_path, b"0.25\n1e-9\n0.0000000015\n+3.\n", ", scale: 1000", key="service")
    assert values_of(found.providers[0].service) == [1, 2, 250 * MS, 3000 * MS]


def test_a_file_of_values_is_an_input_of_the_run_once(tmp_path):
    data = b"30\n10\n"
    sha256 = hashlib.sha256(data).hexdigest()
    law = f"{{kind: empirical, file: values.txt, sha256: sha256:{sha256}}}"
    (tmp_path / "values.txt").write_bytes(data)
    (tmp_path / "m.yaml").write_text(texts(tokens=law, service=law))
    (file,) = load(tmp_path / "m.yaml").inputs
    assert (file.name, file.sha256, file.bytes) == ("values.txt", sha256, len(data))


def test_a_part_of_a_mixture_may_be_a_file(tmp_path):
    data = b"30\n10\n"
    law = f"{{kind: empirical, file: values.txt, sha256: {hashlib.sha256(data).hexdigest()}}}"
    (tmp_path / "values.txt").write_bytes(data)
    (tmp_path / "m.yaml").write_text(texts(tokens=f"{{kind: mixture, of: [[0.5, 1], [0.5, {law}]]}}"))
    manifest = load(tmp_path / "m.yaml")
    assert {block.tokens[k] for block in arrival_blocks(manifest) for k in range(len(block))} >= {1, 10, 30}


BAD_FILES = {
    "one value": (b"7\n", "", "values.txt: got one value; allowed: at least 2 values"),
    "no value": (b"", "", "values.txt: got no value; allowed: at least 2 values"),
    "header only": (b"a,b\n", ", column: a", "values.txt: got no value"),
    "negative": (b"7\n-1\n", "", "values.txt: row 2: got '-1'; allowed: a whole number from 0 to 2^53-1"),
    "NaN": (b"nan\n7\n", "", "values.txt: row 1: got 'nan'"),
    "infinity": (b"7\ninf\n", "", "values.txt: row 2: got 'inf'"),
    "a fraction": (b"7\n7.5\n", "", "values.txt: row 2: got '7.5'; allowed: a whole number"),
    "1e400": (b"7\n1e400\n", "", "values.txt: row 2: got '1e400'"),
    "too large": (b"7\n9007199254740992\n", "", "values.txt: row 2: got '9007199254740992'"),
    "a million digits": (b"7\n" + b"9" * 10**6 + b"\n", "", "values.txt: row 2: got '9999"),
    "a blank line": (b"7\n\n8\n", "", "values.txt: row 2: got ''"),
    "no text": (b"7\n\xff8\n", "", "values.txt: row 2: got b'\\xff8"),
    "NUL": (b"7\n8\x00\n", "", "values.txt: row 2: got '8\\x00'"),
    "a line without an end": (b"1" * (1 << 21), "", "values.txt: row 1: got more than 1048576 bytes"),
    "unknown column": (b"size,who\n7,x\n8,y\n", ", column: sise", "0 columns 'sise'; allowed: a header that has the"),
    "column twice": (b"size,size\n7,8\n", ", column: size", "values.txt: row 1: got 2 columns 'size'"),
    "short row": (b"size,who\n7,x\n8\n", ", column: size", "values.txt: row 3: got 1 cells; allowed: 2 cells"),
    "cell": (b"size,who\n7,x\nx,8\n", ", column: size", "values.txt: row 3, column 'size': got 'x'"),
    "quoting": (b'size,who\n7,x\n"8,y\n', ", column: size", "values.txt: row 3: got unexpected end of data"),
}


@pytest.mark.parametrize("what", BAD_FILES)
def test_a_bad_file_of_values_is_refused_by_file_and_row(tmp_path, what):
    data, options, message = BAD_FILES[what]
    with pytest.raises(ConfigError) as caught:
        from_file(tmp_path, data, options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_length_of_zero_in_a_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"values\.txt: row 2: got '0'; allowed: a number above 0, at most a year"):
        from_file(tmp_path, b"1\n0\n", key="service")


def test_another_file_in_its_place_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"m\.yaml: streams\[1\]\.work\.tokens\.sha256: .*another file"):
        from_file(tmp_path, b"1\n2\n", digest=DIGEST)


def test_more_values_than_are_kept_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(value_files, "VALUES_MAX", 3)
    with pytest.raises(ConfigError, match=r"row 4: got value 4; allowed: at most 3 values"):
        from_file(tmp_path, b"1\n2\n3\n4\n")
