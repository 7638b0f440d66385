"""The registry against a plain model, under evictions, held controllers and rollbacks.

Every profile has the same request bucket (one a second, burst one) and one permit, so that the model knows by itself
when a workspace has nothing to lose; what differs between the variants of a version has no part in that. Its central
claim is about the caller, not the registry: however often a workspace is evicted, it gets one request a second.
"""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tollgate.core.breaker import SUCCESS
from tollgate.core.units import NS_PER_S
from tollgate.decision import (
    AdmissionLimits,
    AdmissionProfile,
    AdmissionRegistry,
    InvalidDefinition,
    RegistryFull,
    Request,
)

NAMES = st.sampled_from(["w1", "w2", "w3", "w4"])
VERSIONS = st.sampled_from(["v1", "v2", "v3"])
VARIANTS = st.integers(1, 2)


def profile(version, variant):
    limits = AdmissionLimits(
        concurrency=1, requests_per_minute=60, requests_burst=1, max_queue_length=0, max_items=variant
    )
    return AdmissionProfile(version, limits, {"llm": AdmissionLimits()}, {"ann": AdmissionLimits()})


class Model:
    """What is known of one workspace."""

    def __init__(self, max_history):
        self.versions = {}  # version -> variant, the one registered longest ago first
        self.current = None
        self.history = deque(maxlen=max_history)


class RegistryMachine(RuleBasedStateMachine):
    @initialize(
        max_workspaces=st.integers(1, 3),
        max_retired=st.integers(0, 2),
        max_versions=st.integers(1, 3),
        max_history=st.integers(1, 3),
    )
    def start(self, max_workspaces, max_retired, max_versions, max_history):
        self.registry = AdmissionRegistry(
            max_workspaces=max_workspaces, max_retired=max_retired, max_versions=max_versions, max_history=max_history
        )
        self.bounds = (max_workspaces, max_retired, max_versions, max_history)
        self.now_ns = 0
        self.heard = []
        self.told = []
        self.registry.on_profile_change(self.heard.append)
        self.live = []  # names, the one registered longest ago first
        self.retired = []  # names, the one evicted longest ago first
        self.models = {}
        self.held = {}  # name -> a controller that the caller keeps
        self.permits = {}  # name -> (controller, permit) in flight
        self.next_ns = {}  # name -> when its bucket is full again

    def is_fresh(self, name):
        return name not in self.permits and self.now_ns >= self.next_ns.get(name, 0)

    @rule(name=NAMES, version=VERSIONS, variant=VARIANTS, keep=st.booleans())
    def register(self, name, version, variant, keep):
        max_workspaces, max_retired, max_versions, max_history = self.bounds
        model = self.models.get(name)
        known = None if model is None else model.versions.get(version)
        fails = None
        evicted = None
        if known is not None and known != variant:
            fails = InvalidDefinition
        elif name not in self.live and len(self.live) == max_workspaces:
            evicted = next((other for other in self.live if self.is_fresh(other)), None)
            fails = None if evicted else RegistryFull
        if fails:
            with pytest.raises(fails):
                self.registry.register(name, profile(version, variant), self.now_ns)
            return
        controller = self.registry.register(name, profile(version, variant), self.now_ns)
        if evicted:
            self.live.remove(evicted)
            self.retired.append(evicted)
            while len(self.retired) > max_retired:
                gone = [other for other in self.retired if other not in self.held]
                if not gone:
                    break
                self.retired.remove(gone[0])
                if gone[0] == name:
                    continue  # it is on its way back: what was known of it is in hand
                del self.models[gone[0]]
        model = self.models.setdefault(name, Model(max_history))
        if name in self.retired:
            self.retired.remove(name)
        if name in self.live:
            self.live.remove(name)
        self.live.append(name)
        self.adopt(name, model, version, variant, max_versions)
        if keep:
            self.held[name] = controller

    def adopt(self, name, model, version, variant, max_versions):
        is_known = model.versions.pop(version, None) is not None
        model.versions[version] = variant
        while len(model.versions) > max_versions:
            del model.versions[next(iter(model.versions))]
        if version != model.current:
            kind = "initial" if model.current is None else "rollback" if is_known else "change"
            record = (name, kind, model.current, version, profile(version, variant).digest, self.now_ns)
            model.history.append(record)
            self.told.append(record)
            model.current = version

    @rule(name=NAMES, ends=st.booleans())
    def ask(self, name, ends):
        """Ask through the controller in hand, or the registry's."""
        controller = self.held.get(name) or self.registry.controller(name)
        if controller is None:
            return
        controller.request(Request("job", "ann", name, "llm"), self.now_ns)
        [decision] = controller.poll(self.now_ns)
        may_go = name not in self.permits and self.now_ns >= self.next_ns.get(name, 0)
        assert decision.is_admitted == may_go
        if may_go:
            self.next_ns[name] = self.now_ns + NS_PER_S
            self.permits[name] = (controller, decision.permit)
            if ends:
                self.end(name)

    @rule(name=NAMES)
    def end(self, name):
        if name in self.permits:
            controller, permit = self.permits.pop(name)
            assert controller.release(permit, SUCCESS, self.now_ns)

    @rule(name=NAMES)
    def let_go(self, name):
        if name not in self.permits:
            self.held.pop(name, None)

    @rule(pass_ns=st.sampled_from([1, NS_PER_S // 2, NS_PER_S - 1, NS_PER_S]))
    def pass_time(self, pass_ns):
        self.now_ns += pass_ns

    @invariant()
    def the_registry_knows_what_the_model_knows(self):
        assert len(self.registry) == len(self.live)
        for name in ("w1", "w2", "w3", "w4"):
            controller = self.registry.controller(name)
            assert (controller is not None) == (name in self.live)
            model = self.models.get(name)
            if controller is not None:
                assert controller.profile.profile_version == model.current
                assert controller is self.held.get(name, controller)
            expected = [] if model is None else list(model.history)
            assert [as_row(change) for change in self.registry.profile_history(name)] == expected
        assert [as_row(change) for change in self.heard] == self.told


def as_row(change):
    return (change.workspace, change.kind, change.previous_version, change.version, change.digest, change.at_ns)


TestRegistryMachine = RegistryMachine.TestCase
TestRegistryMachine.settings = settings(stateful_step_count=40, max_examples=100)
