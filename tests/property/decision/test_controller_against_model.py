"""The controller against the brute-force model: the same steps, the same decisions at the same instants, in order."""

from __future__ import annotations

from hypothesis import Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.property.decision.duet import Duet
from tests.property.decision.profiles import PRINCIPALS, PROVIDERS, estimates, profiles, shapes

gaps = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5, 8, 13, 30])
polls = st.sampled_from([True, True, True, True, False])
pauses = st.sampled_from([0, 4, 11, 30, -1, 10**30, None])
principals = st.sampled_from([*PRINCIPALS, *PRINCIPALS, *PRINCIPALS, "nobody"])
providers = st.sampled_from([*PROVIDERS, *PROVIDERS, *PROVIDERS, "nowhere"])
budgets = st.sampled_from("pqrst")
which = st.integers(0, 7)


class ControllerMachine(RuleBasedStateMachine):
    @initialize(data=st.data(), shape=shapes())
    def begin(self, data, shape):
        self.shape = shape
        profile = data.draw(profiles(shape))
        note(f"{profile.to_mapping()}")
        self.duet = Duet(profile)

    @rule(
        principal=principals,
        provider=providers,
        estimate=estimates(),
        budget=budgets,
        patience_ns=st.sampled_from([None, None, None, 0, 7, 21]),
        given_up=st.sampled_from([False] * 9 + [True]),
        gap=gaps,
        poll=polls,
    )
    def request(self, principal, provider, estimate, **how):
        self.duet.request(principal, provider, estimate, **how)

    @rule(principal=principals, provider=providers, estimate=estimates(), count=st.integers(2, 4), gap=gaps)
    def several_requests(self, principal, provider, estimate, count, gap):
        self.duet.wait(gap)
        for _ in range(count):
            self.duet.request(principal, provider, estimate, poll=False)
        self.duet.poll()

    @rule(
        which=which,
        outcome=st.sampled_from(["success", "success", "failure", "failure", "cancelled", "retry-after"]),
        pause_ns=pauses,
        gap=gaps,
        poll=polls,
        keep=st.sampled_from([False] * 5 + [True]),
    )
    def release(self, which, outcome, **how):
        self.duet.release(which, outcome, **how)

    @rule(which=which, gap=gaps, poll=polls, waiting_only=polls)
    def cancel(self, which, **how):
        self.duet.cancel(which, **how)

    @rule(provider=st.sampled_from(PROVIDERS), pause_ns=pauses, gap=gaps, poll=polls)
    def pause(self, provider, pause_ns, **how):
        self.duet.pause(provider, pause_ns, **how)

    @rule(budget=budgets)
    def settle(self, budget):
        self.duet.settle(budget)

    @rule(data=st.data(), gap=gaps, poll=polls)
    def set_profile(self, data, gap, poll):
        profile = data.draw(profiles(self.shape, everybody=False))
        note(f"{profile.to_mapping()}")
        self.duet.set_profile(profile, gap=gap, poll=poll)

    @rule(gap=st.one_of(gaps, st.just(-3)))
    def time_passes(self, gap):
        self.duet.wait(gap)

    @rule(times=st.integers(1, 4))
    def sleep_until_wakeup(self, times):
        for _ in range(times):
            self.duet.sleep_until_wakeup()

    def teardown(self):
        if hasattr(self, "duet"):
            self.duet.close()


def test_controller_decides_as_the_model_does():
    """Sixty walks in `make test`, as many as the profile says in `make long`."""
    wanted = settings().max_examples
    run_state_machine_as_test(
        ControllerMachine,
        settings=settings(
            max_examples=60 if wanted <= 100 else wanted,
            stateful_step_count=40,
            phases=[Phase.generate, Phase.shrink],
        ),
    )
