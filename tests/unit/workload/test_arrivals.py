"""Arrivals against a recursion that draws one request at a time, against closed forms, and against themselves."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from math import log, sqrt

import pytest
from numpy.random import Philox, SeedSequence

from sim.manifest import load, with_overrides
from sim.manifest.distributions import Constant, Exponential, Mixture, Uniform
from sim.manifest.processes import BurstyPoisson
from sim.workload import arrivals as arrivals_module
from sim.workload.arrivals import arrival_blocks
from sim.workload.blocks import BLOCK_ROWS
from tests.unit.workload.manifests import TWO_STREAMS, changed, digest_of, manifest_of, rows_of
from tollgate.core.errors import ConfigError

S = 10**9
AT, STREAM, PRINCIPAL, PROVIDER, TOKENS, SERVICE, FAILS, CANCEL, JITTER, FIGURES = range(10)


# --- a naive generator: one request at a time, plain integers and fractions, no code of ours


def naive_words(seed, name, replication=0):
    digest = hashlib.sha256(name.encode()).digest()
    key = [int.from_bytes(digest[k : k + 4], "big") for k in range(0, 32, 4)]
    generator = Philox(SeedSequence(seed, spawn_key=(replication, *key)))
    while True:
        yield from generator.random_raw(64).tolist()


def naive_splitmix(word, k):
    z = (word + (k + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def naive_gap(word):
    return Fraction(round(-log(((word >> 11) + 1) / 2**53) * 2**40), 2**40)


def naive_draw(distribution, words):
    if isinstance(distribution, Constant):
        return distribution.value
    if isinstance(distribution, Uniform):
        return distribution.low + (next(words) * (distribution.high - distribution.low + 1) >> 64)
    if isinstance(distribution, Exponential):
        return max(1, round(float(naive_gap(next(words))) * distribution.mean))
    assert isinstance(distribution, Mixture)
    which, inner = next(words), iter([next(words)])
    below = Fraction(0)
    for weight, part in distribution.parts:
        below += weight
        if which < below * 2**64:
            return naive_draw(part, inner)
    raise AssertionError


def naive_rate(manifest, stream, at):
    """Return arrivals a nanosecond at an instant, and the next instant at which that may change."""
    phase = next(phase for phase in manifest.phases if phase.start_ns <= at < phase.end_ns)
    rate = stream.arrivals.per_second * len(stream.principals) / S * phase.rate_multiplier.get(stream.name, 1)
    edges = [phase.end_ns]
    if isinstance(stream.arrivals, BurstyPoisson):
        model = stream.arrivals
        for start in range(model.first_ns, manifest.horizon_ns, model.every_ns):
            edges += [start, start + model.burst_ns]
            if start <= at < start + model.burst_ns:
                rate *= model.multiplier
    return rate, min(edge for edge in edges if edge > at)


def naive_instants(manifest, stream):
    words = naive_words(manifest.seed, f"{stream.name}/arrivals")
    at = Fraction(0)
    while True:
        need = naive_gap(next(words))
        while True:
            rate, until = naive_rate(manifest, stream, at)
            if need < (until - at) * rate:
                at += need / rate
                break
            need -= (until - at) * rate
            at = Fraction(until)
            if at >= manifest.horizon_ns:
                return
        yield int(at)


def naive_rows(manifest):
    found = []
    for stream in manifest.streams:
        part = {
            name: naive_words(manifest.seed, f"{stream.name}/{name}")
            for name in ["principal", "provider", "work", "service", "failures", "cancel", "jitter"]
        }
        client = stream.client
        for number, at in enumerate(naive_instants(manifest, stream)):
            principal = stream.principals[0]
            if len(stream.principals) > 1:
                principal = stream.principals[next(part["principal"]) * len(stream.principals) >> 64]
            provider = stream.providers[0][0]
            if len(stream.providers) > 1:
                word, below = next(part["provider"]), Fraction(0)
                for provider, weight in stream.providers:  # noqa: B007 - the last one seen is the one chosen
                    below += weight
                    if word < below * 2**64:
                        break
            model = manifest.providers[provider]
            tokens = naive_draw(stream.tokens, part["work"])
            service = naive_draw(model.service, iter([next(part["service"])]))
            word = next(part["failures"])
            tries = [word] + [naive_splitmix(word, k) for k in range(client.max_attempts - 1)]
            fails = sum((w < model.failure_probability * 2**64) << k for k, w in enumerate(tries))
            cancel = -1
            if client.cancel_after_ns is not None and next(part["cancel"]) < client.cancel_probability * 2**64:
                cancel = client.cancel_after_ns
            jitter = next(part["jitter"]) if any(layer.is_drawn for layer in client.layers) else 0
            found.append((at, stream.index, number, principal, provider, tokens, service, fails, cancel, jitter, None))
    return [(row[0], row[1], *row[3:]) for row in sorted(found)]


@pytest.fixture(scope="module")
def two():
    return manifest_of(TWO_STREAMS)


@pytest.fixture(scope="module")
def rows(two):
    return rows_of(two)


def test_arrivals_are_those_of_a_naive_recursion_over_the_same_words(two, rows):
    expected = naive_rows(two)
    assert len(rows) > 900
    assert [row[:SERVICE] + row[FAILS:] for row in rows] == [row[:SERVICE] + row[FAILS:] for row in expected]
    # The C library's logarithm may differ from ours in the last bit, and so an exponential service time by one ns.
    assert all(abs(row[SERVICE] - other[SERVICE]) <= 1 for row, other in zip(rows, expected, strict=True))


def test_rows_are_sorted_and_inside_the_run(two, rows):
    keys = [(row[AT], row[STREAM]) for row in rows]
    assert keys == sorted(keys)
    assert rows[0][AT] >= 0
    assert rows[-1][AT] < two.horizon_ns


def test_counts_are_poisson_with_the_mean_that_rates_and_phases_give(rows):
    # Noisy: 12 a second over 30 + 15 s, four times that for 5 s, three times as much in bursts of 1 s at 4, 11, 18, 25,
    # 32 (in the spike), 39 and 46: 12 * (45 + 2 * 6) + 48 * (5 + 2 * 1). Quiet: 8 a second, half of it in the spike.
    expected = {0: 12 * (45 + 2 * 6) + 48 * (5 + 2), 1: 8 * 45 + 4 * 5}
    for stream, mean in expected.items():
        count = sum(row[STREAM] == stream for row in rows)
        assert abs(count - mean) < 4 * sqrt(mean)


def test_principals_of_a_count_share_arrivals_alike(two, rows):
    quiet = [row[PRINCIPAL] for row in rows if row[STREAM] == 1]
    for principal in two.streams[1].principals:
        assert abs(quiet.count(principal) - len(quiet) / 4) < 4 * sqrt(len(quiet) * 3 / 16)


def test_choices_failures_and_cancellations_have_their_probabilities(rows):
    noisy = [row for row in rows if row[STREAM] == 0]
    on_a = [row for row in noisy if row[PROVIDER] == 0]
    shares = {
        0.75: (len(on_a), len(noisy)),
        0.1: (sum(row[CANCEL] == 50_000_000 for row in noisy), len(noisy)),
        0.2: (sum(row[FAILS] & 1 for row in on_a), len(on_a)),
        0.04: (sum(row[FAILS] & 3 == 3 for row in on_a), len(on_a)),
    }
    for probability, (seen, of) in shares.items():
        assert abs(seen - of * probability) < 4 * sqrt(of * probability * (1 - probability))


def test_the_same_manifest_gives_the_same_arrivals_again(two, rows):
    assert rows_of(two) == rows


def test_how_much_is_drawn_at_a_time_changes_nothing(two, rows, monkeypatch):
    monkeypatch.setattr(arrivals_module, "BLOCK_ROWS", 50)
    monkeypatch.setattr(arrivals_module, "PIECE_ROWS_MIN", 3)
    assert rows_of(two) == rows


def test_limits_and_disciplines_shift_nothing(rows):
    other = changed(("workspace: {concurrency: 8}", "workspace: {concurrency: 3, max_queue_length: 5}"))
    assert rows_of(other) == rows
    assert rows_of(with_overrides(other, [("target", "{kind: admission-controller, discipline: reference}")])) == rows


def test_another_stream_shifts_nothing(two, rows):
    streams = TWO_STREAMS[TWO_STREAMS.index("streams:\n") : TWO_STREAMS.index("- name: noisy")]
    text = TWO_STREAMS.replace(
        streams,
        f"{streams}- {{name: first, principal: quiet, class: quiet, arrivals: {{kind: poisson, per_second: 5}},"
        " work: {tokens: 1}, providers: {a: 1}}\n",
    )
    both = rows_of(manifest_of(text))
    moved = {0: 1, 1: 2}  # the streams after it have another place, and so do their principals
    without = [row for row in both if row[STREAM] != 0]
    names = [info.name for info in manifest_of(text).principals]
    before = [info.name for info in two.principals]
    assert [(row[AT], names[row[PRINCIPAL]], *row[PROVIDER:]) for row in without] == [
        (row[AT], before[row[PRINCIPAL]], *row[PROVIDER:]) for row in rows
    ]
    assert [row[STREAM] for row in without] == [moved[row[STREAM]] for row in rows]


@pytest.mark.parametrize(
    ("change", "column"),
    [
        (("probability: 0.2", "probability: 0.9"), FAILS),
        (("kind: exponential, mean: 80", "kind: constant, value: 7"), SERVICE),
        (("kind: uniform, min: 100, max: 300", "kind: constant, value: 7"), TOKENS),
        (("{probability: 0.1, after_ms: 50}", "{probability: 0.5, after_ms: 9}"), CANCEL),
        (("jitter: full", "jitter: none"), JITTER),
        (("{a: 3, b: 1}", "{a: 1}"), PROVIDER),
    ],
)
def test_one_draw_never_shifts_another(rows, change, column):
    found = rows_of(changed(change))
    follows = {PROVIDER: {PROVIDER, SERVICE, FAILS}}.get(column, {column})
    kept = [index for index in range(10) if index not in follows]
    assert [[row[index] for index in kept] for row in found] == [[row[index] for index in kept] for row in rows]
    assert [row[column] for row in found] != [row[column] for row in rows]


def test_more_attempts_leave_the_earlier_ones_as_they_were(rows):
    found = rows_of(changed(("max_attempts: 3", "max_attempts: 6")))
    assert [row[FAILS] & 7 for row in found] == [row[FAILS] for row in rows]
    assert any(row[FAILS] >> 3 for row in found)


def test_a_window_gives_the_beginning_of_the_whole(two, rows):
    window = rows_of(with_overrides(two, window_s=33))
    assert window == [row for row in rows if row[AT] < 33 * S]


def test_seeds_and_replications_give_other_arrivals(two, rows):
    found = {digest_of(rows)} | {digest_of(rows_of(two, replication=r)) for r in (1, 2)}
    found.add(digest_of(rows_of(with_overrides(two, seed=2602))))
    assert len(found) == 4


def test_blocks_are_of_bounded_size_and_hold_plain_integers(two):
    many = with_overrides(two, [("phases.rest.seconds", "3000")])
    blocks = list(arrival_blocks(many))
    assert len(blocks) > 2
    assert max(map(len, blocks)) <= 3 * BLOCK_ROWS
    columns = [column for column in blocks[0].__slots__ if column != "figures"]
    for column in columns:
        assert {type(value) for value in getattr(blocks[0], column)} == {int}
        assert len(getattr(blocks[0], column)) == len(blocks[0])
    assert blocks[0].figures is None  # every request is plain


def test_a_seed_manifest_takes_the_seeds_own_generator(repository):
    # conformance: the first arrivals of v2 are 2601's first raw words through REFERENCE 8.1.
    manifest = with_overrides(load(repository / "manifests/load-manifest.v2.json"), window_s=90)
    first = next(iter(arrival_blocks(manifest)))
    gap_ms = -log(1 - 1487533176 / 2**32) / (20 / 1000)
    assert first.at_ns[0] == int(gap_ms + 0.5) * 1_000_000
    # 2,378 arrivals in the first 90 s: the reference's published record.
    assert sum(map(len, arrival_blocks(manifest))) == 2378


# --- replayed traces


def traced(tmp_path, rows, *, seconds=10, count=None, work="", **keys):
    (tmp_path / "rows.csv").write_text("at,who,size,took\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    sha256 = hashlib.sha256((tmp_path / "rows.csv").read_bytes()).hexdigest()
    more = "".join(f", {key}: {value}" for key, value in keys.items())
    path = tmp_path / "m.yaml"
    path.write_text(f"""\
schema: capacity-manifest/v1
name: traced
version: 1.0.0
seed: 1
profile: {{profile_version: t, workspace: {{}}, providers: {{v: {{}}}}, principals: {{p: {{}}, live: {{}}}}}}
phases: [{{name: all, seconds: {seconds}}}]
streams:
- name: recorded
  principal: p
  {f"count: {count}" if count else ""}
  arrivals: {{kind: trace, file: rows.csv, sha256: {sha256}, format: csv, time_column: at, time_unit: s{more}}}
  {work}
  providers: {{v: 1}}
- {{name: live, principal: live, arrivals: {{kind: poisson, per_second: 3}}, work: {{tokens: 5}}, providers: {{v: 1}}}}
providers:
- {{id: v, service_ms: {{kind: uniform, min: 10, max: 20}}}}
""")
    return load(path)


ROWS = [(100, "x", 7, 0.5), (101.25, "y", 0, 0), (101.25, "x", 9, 2)]


def replayed(manifest):
    return [row for row in rows_of(manifest) if row[STREAM] == 0]


def test_every_row_of_a_trace_comes_once_at_its_own_time(tmp_path):
    manifest = traced(
        tmp_path,
        ROWS,
        count=2,
        tokens_columns="[size]",
        principal_column="who",
        duration_column="took",
        duration_unit="s",
    )
    names = [info.name for info in manifest.principals]
    found = [(row[AT], names[row[PRINCIPAL]], row[TOKENS], row[SERVICE]) for row in replayed(manifest)]
    assert found == [(0, "p0001", 7, S // 2), (5 * S // 4, "p0002", 0, 0), (5 * S // 4, "p0001", 9, 2 * S)]


def test_what_a_trace_does_not_say_is_drawn(tmp_path):
    found = replayed(traced(tmp_path, ROWS, work="work: {tokens: 3}"))
    assert [row[TOKENS] for row in found] == [3, 3, 3]
    assert all(10_000_000 <= row[SERVICE] <= 20_000_000 for row in found)


def test_a_trace_is_merged_with_drawn_streams(tmp_path):
    found = rows_of(traced(tmp_path, ROWS, work="work: {tokens: 3}"))
    assert [(row[AT], row[STREAM]) for row in found] == sorted((row[AT], row[STREAM]) for row in found)
    assert {row[STREAM] for row in found} == {0, 1}


def test_a_row_beyond_the_phases_is_refused_and_one_beyond_the_window_is_not_asked_for(tmp_path):
    manifest = traced(tmp_path, ROWS, seconds="1.25", work="work: {tokens: 3}")
    with pytest.raises(ConfigError, match=r"phases: .*rows\.csv: it has a row at 1250 ms"):
        rows_of(manifest)
    whole = traced(tmp_path, ROWS, seconds="1.5", work="work: {tokens: 3}")
    assert len(replayed(with_overrides(whole, window_s=1))) == 1


def test_more_ids_than_principals_are_refused(tmp_path):
    manifest = traced(tmp_path, ROWS, principal_column="who", work="work: {tokens: 3}")
    with pytest.raises(ConfigError, match=r"streams\[0\]\.count: got 1.*more than 1 principals"):
        rows_of(manifest)


def test_keys_that_do_not_go_together_are_refused_before_the_first_arrival(tmp_path):
    manifest = traced(tmp_path, ROWS, work="work: {tokens: 3}", duration_column="took")
    with pytest.raises(ConfigError, match=r"streams\[0\]\.arrivals\.duration_unit"):
        arrival_blocks(manifest)
