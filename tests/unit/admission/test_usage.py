"""The bounded queue of usage events: reserved before, recorded once, freed when taken."""

import pytest

from tollgate.admission.usage import UsageSink
from tollgate.core.errors import ConfigError, InvariantViolation


def test_room_is_held_from_reservation_until_events_are_taken():
    sink = UsageSink(2)
    first, second = sink.try_reserve(), sink.try_reserve()
    assert sink.try_reserve() is None
    first.record("one")
    assert (sink.free, len(sink)) == (0, 1)
    second.release()
    assert sink.free == 1
    assert sink.take() == ["one"]
    assert (sink.free, len(sink), sink.take()) == (2, 0, [])


def test_a_slot_that_nobody_holds_any_more_frees_its_room():
    sink = UsageSink(1)
    sink.try_reserve()
    assert sink.free == 1


def test_a_slot_takes_one_event():
    slot = UsageSink(1).try_reserve()
    slot.record("one")
    assert slot.release() is False
    with pytest.raises(InvariantViolation, match="twice"):
        slot.record("two")


def test_a_sink_without_room_is_not_built():
    with pytest.raises(ConfigError, match="limit"):
        UsageSink(0)
