"""The manifest's reference page has every key of every block, with what it allows, its default and its meaning."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from sim.manifest import (
    arrival_blocks,
    capacity,
    client_blocks,
    distribution_blocks,
    limits,
    provider_blocks,
    seed_shape,
    traffic,
    work_blocks,
)
from sim.manifest.blocks import Block
from sim.manifest.documents import MAX_BYTES, MAX_DEPTH
from sim.manifest.problems import LATER
from sim.manifest.scalars import plain_decimal
from sim.manifest.seed_bounds import SEED_BOUNDS
from tollgate.decision.limits import FIELDS

MODULES = (
    arrival_blocks,
    capacity,
    client_blocks,
    distribution_blocks,
    limits,
    provider_blocks,
    traffic,
    work_blocks,
)
BLOCKS = {
    "The manifest": capacity.CapacityManifest,
    "`target`": capacity.TargetBlock,
    "`profile`": limits.ProfileBlock,
    "`profile.workspace`, limits of every scope": limits.LimitsBlock,
    "`circuit_breaker`": limits.BreakerBlock,
    "`circuit_breaker.window`": limits.WindowBlock,
    "`profile.scheduling`": limits.SchedulingBlock,
    "`phases[]`": capacity.PhaseBlock,
    "`streams[]`": traffic.StreamBlock,
    "`arrivals`: kind `poisson`": arrival_blocks.PoissonArrivals,
    "`arrivals`: kind `bursty-poisson`": arrival_blocks.BurstyPoissonArrivals,
    "`arrivals`: kind `nhpp`": arrival_blocks.CurveArrivals,
    "`arrivals`: kind `mmpp`": arrival_blocks.ModulatedArrivals,
    "`arrivals`: kind `renewal`": arrival_blocks.RenewalArrivals,
    "`arrivals`: kind `batch`": arrival_blocks.BatchArrivals,
    "`arrivals`: kind `trace`": traffic.TraceArrivals,
    "`arrivals`: kind `closed`": arrival_blocks.ClosedArrivals,
    "`work`": work_blocks.Work,
    "`output_estimate`: kind `max-tokens`": work_blocks.MaxTokensEstimate,
    "`output_estimate`: kind `factor`": work_blocks.FactorEstimate,
    "`output_estimate`: kind `drawn`": work_blocks.DrawnEstimate,
    **{
        f"{noun.title()}s: kind `{kind}`": getattr(distribution_blocks, f"{law}{noun.title()}")
        for noun in ("amount", "length")
        for kind, law in {
            "constant": "Constant",
            "uniform": "Uniform",
            "exponential": "Exponential",
            "lognormal": "Lognormal",
            "gamma": "Gamma",
            "bounded-pareto": "BoundedPareto",
            "mixture": "Mixture",
        }.items()
    },
    "Kind `empirical`": distribution_blocks.EmpiricalBlock,
    "`client`": client_blocks.ClientBlock,
    "`retry`: kind `fixed`": client_blocks.FixedRetry,
    "`retry`: kind `exponential`": client_blocks.ExponentialRetry,
    "`retry`: kind `decorrelated`": client_blocks.DecorrelatedRetry,
    "`budget`: kind `ratio`": client_blocks.RatioBudget,
    "`budget`: kind `tokens`": client_blocks.TokenBudget,
    "`herd`": client_blocks.HerdBlock,
    "`cancellation`": client_blocks.Cancellation,
    "`providers[]`": provider_blocks.ProviderBlock,
    "`service`: kind `tokens`": provider_blocks.TokenServiceBlock,
    "`slowdown`": provider_blocks.SlowdownBlock,
    "`rate_limit`": provider_blocks.RateLimitBlock,
    "`failures`: kind `independent`": provider_blocks.IndependentFailures,
    "`failures`: kind `bursty`": provider_blocks.BurstyFailures,
    "`outages[]`: kind `error`": provider_blocks.ErrorOutage,
    "`outages[]`: kind `stall`": provider_blocks.StallOutage,
    "`outages[]`: kind `slow`": provider_blocks.SlowOutage,
    "`outages[]`: kind `throttle`": provider_blocks.ThrottleOutage,
    "`replications`": capacity.ReplicationsBlock,
    "`gates[]`": capacity.GateBlock,
    "`provenance[]`": capacity.ProvenanceBlock,
    "The file of assumptions": seed_shape.Assumptions,
    "`principals[]` of the assumptions": seed_shape.AssumedPrincipal,
    "`tokens` of the assumptions": seed_shape.AssumedTokens,
    "`service_ms` of the assumptions": seed_shape.AssumedService,
    "`retries` of the assumptions": seed_shape.AssumedRetries,
    "`cancellation` of the assumptions": seed_shape.AssumedCancellation,
}
SECONDS = {"drain_seconds", "warmup_seconds", "first_seconds", "ttl_seconds"}
LIMITS = {entry.key: entry.allowed for entry in FIELDS}


def bounds(schema):
    low, above = schema.get("minimum", -1), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    found = []
    if above is not None:
        found.append(f"above {above}")
    if low >= 0:
        found.append(f"at least {low}")
    if high is not None:
        found.append("at most 2^53-1" if high == 2**53 - 1 else f"at most {high}")
    if below is not None:
        found.append(f"below {below}")
    return ", ".join(found)


def allowed(key, schema):
    """Say what a key's JSON Schema allows."""
    if "anyOf" in schema:
        choices = [choice for choice in schema["anyOf"] if choice.get("type") != "null"]
        return " or ".join(dict.fromkeys(allowed(key, choice) for choice in choices))
    if "oneOf" in schema:
        kinds = [choice for choice in schema["oneOf"] if "$ref" not in choice]
        return " or ".join([*(allowed(key, choice) for choice in kinds), "block with a `kind`"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "$ref" in schema or "allOf" in schema:
        return "block"
    kind = schema.get("type", "number")
    if kind == "array":
        return "empty list" if schema.get("maxItems") == 0 else "list"
    if kind == "object":
        return "mapping"
    if kind == "boolean":
        return "`true`, `false`"
    if kind == "integer":
        return f"integer {bounds(schema)}".strip()
    if kind == "string":
        return "64 hex digits" if "pattern" in schema else "text"
    if "boolean" in kind:
        return "text or number"
    return f"number {bounds(schema)}".strip()


def default(key, field):
    value = field.default
    if field.is_required():
        return "required"
    if value is None or value in ([], {}):
        return "none"
    if key in SECONDS:
        return plain_decimal(Fraction(value, 10**9))
    if isinstance(value, bool):
        return f"`{value}`".lower()
    if isinstance(value, Fraction):
        return plain_decimal(value)
    if isinstance(value, float):
        return plain_decimal(Fraction(Decimal(repr(value))))
    if isinstance(value, (str, int)):
        return f"`{value}`" if isinstance(value, str) else f"{value}"
    block = value.entries()
    if any(isinstance(entry, Block) or entry is None for entry in block.values()):
        return "as below"
    entries = (f"{name}: {str(entry).lower()}" for name, entry in block.items())
    return "`{" + ", ".join(entries) + "}`"


def rows(block):
    """Return the rows of a block's table, as the page must have them."""
    properties = block.model_json_schema(by_alias=True)["properties"]
    found = []
    for name, field in block.model_fields.items():
        key = field.alias or name
        if key == "kind" and field.description is None:
            continue  # it is in the heading
        about_limits = issubclass(block, limits.LimitsBlock) and key != "circuit_breaker"
        may = LIMITS[key] if about_limits else allowed(key, properties[key])
        found.append(f"| `{key}` | {may} | {default(key, field)} | {field.description} |")
    return found


@pytest.fixture(scope="module")
def page(repository):
    return (repository / "docs/reference/manifest.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("title", BLOCKS)
def test_every_key_stands_in_the_table_of_its_block(page, title):
    section = re.split(rf"^#+ {re.escape(title)}$", page, flags=re.MULTILINE)[1]
    section = re.split(r"^#", section, flags=re.MULTILINE)[0]
    assert [line for line in section.splitlines() if line.startswith("| `")] == rows(BLOCKS[title])


@pytest.mark.parametrize("scope", [limits.WorkspaceLimits, limits.ProviderLimits, limits.PrincipalLimits])
def test_limits_of_one_scope_are_on_the_page(page, scope):
    for row in rows(scope):
        assert row in page


def test_blocks_are_all_there(repository):
    names = {block.__name__ for block in BLOCKS.values()}
    shapes = {
        name: value
        for module in MODULES
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    scopes = {"WorkspaceLimits", "ProviderLimits", "PrincipalLimits"}
    # What stands behind a law of amounts and one of lengths alike; both of them are on the page.
    laws = [block for block in BLOCKS.values() if block.__module__ == distribution_blocks.__name__]
    generic = {law.__bases__[0].__name__.partition("[")[0] for law in laws} - {"Block"}
    stated = {name for name in shapes if "[" not in name}
    assert stated - names - scopes - generic == {"NoRetry", "_OutageBlock", "ExactEstimate", "UnknownEstimate"}


def test_what_is_not_available_yet_is_named(page):
    for values in LATER.values():
        for value in values:
            assert f"`{value}`" in page


def test_caps_are_stated(page):
    assert f"{MAX_BYTES // 2**20} MiB" in page
    assert f"{MAX_DEPTH} levels" in page


def test_every_bound_of_the_seed_is_related_to_its_metric(page):
    for bound in SEED_BOUNDS:
        assert re.search(rf"^\| `{bound.name}` \| `{bound.metric}` \|", page, re.MULTILINE)


def test_the_assumptions_shown_can_be_used(page, repository, tmp_path):
    from sim.manifest import load

    (text,) = re.findall(r"```yaml\n(schema: capacity-assumptions/v1\n.*?)```", page, re.DOTALL)
    path = tmp_path / "assume.yaml"
    path.write_text(text)
    assert load(repository / "manifests/load-manifest.v1.json", assume=path).lacks == ()
