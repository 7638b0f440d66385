"""Instants written in any of their spellings come back as the integer they were."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sim.workload.traces.timestamps import NS_PER, DateTimeParser, LengthParser, seconds_text

S = 10**9
instants = st.integers(0, 2**63 - 1)
epoch = datetime(1970, 1, 1, tzinfo=UTC)


def date_time_text(ns, digits=9, zone_minutes=None):
    moment = epoch + timedelta(seconds=ns // S, minutes=zone_minutes or 0)
    fraction = f"{ns % S:09d}".ljust(digits, "0")[:digits]
    text = moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{fraction}" if digits else "")
    if zone_minutes is None:
        return text
    hours, minutes = divmod(abs(zone_minutes), 60)
    return f"{text}{'-' if zone_minutes < 0 else '+'}{hours:02d}:{minutes:02d}"


@given(instants, st.integers(0, 30))
def test_a_date_time_loses_exactly_the_digits_it_was_not_given(ns, digits):
    unit = 10 ** max(9 - digits, 0)
    assert DateTimeParser().parse(date_time_text(ns, digits)) == ns - ns % unit


@given(st.integers(86_400 * S, 2**63 - 86_401 * S), st.integers(-1439, 1439))
def test_a_zone_changes_the_spelling_not_the_instant(ns, zone_minutes):
    assert DateTimeParser().parse(date_time_text(ns, zone_minutes=zone_minutes)) == ns


@given(instants, st.sampled_from(sorted(NS_PER)))
def test_a_decimal_in_any_unit_comes_back_exactly(ns, unit):
    whole, rest = divmod(ns, NS_PER[unit])
    parser = LengthParser(unit)
    assert parser.parse(f"{whole}.{rest:0{len(str(NS_PER[unit])) - 1}d}") == ns
    assert parser.cut == 0


@given(instants)
def test_shown_seconds_read_back_as_themselves(ns):
    assert LengthParser("s").parse(seconds_text(ns)) == ns


@given(
    st.integers(0, 10**9),
    st.text("0123456789", min_size=1, max_size=30),
    st.text("0123456789", min_size=1, max_size=30),
)
def test_cutting_digits_never_changes_an_order(seconds, one, other):
    texts = sorted((one, other))  # after the point, the order of texts is the order of numbers
    first, second = (LengthParser("s").parse(f"{seconds}.{text}") for text in texts)
    assert first <= second
