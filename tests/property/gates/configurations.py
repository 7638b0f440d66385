"""Small configurations of every kind of limit, with traffic that meets them: a run takes some milliseconds."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

PROVIDERS = ("u", "v")


def examples(n: int) -> settings:
    """Return the settings of a test that runs each configuration: ``n`` of them, or as many as the long suite wants."""
    wanted = settings().max_examples
    return settings(max_examples=n if wanted <= 100 else wanted)


def optional(**entries: st.SearchStrategy) -> st.SearchStrategy:
    return st.fixed_dictionaries({}, optional=entries)


POOL = {
    "concurrency": st.integers(2, 6),
    "max_queue_length": st.integers(0, 8),
    "max_queue_wait_ms": st.sampled_from([1, 40, 300]),
    "requests_per_minute": st.sampled_from([120, 3000]),
    "tokens_per_second": st.sampled_from([20, 200]),
}
SHARED = POOL | {"max_principal_share": st.sampled_from(["0.29", "0.5", "1"])}
BREAKER = st.just({"failure_threshold": 2, "open_ms": 200, "half_open_max_calls": 1})
RETRY = st.one_of(
    st.just({"kind": "none"}),
    st.fixed_dictionaries(
        {
            "kind": st.just("exponential"),
            "base_ms": st.just(20),
            "cap_ms": st.just(400),
            "jitter": st.sampled_from(["none", "full"]),
            "max_attempts": st.integers(1, 4),
        }
    ),
)
LAYERS = st.just(
    [
        {"kind": "fixed", "base_ms": 10, "max_attempts": 2, "name": "sdk"},
        {"kind": "decorrelated", "base_ms": 20, "cap_ms": 100, "max_attempts": 2, "name": "gateway"},
    ]
)
ARRIVALS = st.one_of(
    st.sampled_from([1, 20, 60]).map(lambda rate: {"kind": "poisson", "per_second": rate}),
    st.just({"kind": "batch", "per_second": 4, "size": {"kind": "uniform", "min": 1, "max": 6}, "within_ms": 0}),
    st.integers(1, 4).map(lambda n: {"kind": "closed", "population": n, "think_ms": 20}),
)
WORLD = optional(
    servers=st.integers(1, 2),
    slowdown=st.just({"above": 1, "per_call": "0.5"}),
    rate_limit=st.just({"requests_per_minute": 600, "requests_burst": 2}),
    outages=st.sampled_from(
        [
            [{"kind": "error", "from_seconds": 1, "for_seconds": "0.5"}],
            [{"kind": "stall", "from_seconds": 1, "for_seconds": "0.3", "ramp_seconds": "0.2"}],
            [{"kind": "throttle", "from_seconds": "0.5", "for_seconds": 1, "retry_after_ms": 50}],
        ]
    ),
)
CLIENT = optional(
    timeout_ms=st.sampled_from([60, 400]),
    retry_after=st.sampled_from(["honour", "ignore"]),
    cancellation=st.just({"probability": "0.2", "after_ms": 30}),
)


@st.composite
def clients(draw) -> dict:
    client, retry = draw(CLIENT), draw(RETRY)
    if "timeout_ms" in client and draw(st.booleans()):
        client |= {"abandon": "provider-continues", "abandoned_permit": draw(st.sampled_from(["held", "freed"]))}
    if draw(st.integers(0, 3)) == 0:
        return client | {"layers": draw(LAYERS), "on_refusal": draw(st.sampled_from(["give-up", "retry"]))}
    refusal = "give-up" if retry["kind"] == "none" else draw(st.sampled_from(["give-up", "retry"]))
    return client | {"retry": retry, "on_refusal": refusal}


@st.composite
def streams(draw, name: str, principal: str, cls: str, count: int | None) -> dict:
    stream = {
        "name": name,
        "principal": principal,
        "class": cls,
        "arrivals": draw(ARRIVALS),
        "work": {"tokens": {"kind": "uniform", "min": 1, "max": 12}},
        "providers": dict.fromkeys(draw(st.sampled_from([PROVIDERS, PROVIDERS[:1], PROVIDERS[1:]])), 1),
        "client": draw(clients()),
    }
    return stream | ({} if count is None else {"count": count})


@st.composite
def manifests(draw) -> dict:
    reserved = draw(st.sampled_from([0, 0, 1]))
    quiet = draw(optional(**POOL))
    if reserved:
        quiet = quiet | {"reserved_concurrency": 1}
    return {
        "schema": "capacity-manifest/v1",
        "name": "any",
        "version": "1.0.0",
        "mode": "offline-fake-provider",
        "seed": draw(st.integers(0, 1000)),
        "target": {"kind": "admission-controller", "discipline": "default"},
        "profile": {
            "profile_version": "any-1",
            "workspace": draw(optional(**SHARED)),
            "providers": {name: draw(optional(circuit_breaker=BREAKER, **SHARED)) for name in PROVIDERS},
            "principals": {"ann": draw(optional(**POOL)), "quiet": quiet},
        },
        "phases": [{"name": "a", "seconds": 1}, {"name": "b", "seconds": 1}],
        "warmup_seconds": draw(st.sampled_from([0, "0.5"])),
        "drain_seconds": 600,
        "streams": [
            draw(streams("ann", "ann", "noisy", None)),
            draw(streams("quiet", "quiet", "quiet", 2)),
        ],
        "providers": [
            {
                "id": name,
                "service_ms": {"kind": "uniform", "min": 5, "max": draw(st.sampled_from([60, 200]))},
                "failures": {"kind": "independent", "probability": draw(st.sampled_from(["0", "0.3", "1"]))},
                **draw(WORLD),
            }
            for name in PROVIDERS
        ],
    }
