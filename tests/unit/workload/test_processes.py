"""Generated arrivals of every kind: against closed forms on fixed seeds, and against themselves.

Tests of laws have a level of 0.001 or allow four standard errors: on a fixed seed what passes goes on passing.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from sim.manifest import with_overrides
from sim.manifest.processes import ModulatedPoisson, RateCurve
from sim.workload import arrivals as arrivals_module
from sim.workload import batches as batches_module
from sim.workload.arrivals import arrival_blocks
from tests.unit.workload.manifests import KINDS, manifest_of, many_streams, rows_of
from tests.unit.workload.test_arrivals import AT, PRINCIPAL, STREAM, TOKENS, naive_gap, naive_words
from tollgate.core.errors import ConfigError

S = 10**9
LEVEL = 0.001

TEXT = """\
schema: capacity-manifest/v1
name: one
version: 1.0.0
seed: 77
profile: {profile_version: o, workspace: {}, providers: {v: {}}, principals: {p: {}, q: {}}}
phases: PHASES
streams:
- {name: s, principal: p, COUNT arrivals: ARRIVALS, work: {tokens: 5}, providers: {v: 1}}
- {name: other, principal: q, arrivals: {kind: poisson, per_second: 1}, work: {tokens: 5}, providers: {v: 1}}
providers: [{id: v, service_ms: {kind: exponential, mean: 5}}]
"""


def one(arrivals, *, count=None, phases="[{name: all, seconds: 100}]"):
    """Return a manifest whose first stream has these arrivals."""
    text = TEXT.replace("ARRIVALS", arrivals).replace("PHASES", phases)
    return manifest_of(text.replace("COUNT", f"count: {count}," if count else ""))


def instants(manifest, **options):
    return [row[AT] for row in rows_of(manifest, **options) if row[STREAM] == 0]


def counts(instants_ns, edges_s):
    found, _ = np.histogram(instants_ns, bins=[edge * S for edge in edges_s])
    return found


# --- what holds for every kind


@pytest.mark.parametrize("kind", KINDS)
def test_arrivals_are_in_order_and_inside_the_run(kind):
    found = instants(one(KINDS[kind]))
    assert len(found) > 1000
    assert found == sorted(found)
    assert found[0] >= 0
    assert found[-1] < 100 * S


@pytest.mark.parametrize("kind", KINDS)
def test_how_much_is_drawn_at_a_time_changes_nothing(kind, monkeypatch):
    manifest = one(KINDS[kind], count=3)
    before = rows_of(manifest)
    monkeypatch.setattr(arrivals_module, "BLOCK_ROWS", 50)
    monkeypatch.setattr(arrivals_module, "PIECE_ROWS_MIN", 3)
    monkeypatch.setattr(batches_module, "BLOCK_ROWS", 7)
    assert rows_of(manifest) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_gives_the_beginning_of_the_whole(kind):
    manifest = one(KINDS[kind])
    assert rows_of(with_overrides(manifest, window_s=33)) == [row for row in rows_of(manifest) if row[AT] < 33 * S]


@pytest.mark.parametrize("kind", KINDS)
def test_other_streams_are_left_alone_and_replications_differ(kind):
    manifest = one(KINDS[kind])
    others = [row[AT] for row in rows_of(manifest) if row[STREAM] == 1]
    assert others == [row[AT] for row in rows_of(one(KINDS["poisson"])) if row[STREAM] == 1]
    assert instants(manifest, replication=1) != instants(manifest)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rate_multiplier_of_one_changes_nothing_and_of_zero_silences_a_phase(kind):
    phases = "[{name: a, seconds: 40}, {name: b, seconds: 20, rate_multiplier: {s: FACTOR}}, {name: c, seconds: 40}]"
    assert instants(one(KINDS[kind], phases=phases.replace("FACTOR", "1"))) == instants(one(KINDS[kind]))
    silent = instants(one(KINDS[kind], phases=phases.replace("FACTOR", "0")))
    late = 3 if kind == "spread" else 0  # a batch of the phase before may have members in it
    assert [at for at in silent if (40 + late) * S <= at < 60 * S] == []
    # What comes after the silence is what would have come in its place: only the clock has stood still.
    assert [at for at in silent if at < 40 * S] == [at for at in instants(one(KINDS[kind])) if at < 40 * S]


@pytest.mark.parametrize("kind", ["poisson", "gamma", "weibull", "batch"])
def test_a_multiplier_is_a_change_of_the_clock_that_gaps_are_measured_on(kind):
    phases = "[{name: a, seconds: 40}, {name: b, seconds: 10, rate_multiplier: {s: 4}}, {name: c, seconds: 20}]"
    plain, changed = instants(one(KINDS[kind])), instants(one(KINDS[kind], phases=phases))

    def clock(at_ns):
        """Return when something comes that would have come at ``at_ns`` at the plain rate."""
        return at_ns if at_ns < 40 * S else 40 * S + (at_ns - 40 * S) / 4 if at_ns < 80 * S else at_ns - 30 * S

    assert len(changed) > 1000
    assert all(abs(at - clock(was)) <= 1 for at, was in zip(changed, plain, strict=False))


@pytest.mark.parametrize("kind", ["poisson", "nhpp", "nhpp step", "mmpp", "gamma", "batch"])
def test_a_count_of_principals_shares_one_process_of_the_summed_rate(kind):
    manifest = one(KINDS[kind], count=4)
    rows = [row for row in rows_of(manifest) if row[STREAM] == 0]
    assert len(rows) > 3 * len(instants(one(KINDS[kind])))
    asked = [row[PRINCIPAL] for row in rows]
    batches = len({row[AT] for row in rows}) if kind == "batch" else len(rows)
    for principal in manifest.streams[0].principals:
        assert abs(asked.count(principal) / len(rows) - 1 / 4) < 5 * sqrt(3 / 16 / batches)


# --- rate curves


def integral(curve, low, high):
    """Integral of a straight curve by the trapezium rule on a fine grid of its own (seconds)."""
    grid = np.linspace(low, high, 20_001)
    seconds, rates = zip(*curve, strict=True)
    return float(np.trapezoid(np.interp(grid, seconds, rates), grid))


@pytest.mark.parametrize("factor", [1, 3])
def test_counts_of_a_curve_are_poisson_with_its_integrals(factor):
    curve = [(0, 0), (30, 40), (60, 10), (61, 10), (1000, 35.5)]
    phases = f"[{{name: all, seconds: 900, rate_multiplier: {{s: {factor}}}}}]"
    found = counts(instants(one(KINDS["nhpp"], phases=phases)), range(0, 901, 9))
    expected = np.array([factor * integral(curve, low, low + 9) for low in range(0, 900, 9)])
    statistic = float(((found - expected) ** 2 / expected).sum())
    assert stats.chi2.sf(statistic, len(expected)) > LEVEL
    assert stats.chi2.cdf(statistic, len(expected)) > LEVEL  # nor are they too regular


def test_counts_of_a_stepped_curve_follow_its_steps():
    phases = "[{name: all, seconds: 100}]"
    found = counts(instants(one(KINDS["nhpp step"], phases=phases)), [0, 30, 60, 100])
    assert found[0] == 0
    for count, mean in zip(found[1:], (30 * 40, 40 * 10), strict=True):
        assert abs(count - mean) < 4 * sqrt(mean)


def test_instants_of_a_curve_are_those_at_which_its_integral_is_the_sum_of_gaps():
    # From 0 to 40 a second in 30 s: the integral is t^2 * 40 / 60 s, so t = sqrt(sum * 1.5) s.
    words = naive_words(77, "s/arrivals")
    total = Fraction(0)
    for at in instants(one(KINDS["nhpp"])):
        total += naive_gap(next(words))
        if at >= 30 * S:
            break
        exact = total * Fraction(3, 2)
        assert Fraction(at, S) ** 2 <= exact < Fraction(at + 1, S) ** 2 or abs(at - sqrt(exact) * S) <= 1


def test_a_curve_through_equal_rates_is_a_constant_rate():
    curve = "{kind: nhpp, curve: [[0, 20], [13.7, 20], [50, 20], [100, 20]]}"
    assert instants(one(curve)) == instants(one(KINDS["poisson"]))


# --- modulated processes


def test_the_chain_of_states_is_that_of_a_naive_walk():
    manifest = one(KINDS["mmpp of three"])
    process = manifest.streams[0].arrivals
    assert isinstance(process, ModulatedPoisson)
    words = naive_words(77, "s/states")
    state, at, expected = 2, 0, []
    while at < 100 * S:
        state_of = process.states[state]
        length = max(1, int(naive_gap(next(words)) * state_of.mean_ns))
        expected.append((state, at, min(at + length, 100 * S)))
        at += length
        word, below = next(words), Fraction(0)
        for state, share in state_of.then:  # noqa: B007 - the last one seen is the one chosen
            below += share
            if word < below * 2**64:
                break
    silent = [(low, high) for state, low, high in expected if state == 0]
    assert len(silent) > 3
    found = instants(manifest)
    assert not any(low <= at < high for at in found for low, high in silent)
    in_state_2 = sum(high - low for state, low, high in expected if state == 2) / S
    count = sum(low <= at < high for at in found for state, low, high in expected if state == 2)
    assert abs(count - 80 * in_state_2) < 4 * sqrt(80 * in_state_2)


def test_the_long_run_rate_and_dispersion_of_a_modulated_process_are_those_of_theory():
    manifest = one(KINDS["mmpp"], phases="[{name: all, seconds: 6000}]")
    found = counts(instants(manifest), range(0, 6001, 30))
    # Shares 0.7 and 0.3 of the time: 19.4 a second. For two states with rates of change a = 1/7 and b = 1/3 the
    # variance of a count over T is the mean plus 2 p q (r2 - r1)^2 (T / s - (1 - exp(-s T)) / s^2), where s = a + b and
    # p, q are the shares of time.
    mean, speed = (0.7 * 2 + 0.3 * 60) * 30, 1 / 7 + 1 / 3
    variance = mean + 2 * 0.7 * 0.3 * 58**2 * (30 / speed - (1 - np.exp(-speed * 30)) / speed**2)
    assert abs(found.mean() - mean) < 4 * sqrt(variance / 200)
    assert stats.chi2.sf(199 * found.var(ddof=1) / variance, 199) > LEVEL
    assert stats.chi2.cdf(199 * found.var(ddof=1) / variance, 199) > LEVEL


def test_a_state_that_is_never_left_lasts():
    found = instants(one("{kind: mmpp, per_second: [10, 0], generator: [[-1, 1], [0, 0]]}"))
    assert len(found) < 100
    assert found[-1] < 15 * S


def test_a_generator_of_two_states_says_the_same_as_their_mean_lengths():
    same = "{kind: mmpp, per_second: [2, 60], generator: [[-0.25, 0.25], [0.5, -0.5]]}"
    assert instants(one(same)) == instants(one("{kind: mmpp, per_second: [2, 60], mean_seconds: [4, 2]}"))


# --- renewal processes


@pytest.mark.parametrize(("kind", "cv"), [("gamma", 0.5), ("weibull", 2)])
def test_gaps_of_a_renewal_process_have_its_mean_law_and_cv(kind, cv):
    found = np.array(instants(one(KINDS[kind], phases="[{name: all, seconds: 2000}]")))
    gaps = np.diff(found, prepend=0) / S
    count = len(gaps)
    assert abs(gaps.mean() - 0.05) < 4 * 0.05 * cv / sqrt(count)
    fourth = ((gaps - 0.05) ** 4).mean()
    assert abs(((gaps - 0.05) ** 2).mean() - (0.05 * cv) ** 2) < 4 * sqrt((fourth - (0.05 * cv) ** 4) / count)
    correlation = np.corrcoef(gaps[1:], gaps[:-1])[0, 1]
    assert abs(correlation) < 4 / sqrt(count)
    if kind == "gamma":
        assert stats.kstest(gaps, stats.gamma(4, scale=0.05 / 4).cdf).pvalue > LEVEL


def test_a_renewal_process_of_cv_1_has_exponential_gaps():
    for law in ("gamma", "weibull"):
        found = instants(one(f"{{kind: renewal, per_second: 20, gaps: {law}, cv: 1}}"))
        gaps = np.diff(found, prepend=0) / S
        assert stats.kstest(gaps, stats.expon(scale=0.05).cdf).pvalue > LEVEL


# --- batches


def test_the_dispersion_of_batches_is_that_of_a_compound_poisson_process():
    manifest = one(KINDS["batch"], phases="[{name: all, seconds: 2000}]")
    found = counts(instants(manifest), range(2001))
    # Sizes 0 to 9: mean 4.5, mean square 28.5. Mean 18 a second, and variance 4 * 28.5: an index of dispersion of 6.33.
    assert abs(found.mean() - 18) < 4 * sqrt(114 / 2000)
    fourth = ((found - 18.0) ** 4).mean()
    assert abs(((found - 18.0) ** 2).mean() - 114) < 4 * sqrt((fourth - 114**2) / 2000)


def test_a_batch_comes_at_once_and_belongs_to_one_principal():
    rows = [row for row in rows_of(one(KINDS["batch"], count=50)) if row[STREAM] == 0]
    by_instant = {}
    for row in rows:
        by_instant.setdefault(row[AT], []).append(row)
    sizes = [len(batch) for batch in by_instant.values()]
    assert max(sizes) == 9
    assert all(len({row[PRINCIPAL] for row in batch}) == 1 for batch in by_instant.values())


def test_members_that_are_spread_come_alike_in_the_time_after_their_batch():
    spread = one("{kind: batch, per_second: 0.1, size: 40, within_ms: 3000}", phases="[{name: all, seconds: 900}]")
    together = one("{kind: batch, per_second: 0.1, size: 40}", phases="[{name: all, seconds: 900}]")
    begun = sorted(set(instants(together)))
    alone = [
        at
        for before, at, after in zip([-9 * S, *begun], begun, [*begun[1:], 10**15], strict=False)
        if at - before > 3 * S and after - at > 3 * S and at < 896 * S
    ]
    found = np.array(instants(spread))
    offsets = np.concatenate([found[(found >= at) & (found <= at + 3 * S)] - at for at in alone])
    assert len(offsets) == 40 * len(alone) > 1000
    assert stats.kstest(offsets, stats.uniform(0, 3 * S).cdf).pvalue > LEVEL


def test_a_batch_of_any_size_is_cut_at_what_is_kept_together(monkeypatch):
    monkeypatch.setattr(batches_module, "SIZE_MAX", 3)
    found = instants(one("{kind: batch, per_second: 1, size: 9007199254740991}"))
    assert {found.count(at) for at in found} == {3}


# --- memory and independence


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_of_bounded_size(kind):
    phases = "[{name: all, seconds: 1000}]"
    sizes = [len(block) for block in arrival_blocks(one(KINDS[kind], count=5, phases=phases))]
    assert sum(sizes) > 40_000
    assert max(sizes) <= 3 * arrivals_module.BLOCK_ROWS


def stream_digests(kinds):
    """Return the digest of each stream's rows, by its name, whatever else is there."""
    manifest = manifest_of(many_streams(kinds))
    digests = {name: hashlib.sha256() for name in kinds}
    for row in rows_of(manifest):
        digests[manifest.streams[row[STREAM]].name].update(repr((row[AT], *row[TOKENS:])).encode())
    return {name: digest.hexdigest() for name, digest in digests.items()}


def test_adding_a_stream_or_changing_another_shifts_nothing_by_digest():
    alone = {name: stream_digests({name: arrivals})[name] for name, arrivals in KINDS.items()}
    assert stream_digests(KINDS) == alone
    changed = KINDS | {"poisson": KINDS["batch"]}
    after = stream_digests(dict(reversed(changed.items())))
    assert {name for name in KINDS if after[name] != alone[name]} == {"poisson"}


# --- bad input

BAD = {
    "{kind: nhpp, curve: [[0, 1]]}": "curve: got a list; allowed: at least 2 of them",
    "{kind: nhpp, curve: 5}": "curve: got 5; allowed: a list",
    "{kind: nhpp}": "curve: got nothing",
    "{kind: nhpp, curve: [[0, 1], [99, 1]]}": (
        "curve: got a last point at 99 s; allowed: a curve that reaches the end of the phases at 100 s"
    ),
    "{kind: nhpp, curve: [[1, 1], [100, 1]]}": "curve[0][0]: got 1; allowed: 0: the first point is at the start",
    "{kind: nhpp, curve: [[0, 1], [50, 1], [50, 1], [100, 1]]}": "curve[2][0]: got 50; allowed: above 50, that of the",
    "{kind: nhpp, curve: [[0, 1], [100, -1]]}": "curve[1][1]: got -1; allowed: a decimal number from 0 to 10^9",
    "{kind: nhpp, curve: [[0, 1], [100, .nan]]}": "curve[1][1]: got '.nan'",
    "{kind: nhpp, curve: [[0, 1], [100, 1, 1]]}": "curve[1]: got a list; allowed: a list of two",
    "{kind: nhpp, curve: [[0, 0], [100, 0]]}": "curve: got a rate of 0 throughout; allowed: a rate above 0 somewhere",
    "{kind: nhpp, curve: [[0, 0], [100, 7]], between: step}": "curve: got a rate of 0 throughout",
    "{kind: nhpp, curve: [[0, 1], [100, 1]], between: steps}": "between: got 'steps'; allowed: one of linear, step",
    "{kind: nhpp, curve: [[0, 1], [1e400, 1]]}": "1e400",
    "{kind: bursty-poisson, per_second: 1, multiplier: 2, burst_seconds: 0.0000001, every_seconds: 0.000001}": (
        "every_seconds: got 0.000001; allowed: a number of seconds from 0.001 to a year"
    ),
    "{kind: mmpp, per_second: [1, 2]}": "mean_seconds: got nothing; allowed: mean_seconds, or a generator",
    "{kind: mmpp, per_second: [1], mean_seconds: [1]}": "per_second: got a list; allowed: at least 2 of them",
    "{kind: mmpp, per_second: [1, -2], mean_seconds: [1, 1]}": "per_second[1]: got -2",
    "{kind: mmpp, per_second: [0, 0], mean_seconds: [1, 1]}": "per_second: got a rate of 0 in every state",
    "{kind: mmpp, per_second: [1, 2], mean_seconds: [1]}": "mean_seconds: got 1 lengths; allowed: 2, as many as",
    "{kind: mmpp, per_second: [1, 2], mean_seconds: [1, 0]}": "mean_seconds[1]: got 0",
    "{kind: mmpp, per_second: [1, 2], mean_seconds: [1, 0.0001]}": "mean_seconds[1]: got a mean length of 100000 ns",
    "{kind: mmpp, per_second: [1, 2], mean_seconds: [1, 1], initial: 2}": "initial: got 2; allowed: a state from 0",
    "{kind: mmpp, per_second: [1, 2], mean_seconds: [1, 1], initial: -1}": "initial: got -1",
    "{kind: mmpp, per_second: [1, 2], mean_seconds: [1, 1], generator: [[-1, 1], [1, -1]]}": "generator: got a second",
    "{kind: mmpp, per_second: [1, 2], generator: [[-1, 1]]}": "generator: got 1 rows; allowed: 2",
    "{kind: mmpp, per_second: [1, 2], generator: [[-1, 1], [1]]}": "generator[1]: got 1 rates; allowed: 2",
    "{kind: mmpp, per_second: [1, 2], generator: [[-1, 1], [1, -2]]}": "generator[1]: got a sum of -1; allowed: a sum",
    "{kind: mmpp, per_second: [1, 2], generator: [[1, -1], [1, -1]]}": "generator[0][1]: got -1; allowed: 0 or more",
    "{kind: mmpp, per_second: [1, 2], generator: [[-9999, 9999], [1, -1]]}": "generator[0]: got a mean length of 10001",
    "{kind: mmpp, per_second: [1, 2], generator: [[a, 1], [1, -1]]}": "generator[0][0]: got 'a'",
    "{kind: renewal, per_second: 5, gaps: gamma}": "cv: got nothing",
    "{kind: renewal, per_second: 5, gaps: gamma, cv: 0}": "cv: got 0; allowed: a decimal number from 0.01 to 10",
    "{kind: renewal, per_second: 0, gaps: gamma, cv: 1}": "per_second: got 0",
    "{kind: renewal, per_second: 5, gaps: pareto, cv: 1}": "gaps: got 'pareto'; allowed: one of gamma, weibull",
    "{kind: renewal, per_second: 5, gap: gamma, cv: 1}": 'did you mean "gaps"?',
    "{kind: batch, per_second: 5}": "size: got nothing",
    "{kind: batch, per_second: 5, size: -1}": "size: got -1",
    "{kind: batch, per_second: 5, size: {kind: gamma, mean: 0, cv: 1}}": "size.mean: got 0",
    "{kind: batch, per_second: 5, size: 3, within_ms: -1}": "within_ms: got -1",
    "{kind: batch, per_second: 5, size: 3, within_seconds: 1}": 'did you mean "within_ms"?',
    "{kind: batch, per_second: true, size: 3}": "per_second: got true",
}


@pytest.mark.parametrize("arrivals", BAD)
def test_bad_arrivals_are_refused_by_their_key(arrivals):
    with pytest.raises(ConfigError) as caught:
        one(arrivals)
    message = str(caught.value)
    assert message.startswith("two.yaml: ")
    assert "1e400" in arrivals or "streams[0].arrivals." in message
    assert BAD[arrivals] in message


def test_a_curve_may_end_beyond_the_phases_whatever_the_window():
    manifest = one(KINDS["nhpp"])
    curve = manifest.streams[0].arrivals
    assert isinstance(curve, RateCurve)
    assert [second - first > 0 for (first, _), (second, _) in pairwise(curve.points)] == [True] * 4
    with pytest.raises(ConfigError, match="a last point at 50 s"):
        with_overrides(manifest, [("streams.s.arrivals.curve", "[[0, 1], [50, 1]]")], window_s=20)
