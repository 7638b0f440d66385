"""Every bad manifest gets one complaint that names file, key path, the value and what is allowed."""

from __future__ import annotations

import pytest

from sim.manifest import load
from tests.unit.manifest.texts import SMALL, changed, read
from tollgate.core.errors import ConfigError


def refusal(text, name="small.yaml"):
    with pytest.raises(ConfigError) as caught:
        read(text, name)
    message = str(caught.value)
    assert message.startswith(f"{name}: ")
    assert "\n" not in message
    return message


PRIMARY = "{primary: {concurrency: 6, circuit_breaker: {failure_threshold: 5, open_ms: 1000, half_open_max_calls: 1}}}"
PRINCIPALS = "{noisy: {concurrency: 8}, quiet: {concurrency: 2, reserved_concurrency: 1}}"
WORLD = SMALL[SMALL.index("providers:\n- {id") : SMALL.index("gates:")]
PHASES = SMALL[SMALL.index("phases:") : SMALL.index("streams:")]

CASES = {
    "unknown key": (("seed: 7", "sed: 7"), ["sed: got the unknown key 'sed'", 'did you mean "seed"?']),
    "unknown limit": (("concurrency: 8,", "concurency: 8,"), ["profile.workspace.concurency", '"concurrency"']),
    "limit of another scope": (
        ("noisy: {conc", "noisy: {max_principal_share: 1, conc"),
        ["profile.principals.noisy.max_"],
    ),
    "unknown key in a list": (("retry: {kind", "retri: {kind"), ["streams[0].client.retri", '"retry"']),
    "text for an integer": (("seed: 7", 'seed: "7"'), ["seed: got '7'; allowed: an integer"]),
    "decimal for an integer": (("seed: 7", "seed: 7.0"), ["seed: got 7.0; allowed: an integer"]),
    "true for an integer": (("seed: 7", "seed: true"), ["seed: got true; allowed: an integer"]),
    "null for an integer": (("seed: 7", "seed:"), ["seed: got null; allowed: an integer"]),
    "number for a text": (("version: 1.0.0", "version: 1.0"), ["version: got 1.0", "quotes"]),
    "text for a list": ((PHASES, "phases: none\n"), ["phases: got 'none'; allowed: a list"]),
    "list for a mapping": (("{tokens: 200}", "[200]"), ["streams[1].work: got a list; allowed: a mapping"]),
    "negative seed": (("seed: 7", "seed: -7"), ["seed: got -7; allowed: an integer of at least 0"]),
    "negative rate": (("per_second: 12", "per_second: -12"), ["arrivals.per_second: got -12", "above 0"]),
    "zero rate": (("per_second: 12", "per_second: 0"), ["arrivals.per_second: got 0", "above 0"]),
    "negative limit": (("concurrency: 8,", "concurrency: -8,"), ["profile.workspace.concurrency: got -8"]),
    "ceiling of zero": (("concurrency: 8,", "concurrency: 0,"), ["profile.workspace.concurrency: got 0", "from 1"]),
    "minus zero": (("seed: 7", "seed: -0"), ["line 4, column 7: got -0; allowed: 0 without a sign"]),
    "minus zero as a text": (("probability: 0.05", 'probability: "-0.0"'), ["failures.probability: got '-0.0'"]),
    "minus zero as a duration": (("base_ms: 250", 'base_ms: "-0"'), ["base_ms: got '-0'"]),
    "NUL in a version of limits": (
        ("profile_version: small-1", 'profile_version: "a\\0b"'),
        ["profile.profile_version: got 'a\\x00b'", "printable"],
    ),
    "NaN": (("per_second: 12", "per_second: .nan"), ["arrivals.per_second: got '.nan'"]),
    "infinity": (("per_second: 12", "per_second: .inf"), ["arrivals.per_second: got '.inf'"]),
    "1e400": (("per_second: 12", "per_second: 1e400"), ["1e400", "1e40"]),
    "share above 1": (('"0.5"', "1.5"), ["profile.workspace.max_principal_share: got 1.5"]),
    "probability above 1": (("probability: 0.05", "probability: 1.05"), ["failures.probability: got 1.05", "0 to 1"]),
    "fraction of a nanosecond": (("seconds: 60", 'seconds: "0.0000000001"'), ["phases[0].seconds", "whole ns"]),
    "duplicate key": (("seed: 7", "seed: 7\nseed: 8"), ["line 5, column 1", "'seed' for the second time"]),
    "alias": (("seed: 7", "seed: &s 7\nwarmup_seconds: *s"), ["the anchor &s"]),
    "reservation above its ceiling": (
        ("reserved_concurrency: 1", "reserved_concurrency: 3"),
        ["reserved_concurrency: got 3"],
    ),
    "reservations above a pool": (("count: 4", "count: 7"), ["profile.providers.primary.concurrency: got 6", "7"]),
    "no principals": ((PRINCIPALS, "{}"), ["profile.principals: got an empty mapping"]),
    "no providers in the profile": ((PRIMARY, "{}"), ["profile.providers: got an empty mapping"]),
    "no providers in the world": ((WORLD, "providers: []\n"), ["providers: got an empty list", "at least 1"]),
    "no phases": ((PHASES, "phases: []\n"), ["phases: got an empty list", "at least 1"]),
    "another schema": (
        ("manifest/v1", "manifest/v3"),
        ["schema: got 'capacity-manifest/v3'", '"capacity-manifest/v1"'],
    ),
    "no schema": (("schema: capacity-manifest/v1\n", ""), ["schema: got nothing"]),
    "no seed": (("seed: 7\n", ""), ["seed: got nothing", "required"]),
    "unknown metric": (("queue.wait.p99", "queue.wait.p98"), ["gates[1].metric", 'did you mean "queue.wait.p99"?']),
    "selector the metric lacks": (
        ("queue.wait.p99", "pause.time"),
        ["gates[1].where.class", "selectors of pause.time"],
    ),
    "unknown selector": (("where: {class", "where: {klass"), ["gates[0].where.klass", 'did you mean "class"?']),
    "unknown class": (("where: {class: quiet}", "where: {class: quit}"), ["gates[0].where.class", '"quiet"']),
    "wrong unit": (("unit: ms", "unit: s"), ["gates[1].unit: got 's'", "ms, the unit of queue.wait.p99"]),
    "hold without a share": (("estimand: path", "estimand: hold"), ["gates[0].min_probability: got nothing"]),
    "path with a share": (
        ("estimand: path}", "estimand: path, min_probability: 0.9}"),
        ["gates[0].min_probability", "hold"],
    ),
    "probe limit of zero": (("half_open_max_calls: 1", "half_open_max_calls: 0"), ["half_open_max_calls: got 0"]),
    "breaker threshold of zero": (("failure_threshold: 5", "failure_threshold: 0"), ["failure_threshold: got 0"]),
    "two streams of one name": (("name: quiet\n", "name: noisy\n"), ["streams[1].name", "streams[0] has it already"]),
    "two gates of one id": (("id: quiet-wait", "id: quiet-admitted"), ["gates[1].id", "gates[0] has it already"]),
    "two providers of one id": (("gates:", "- {id: primary, service_ms: 1}\ngates:"), ["providers[1].id"]),
    "two phases of one name": (("name: spike", "name: load"), ["phases[1].name"]),
    "unknown principal": (("principal: noisy", "principal: nosy"), ["streams[0].principal: got 'nosy'", '"noisy"']),
    "unknown provider": (("providers: {primary: 1}", "providers: {primry: 1}"), ["streams[0].providers", '"primary"']),
    "provider without limits": (("{id: primary", "{id: secondary"), ["providers[0].id: got 'secondary'"]),
    "unknown stream in a phase": (("{noisy: 4}", "{nosy: 4}"), ["phases[1].rate_multiplier.nosy", '"noisy"']),
    "one principal in two classes": (
        ("count: 4\n  principal: quiet", "class: b\n  principal: noisy"),
        ["streams[1].class: got 'b'", "'noisy'"],
    ),
    "mixture below one": (("[0.98, 200]", "[0.97, 200]"), ["tokens.of", "sum to exactly 1", "99/100"]),
    "mixture by a rounding": (("[0.98, 200]", "[0.9799999999999999999, 200]"), ["sum to exactly 1"]),
    "mixture part of three": (("[0.98, 200]", "[0.98, 200, 1]"), ["tokens.of[0]", "a list of two"]),
    "upper end below the lower": (
        ("min: 40, max: 160", "min: 40, max: 16"),
        ["service_ms.max: got 16", "at least min"],
    ),
    "cap below the base": (("cap_ms: 5000", "cap_ms: 50"), ["retry.cap_ms: got 50", "at least base_ms"]),
    "too many attempts": (("max_attempts: 2", "max_attempts: 63"), ["max_attempts: got 63", "at most 62"]),
    "a base of no jitter": (("kind: exponential", "kind: decorrelated"), ["the unknown key 'jitter'", "max_attempts"]),
    "an unknown jitter": (("jitter: full", "jitter: half"), ["retry.jitter: got 'half'", "one of none, full, equal"]),
    "a cap below a decorrelated base": (
        ("kind: exponential, base_ms: 250, cap_ms: 5000, jitter: full", "kind: decorrelated, base_ms: 9, cap_ms: 8"),
        ["retry.cap_ms: got 8", "at least base_ms"],
    ),
    "a budget of no kind": (("max_attempts: 2", "max_attempts: 2, budget: {}"), ["retry.budget.kind: got nothing"]),
    "a budget that never pays": (
        ("max_attempts: 2", "max_attempts: 2, budget: {kind: ratio, ratio: 0, min_retries_per_second: 0}"),
        ["retry.budget.min_retries_per_second: got 0", "nobody could ever retry"],
    ),
    "a budget of nothing": (
        ("max_attempts: 2", "max_attempts: 2, budget: {kind: ratio, ratio: 0}"),
        ["retry.budget.min_retries_per_second: got nothing", "required"],
    ),
    "a budget below nothing": (
        ("max_attempts: 2", "max_attempts: 2, budget: {kind: ratio, ratio: -1, min_retries_per_second: 1}"),
        ["retry.budget.ratio: got -1", "from 0"],
    ),
    "a budget that forgets at once": (
        (
            "max_attempts: 2",
            "max_attempts: 2, budget: {kind: ratio, ratio: 1, min_retries_per_second: 1, ttl_seconds: 0}",
        ),
        ["retry.budget.ttl_seconds: got 0", "above 0"],
    ),
    "a budget of somebody": (
        ("max_attempts: 2", "max_attempts: 2, budget: {kind: ratio, ratio: 1, min_retries_per_second: 1, per: caller}"),
        ["retry.budget.per: got 'caller'", "one of stream, principal"],
    ),
    "too many tokens": (
        ("max_attempts: 2", "max_attempts: 2, budget: {kind: tokens, max_tokens: 1001, token_ratio: 1}"),
        ["retry.budget.max_tokens: got 1001", "at most 1000"],
    ),
    "tokens that never come back": (
        ("max_attempts: 2", "max_attempts: 2, budget: {kind: tokens, max_tokens: 10, token_ratio: 0}"),
        ["retry.budget.token_ratio: got 0", "above 0"],
    ),
    "a cap on waits that are ignored": (
        ("client: {", "client: {retry_after: ignore, retry_after_cap_ms: 5, "),
        ["client.retry_after_cap_ms: got 5", "retry_after is ignore"],
    ),
    "a herd without an outage": (
        ("client: {", "client: {herd: {outage: none}, "),
        ["streams[0].client.herd.outage: got 'none'", "this manifest has none to come back from"],
    ),
    "a herd of another outage": (
        ("client: {", "client: {herd: {outage: sundey}, "),
        ["streams[0].client.herd.outage: got 'sundey'", '"sunday"'],
        ("id: primary, ", "id: primary, outages: [{kind: stall, name: sunday, from_seconds: 3, for_seconds: 4}], "),
    ),
    "a herd that says nothing": (("client: {", "client: {herd: {}, "), ["client.herd.outage: got nothing", "required"]),
    "a herd of those who never retry": (
        ("work: {tokens: 200}", "work: {tokens: 200}\n  client: {herd: {outage: x}}"),
        ["streams[1].client.herd", "retry or layers"],
    ),
    "a herd before the end": (
        ("client: {", "client: {herd: {outage: x, within_ms: -1}, "),
        ["client.herd.within_ms: got -1"],
    ),
    "a call left by nobody": (
        ("client: {", "client: {abandon: provider-continues, "),
        ["client.abandon: got 'provider-continues'", "timeout_ms"],
    ),
    "a permit freed twice": (
        ("client: {", "client: {timeout_ms: 5, abandoned_permit: freed, "),
        ["client.abandoned_permit: got 'freed'", "abandon is provider-continues"],
    ),
    "a call left in a third way": (
        ("client: {", "client: {timeout_ms: 5, abandon: provider-sleeps, "),
        ["client.abandon: got 'provider-sleeps'", "one of provider-stops, provider-continues"],
    ),
    "a retry and layers": (
        ("client: {", "client: {layers: [{name: a, kind: fixed, base_ms: 1, max_attempts: 2}], "),
        ["client.layers", "absent where retry is given"],
    ),
    "a layer without a name": (
        (
            "work: {tokens: 200}",
            "work: {tokens: 200}\n  client: {layers: [{kind: fixed, base_ms: 1, max_attempts: 2}]}",
        ),
        ["streams[1].client.layers", "a name of their own"],
    ),
    "layers beyond all attempts": (
        (
            "work: {tokens: 200}",
            (
                "work: {tokens: 200}\n  client: {layers: [{name: a, kind: fixed, base_ms: 1, max_attempts: 8}, "
                "{name: b, kind: fixed, base_ms: 1, max_attempts: 8}]}"
            ),
        ),
        ["streams[1].client.layers", "at most 62 attempts", "these make 64"],
    ),
    "a layer that never retries": (
        ("work: {tokens: 200}", "work: {tokens: 200}\n  client: {layers: [{name: a, kind: none}]}"),
        ["streams[1].client.layers[0].kind: got 'none'", "one of fixed, exponential, decorrelated"],
    ),
    "a loop of nobody": (
        ("{kind: poisson, per_second: 12}", "{kind: closed, population: 0, think_ms: 5}"),
        ["streams[0].arrivals.population: got 0", "at least 1"],
    ),
    "a loop of too many": (
        ("{kind: poisson, per_second: 12}", "{kind: closed, population: 100001, think_ms: 5}"),
        ["streams[0].arrivals.population: got 100001", "at most 100000"],
    ),
    "a loop without a thought": (
        ("{kind: poisson, per_second: 12}", "{kind: closed, population: 3, think_ms: 0}"),
        ["streams[0].arrivals.think_ms: got 0", "above 0"],
    ),
    "a loop that does not say how long": (
        ("{kind: poisson, per_second: 12}", "{kind: closed, population: 3}"),
        ["streams[0].arrivals.think_ms: got nothing"],
    ),
    "a loop with a rate": (
        ("{kind: poisson, per_second: 12}", "{kind: closed, population: 3, think_ms: 5, per_second: 1}"),
        ["the unknown key 'per_second'"],
    ),
    "retry on refusal without a retry": (
        ("work: {tokens: 200}", "work: {tokens: 200}\n  client: {on_refusal: retry}"),
        ["streams[1].client.on_refusal"],
    ),
    "no work": (("  work: {tokens: 200}\n", ""), ["streams[1].work: got nothing"]),
    "a kind that is misspelt": (("kind: poisson", "kind: poison"), ["arrivals.kind: got 'poison'", '"poisson"']),
    "no kind": (("kind: poisson, ", ""), ["streams[0].arrivals.kind: got nothing; allowed: a kind"]),
    "warm-up as long as the run": (("seed: 7", "seed: 7\nwarmup_seconds: 70"), ["warmup_seconds: got 70", "70 s"]),
    "a name that cannot be printed": (("name: small", 'name: "a\\tb"'), ["name: got 'a\\tb'", "printable"]),
    "a key that cannot be printed": (("{noisy: 4}", '{"a\\tb": 4}'), ["rate_multiplier", "got 'a\\tb'", "printable"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_manifest_is_refused_in_one_sentence(case):
    replacement, pieces, *more = CASES[case]
    message = refusal(changed(replacement, *more))
    for piece in pieces:
        assert piece in message


LATER = {
    "target kind fleet": ("seed: 7", "seed: 7\ntarget: {kind: fleet}"),
    "mode staged-provider": ("seed: 7", "seed: 7\nmode: staged-provider"),
}


@pytest.mark.parametrize("what", LATER)
def test_what_is_not_there_yet_is_refused_by_its_name(what):
    assert f"{what} is not available in this version" in refusal(changed(LATER[what]))


def test_a_kind_to_come_names_the_available_ones():
    message = refusal(changed(("seed: 7", "seed: 7\ntarget: {kind: fleet}")))
    assert message.endswith("available: admission-controller")


def test_faults_may_be_empty_and_nothing_else():
    read(SMALL + "faults: []\n")
    assert "not available in this version" in refusal(SMALL + "faults: [{at_seconds: 3}]\n")


def test_the_first_problem_of_the_file_is_named_and_the_others_counted():
    message = refusal(
        changed(("bound: 1500", "bound: many"), ("per_second: 12", "per_second: x"), ("count: 4", "cont: 4"))
    )
    assert "streams[0].arrivals.per_second: got 'x'" in message
    assert message.endswith("2 more problems in this file")


def test_a_long_list_is_refused_for_its_beginning_alone():
    streams = SMALL[SMALL.index("streams:") : SMALL.index("providers:\n- {id")]
    message = refusal(changed((streams, "streams:\n" + "- 1\n" * 50_000)))
    assert "streams[0]: got 1; allowed: a mapping; 999 more problems in this file" in message
    late = refusal(changed((streams, streams + "- 1\n" * 2)))
    assert late.endswith("1 more problem in this file")


def test_a_bad_entry_beyond_the_beginning_of_a_long_list_is_found():
    phases = "phases:\n" + "".join(f"- {{name: p{place}, seconds: 1}}\n" for place in range(1500))
    message = refusal(changed((PHASES, f"{phases}- {{name: late, seconds: -1}}\n")))
    assert "phases[1500].seconds: got -1" in message


def test_a_mapping_of_many_bad_keys_is_searched_once_for_all_of_them():
    class Counted(dict):
        walks = 0

        def __iter__(self):
            Counted.walks += 1
            return super().__iter__()

    from sim.manifest.blocks import Block

    with pytest.raises(ConfigError, match="k0: got the unknown key"):
        Block.read(Counted((f"k{place}", 1) for place in range(100)))
    assert Counted.walks < 10


def test_a_missing_key_stands_at_the_end_of_its_block():
    message = refusal(changed(("seed: 7\n", ""), ("bound: 1500", "bound: many")))
    assert "gates[1].bound: got 'many'" in message
    assert message.endswith("1 more problem in this file")


@pytest.mark.parametrize("text", ["", "\n", "# empty\n"])
def test_an_empty_file_is_refused(text):
    assert "an empty file" in refusal(text)


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words", "3"])
def test_a_document_that_is_no_mapping_is_refused(text):
    assert "a mapping that starts with its schema" in refusal(text)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r": got a folder; allowed: a manifest"):
        load(tmp_path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: got no such file"):
        load(tmp_path / "none.yaml")


def test_a_path_through_a_file_is_refused(tmp_path):
    (tmp_path / "m.yaml").write_text(SMALL)
    with pytest.raises(ConfigError, match="a manifest"):
        load(tmp_path / "m.yaml" / "n.yaml")


TRACE = """\
  arrivals: {{kind: trace, file: {file}, sha256: {sha256}, format: csv, time_column: at, time_unit: ms}}
"""


def with_trace(file="rows.csv", sha256="0" * 64, **more):
    block = TRACE.format(file=file, sha256=sha256)
    for key, value in more.items():
        block = block.replace("}\n", f", {key}: {value}}}\n")
    return changed(("  arrivals: {kind: poisson, per_second: 12}\n", block))


def test_a_trace_that_is_missing_is_refused():
    assert "streams[0].arrivals.file: got no such file: rows.csv" in refusal(with_trace().replace("{noisy: 4}", "{}"))


def test_a_trace_that_is_another_file_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("at\n1\n")
    path = tmp_path / "m.yaml"
    path.write_text(with_trace().replace("{noisy: 4}", "{}"))
    with pytest.raises(ConfigError, match=r"streams\[0\]\.arrivals\.sha256: .*another file has taken its place"):
        load(path)


def test_a_trace_has_no_rate_to_multiply():
    assert "phases[1].rate_multiplier.noisy: got 4" in refusal(with_trace())


def test_a_trace_with_sizes_takes_no_tokens():
    assert "streams[0].work: got a mapping; allowed: a work without tokens" in refusal(with_trace(tokens_columns="[n]"))


def test_a_run_of_more_nanoseconds_than_a_record_can_tell_is_refused_before_it_starts():
    longest = 2**53 // 10**9
    read(changed(("seconds: 60", f"seconds: {longest - 10 - 60}")))  # 10 s of spike, 60 s of drain
    assert refusal(changed(("seconds: 60", f"seconds: {longest - 10 - 59}"))).startswith(
        f"small.yaml: phases: got a run of {longest + 1} s; allowed: at most {longest} s (104 days), drain included"
    )
