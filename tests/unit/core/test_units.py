from decimal import Decimal
from fractions import Fraction

import pytest

from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MIN, NS_PER_S, Rate, decimal_text, fraction, ms_text


@pytest.mark.parametrize(
    ("rate", "units", "per_ns"),
    [
        (Rate(10, NS_PER_S), 1, 10**8),
        (Rate.per_second(10), 1, 10**8),
        (Rate.per_second("0.1"), 1, 10 * NS_PER_S),
        (Rate.per_second(Fraction(10, 13)), 1, 1_300_000_000),
        (Rate.per_minute("333"), 111, 20 * NS_PER_S),
        (Rate.per_minute(Decimal("0.5")), 1, 2 * NS_PER_MIN),
        (Rate.per_second(0), 0, 1),
    ],
)
def test_rate_is_exact_and_in_lowest_terms(rate, units, per_ns):
    assert (rate.units, rate.per_ns) == (units, per_ns)


@pytest.mark.parametrize(("units", "per_ns"), [(-1, 1), (1, 0), (1, -5), (1.0, 1), (1, 1e9), (True, 1)])
def test_rate_refuses_what_is_out_of_range(units, per_ns):
    with pytest.raises(ConfigError, match="at least"):
        Rate(units, per_ns)


@pytest.mark.parametrize("units", [0.1, float("nan"), "1e3", "-1", None])
def test_rate_refuses_floats_exponents_and_negatives(units):
    with pytest.raises(ConfigError):
        Rate.per_second(units)


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (3, Fraction(3)),
        ("0.29", Fraction(29, 100)),
        ("-12.50", Fraction(-25, 2)),
        ("+7", Fraction(7)),
        (Decimal("1E-7"), Fraction(1, 10**7)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_fraction_reads_exact_numbers(value, exact):
    assert fraction(value) == exact


@pytest.mark.parametrize(
    "value",
    [
        0.29,
        float("nan"),
        float("inf"),
        True,
        None,
        "",
        "1e400",
        "1/3",
        "nan",
        ".5",
        "5.",
        " 5",
        "1_000",
        "٣",  # a digit, but not an ASCII one
        "9" * 61,
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1E+999999999"),
        [1],
    ],
)
def test_fraction_refuses_everything_else_and_names_the_path(value):
    with pytest.raises(ConfigError, match=r"profile\.share"):
        fraction(value, "profile.share")


def test_a_share_read_as_a_decimal_is_not_one_short():
    # In doubles floor(0.29 * 100) is 28.
    assert int(fraction("0.29") * 100) == 29


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0"), (1, "0.000001"), (1_000_000, "1"), (12_340_000, "12.34"), (10**10, "10000"), (-1_500_000, "-1.5")],
)
def test_ms_text_is_exact_without_trailing_zeros(ns, text):
    assert ms_text(ns) == text


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (Fraction(1, 2), 6, "0.500000"),
        (Fraction(1, 3), 6, "0.333333"),
        (Fraction(5, 10**7), 6, "0.000001"),  # a tie goes up
        (Fraction(-5, 10**7), 6, "-0.000001"),  # and away from zero below it
        (Fraction(-1, 10**7), 6, "0.000000"),  # zero has no sign
        (Fraction(999_999_5, 10**7), 6, "1.000000"),
        (12, 2, "12.00"),
        (Fraction(5, 2), 0, "3"),
    ],
)
def test_decimal_text_rounds_half_up_to_fixed_places(value, places, text):
    assert decimal_text(value, places) == text
