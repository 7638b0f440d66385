"""The breaker against a plain dictionary written from the specification, and the bugs that the comparison catches.

The model counts nothing by generation. It remembers, for each call, the visit to a state in which the call was let in,
and asks whether the breaker has left that visit since: the same rule said the other way round.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tollgate.core.breaker import (
    CANCELLED,
    FAILURE,
    SUCCESS,
    Breaker,
    BreakerConfig,
    BreakerState,
    Cancelled,
    Failure,
    FailureRateWindow,
    Probe,
    RetryAfter,
    Success,
    Transition,
)

windows = st.one_of(
    st.none(),
    st.builds(
        lambda calls, minimum, rate: FailureRateWindow(calls, min(minimum, calls), rate),
        st.integers(1, 6),
        st.integers(1, 6),
        st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(1)]),
    ),
)
configs = st.builds(BreakerConfig, st.integers(1, 4), st.integers(1, 20), st.integers(1, 3), windows)
outcomes = st.one_of(
    st.sampled_from([SUCCESS, FAILURE, FAILURE, CANCELLED, CANCELLED]), st.builds(RetryAfter, st.integers(0, 40))
)


class BreakerMachine(RuleBasedStateMachine):
    breaker_type = Breaker

    calls = Bundle("calls")

    @initialize(config=configs)
    def begin(self, config):
        self.breaker = self.breaker_type(config)
        self.now_ns = 100
        self.model = {"config": config, "state": "closed", "run": 0, "visit": object(), "last": [], "until": None}
        self.probes_out: list[dict] = []
        self.expected: list[Transition] = []

    # --------------------------------------------------------------------------------------------------- the model

    def enter(self, state, at_ns):
        before = BreakerState(self.model["state"])
        self.expected.append(Transition(before, BreakerState(state), at_ns, self.model["run"]))
        self.model.update(state=state, visit=object(), last=[])
        self.probes_out = []

    def expected_kind(self, *, act):
        """What a call gets now: "pass", "probe" or None; with ``act`` the model also lets it in."""
        model = self.model
        if model["state"] == "closed":
            return "pass"
        if model["state"] == "open":
            if self.now_ns < model["until"]:
                return None
            if not act:
                return "probe"
            self.enter("half-open", model["until"])
        return "probe" if len(self.probes_out) < model["config"].half_open_max_calls else None

    def opens(self, pause_ns):
        self.enter("open", self.now_ns)
        self.model["until"] = self.now_ns + pause_ns

    def tripped(self):
        config, last = self.model["config"], self.model["last"]
        if self.model["run"] >= config.failure_threshold:
            return True
        window = config.window
        if window is None:
            return False
        seen = last[-window.calls :]
        return len(seen) >= window.minimum_calls and Fraction(seen.count("bad"), len(seen)) >= window.failure_rate

    def settle(self, call, outcome):
        model = self.model
        if call["visit"] is not model["visit"]:
            return
        if call["kind"] == "probe":
            if call not in self.probes_out:
                return
            self.probes_out.remove(call)
        match outcome:
            case Success():
                model["run"] = 0
                model["last"].append("good")
                if call["kind"] == "probe":
                    self.enter("closed", self.now_ns)
            case Failure():
                model["run"] += 1
                model["last"].append("bad")
                if call["kind"] == "probe" or self.tripped():
                    self.opens(model["config"].open_ns)
            case RetryAfter(ns) if call["kind"] == "probe":
                self.opens(max(ns, model["config"].open_ns))
            case RetryAfter() | Cancelled():
                pass

    # --------------------------------------------------------------------------------------------------- the rules

    @rule(step_ns=st.one_of(st.integers(0, 12), st.integers(-5, 40)))
    def pass_time(self, step_ns):
        self.now_ns += step_ns

    @rule(target=calls)
    def call(self):
        call = self.call_once()
        return multiple() if call is None else call

    def call_once(self):
        handle = self.breaker.try_acquire(self.now_ns)
        kind = self.expected_kind(act=True)
        assert (handle is None) == (kind is None)
        if handle is None:
            return None
        assert isinstance(handle, Probe) == (kind == "probe")
        call = {"handle": handle, "kind": kind, "visit": self.model["visit"], "id": object()}
        if kind == "probe":
            self.probes_out.append(call)
        return call

    @rule(call=calls, outcome=outcomes)
    def finish(self, call, outcome):
        """Late, and more than once, too: a shared pass of a state that was left says nothing any more."""
        self.breaker.record(call["handle"], outcome, self.now_ns)
        self.settle(call, outcome)

    # Four rules that lead to where things happen; left to chance, most histories never leave the closed state.

    @precondition(lambda self: self.model["state"] == "closed")
    @rule()
    def fail_until_open(self):
        while self.model["state"] == "closed":
            self.now_ns += 1
            self.finish(self.call_once(), FAILURE)

    @precondition(lambda self: self.model["state"] == "open")
    @rule(early_ns=st.sampled_from([0, 0, 1, -7]))
    def wait_it_out(self, early_ns):
        self.now_ns = self.model["until"] - early_ns

    @rule(outcome=outcomes)
    def call_and_finish(self, outcome):
        call = self.call_once()
        if call is not None:
            self.finish(call, outcome)

    @precondition(lambda self: self.probes_out)
    @rule(outcome=outcomes, newest=st.booleans(), times=st.integers(1, 2))
    def finish_a_probe(self, outcome, newest, times):
        call = self.probes_out[-1 if newest else 0]
        for _ in range(times):
            self.finish(call, outcome)

    @rule(config=configs)
    def set_config(self, config):
        self.breaker.set_config(config, self.now_ns)
        model = self.model
        if model["state"] == "open" and self.now_ns >= model["until"]:
            self.enter("half-open", model["until"])
        # A smaller window forgets for good; an absent one remembers nothing.
        keep = config.window.calls if config.window else 0
        old = model["config"].window
        seen = model["last"][-old.calls :] if old else []
        model.update(config=config, last=seen[len(seen) - min(keep, len(seen)) :])

    @rule()
    def drain(self):
        assert self.breaker.drain_transitions() == tuple(self.expected)
        self.expected = []

    @invariant()
    def looks_the_same(self):
        if not hasattr(self, "breaker"):
            return
        assert self.breaker.state == self.model["state"]
        assert self.breaker.failures == self.model["run"]
        kind = self.expected_kind(act=False)
        assert self.breaker.may_acquire(self.now_ns) == (kind is not None)
        wait_ns = self.breaker.wait_ns(self.now_ns)
        if kind is not None:
            assert wait_ns == 0
        elif self.model["state"] == "open":
            assert wait_ns == self.model["until"] - self.now_ns
        else:
            assert wait_ns is None

    def teardown(self):
        if hasattr(self, "breaker"):
            assert self.breaker.drain_transitions() == tuple(self.expected)


checked = settings(stateful_step_count=30)  # how many histories: the profile of tests/conftest.py
# Planted bugs only need to be found, not to be made small.
hunted = settings(checked, derandomize=True, max_examples=3000, phases=[Phase.generate])


def test_breaker_follows_the_model_through_any_history():
    run_state_machine_as_test(BreakerMachine, settings=checked)


# ------------------------------------------------------------------------------------------------ planted bugs


class LateSuccessCloses(Breaker):
    def record(self, handle, outcome, now_ns):
        if isinstance(outcome, Success) and self.state is not BreakerState.CLOSED:
            self._judge_probe(outcome, now_ns)
        super().record(handle, outcome, now_ns)


class LateFailureOpensAgain(Breaker):
    def record(self, handle, outcome, now_ns):
        if self.state is BreakerState.OPEN and isinstance(outcome, Failure):
            self._reopens_ns = now_ns + self.config.open_ns
        super().record(handle, outcome, now_ns)


class LateOutcomeFreesAProbe(Breaker):
    def record(self, handle, outcome, now_ns):
        if handle.generation != self.generation and self.state is BreakerState.HALF_OPEN:
            self._probes_in_flight = max(self._probes_in_flight - 1, 0)
        super().record(handle, outcome, now_ns)


class FirstProbeIsNotCounted(Breaker):
    def try_acquire(self, now_ns):
        was_open = self.state is BreakerState.OPEN
        handle = super().try_acquire(now_ns)
        if was_open and handle is not None:
            self._probes_in_flight -= 1
        return handle


class HalfOpenLetsEverybodyThrough(Breaker):
    def try_acquire(self, now_ns):
        handle = super().try_acquire(now_ns)
        return Probe(self.generation) if handle is None and self.state is BreakerState.HALF_OPEN else handle


class CancellationIsAFailure(Breaker):
    def record(self, handle, outcome, now_ns):
        super().record(handle, FAILURE if outcome == CANCELLED else outcome, now_ns)


class CancelledProbeKeepsItsPlace(Breaker):
    def record(self, handle, outcome, now_ns):
        if not (isinstance(handle, Probe) and outcome == CANCELLED):
            super().record(handle, outcome, now_ns)


class SuccessDoesNotEndTheRun(Breaker):
    def _count(self, outcome, now_ns):
        run = self.failures
        super()._count(outcome, now_ns)
        if isinstance(outcome, Success):
            self.failures = run


class ProbeToldToWaitSettlesNothing(Breaker):
    def _judge_probe(self, outcome, now_ns):
        if not isinstance(outcome, RetryAfter):
            super()._judge_probe(outcome, now_ns)


class ShortPauseCutsTheOpening(Breaker):
    def _judge_probe(self, outcome, now_ns):
        super()._judge_probe(outcome, now_ns)
        if isinstance(outcome, RetryAfter):
            self._reopens_ns = now_ns + outcome.ns


class PauseIsAFailureWhileClosed(Breaker):
    def _count(self, outcome, now_ns):
        super()._count(FAILURE if isinstance(outcome, RetryAfter) else outcome, now_ns)


class HalfOpenIsStampedWhenNoticed(Breaker):
    def try_acquire(self, now_ns):
        if self.state is BreakerState.OPEN and now_ns > self._reopens_ns:
            self._reopens_ns = now_ns
        return super().try_acquire(now_ns)


class HalfOpenOneNanosecondLate(Breaker):
    def try_acquire(self, now_ns):
        return super().try_acquire(now_ns if self.state is BreakerState.CLOSED else now_ns - 1)


class ProbeCountsTwice(Breaker):
    def record(self, handle, outcome, now_ns):
        if isinstance(handle, Probe):
            handle.is_settled = False
        super().record(handle, outcome, now_ns)


class FailedProbeNeedsTheThreshold(Breaker):
    def _judge_probe(self, outcome, now_ns):
        if isinstance(outcome, Failure) and self.failures + 1 < self.config.failure_threshold:
            self.failures += 1
        else:
            super()._judge_probe(outcome, now_ns)


class WindowIgnoresItsMinimum(Breaker):
    def _rate_is_reached(self):
        window = self.config.window
        if window is None or not self._recent:
            return False
        return Fraction(sum(self._recent), len(self._recent)) >= window.failure_rate


class WindowOutlivesAnOpening(Breaker):
    def _move(self, to_state, at_ns):
        recent = list(self._recent)
        super()._move(to_state, at_ns)
        self._recent.extend(recent)


class NewConfigCloses(Breaker):
    def set_config(self, config, now_ns):
        super().set_config(config, now_ns)
        if self.state is not BreakerState.CLOSED:
            self._move(BreakerState.CLOSED, now_ns)


class NewConfigMovesTheEndOfAnOpening(Breaker):
    def set_config(self, config, now_ns):
        self._reopens_ns += config.open_ns - self.config.open_ns
        super().set_config(config, now_ns)


class ForgetsTransitions(Breaker):
    def drain_transitions(self):
        return super().drain_transitions()[-1:]


def step(rule_name, *arguments):
    return lambda machine: getattr(machine, rule_name)(*arguments)


def keep_a_call(machine):
    machine.kept = machine.call_once()


def finish_the_kept_call(outcome):
    return lambda machine: machine.finish(machine.kept, outcome)


plain = BreakerConfig(failure_threshold=2, open_ns=10, half_open_max_calls=1)
by_rate = BreakerConfig(9, 10, 1, FailureRateWindow(calls=4, minimum_calls=3, failure_rate=Fraction(1, 2)))
fail_until_open = step("fail_until_open")
wait_it_out = step("wait_it_out", 0)
call = step("call_once")
reach_half_open = (fail_until_open, wait_it_out)

# Each bug with a short history that shows it. It goes through the machine, so that model and comparison are the same as
# in the random histories, where some of these bugs take thousands of steps to meet.
PLANTED = (
    (LateSuccessCloses, plain, (keep_a_call, fail_until_open, finish_the_kept_call(SUCCESS))),
    (
        LateFailureOpensAgain,
        plain,
        (keep_a_call, fail_until_open, step("pass_time", 5), finish_the_kept_call(FAILURE)),
    ),
    (LateOutcomeFreesAProbe, plain, (keep_a_call, *reach_half_open, call, finish_the_kept_call(CANCELLED))),
    (FirstProbeIsNotCounted, plain, (*reach_half_open, call)),
    (HalfOpenLetsEverybodyThrough, plain, (*reach_half_open, call, call)),
    (CancellationIsAFailure, plain, (step("call_and_finish", CANCELLED),)),
    (CancelledProbeKeepsItsPlace, plain, (*reach_half_open, step("call_and_finish", CANCELLED))),
    (SuccessDoesNotEndTheRun, plain, (step("call_and_finish", FAILURE), step("call_and_finish", SUCCESS))),
    (ProbeToldToWaitSettlesNothing, plain, (*reach_half_open, step("call_and_finish", RetryAfter(5)))),
    (ShortPauseCutsTheOpening, plain, (*reach_half_open, step("call_and_finish", RetryAfter(5)))),
    (PauseIsAFailureWhileClosed, plain, (step("call_and_finish", RetryAfter(5)),)),
    (HalfOpenIsStampedWhenNoticed, plain, (fail_until_open, step("pass_time", 20), call)),
    (HalfOpenOneNanosecondLate, plain, (*reach_half_open, call)),
    (ProbeCountsTwice, plain, (*reach_half_open, call, step("finish_a_probe", CANCELLED, True, 2), call)),
    (
        FailedProbeNeedsTheThreshold,
        plain,
        (fail_until_open, step("set_config", by_rate), wait_it_out, step("call_and_finish", FAILURE)),
    ),
    (WindowIgnoresItsMinimum, by_rate, (step("call_and_finish", FAILURE),)),
    (
        WindowOutlivesAnOpening,
        by_rate,
        (*reach_half_open, step("call_and_finish", SUCCESS), step("call_and_finish", FAILURE)),
    ),
    (NewConfigCloses, plain, (fail_until_open, step("set_config", plain))),
    (NewConfigMovesTheEndOfAnOpening, plain, (fail_until_open, step("set_config", BreakerConfig(2, 50, 1)))),
    (ForgetsTransitions, plain, (*reach_half_open, step("call_and_finish", SUCCESS), step("drain"))),
)


def replay(breaker_type, config, history):
    machine = type("ReplayedMachine", (BreakerMachine,), {"breaker_type": breaker_type})()
    machine.begin(config)
    for do in history:
        do(machine)
        machine.looks_the_same()
    machine.teardown()


@pytest.mark.parametrize(("bug", "config", "history"), PLANTED, ids=[row[0].__name__ for row in PLANTED])
def test_planted_bug_turns_the_machine_red(bug, config, history):
    replay(Breaker, config, history)
    with pytest.raises(AssertionError):
        replay(bug, config, history)


@pytest.mark.long
@pytest.mark.parametrize("bug", [row[0] for row in PLANTED], ids=lambda bug: bug.__name__)
def test_random_histories_find_the_planted_bug(bug):
    broken = type("BrokenMachine", (BreakerMachine,), {"breaker_type": bug})
    with pytest.raises(AssertionError):
        run_state_machine_as_test(broken, settings=hunted)
