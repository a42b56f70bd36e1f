"""Numbers and names of roles as readers see them; the expected texts are written by hand."""

import math

import pytest
from headroom.core import formatting

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (35.66, "35.7"),
        (0.0, "0"),
        (-0.4219, "−0.422"),
        (100.0, "100"),
        (99.96, "100"),
        (9.996, "10.0"),
        (1234.5, "1,234"),
        (12345.6, "12,346"),
        (0.01234, "0.0123"),
        (3.1e-6, "3.10\u202f×\u202f10⁻⁶"),
        (NAN, "–"),
        (-math.inf, "−∞"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert formatting.number(value) == text


def test_ends_of_an_interval_share_their_decimals() -> None:
    assert formatting.interval(-0.5, 12.34) == "[−0.5, 12.3]"
    assert formatting.interval(NAN, 1.0) == ""


def test_estimate() -> None:
    assert formatting.estimate(-0.42, -0.61, -0.2, signed=True) == "−0.420 [−0.610, −0.200]"
    assert formatting.estimate(35.66, NAN, NAN) == "35.7"
    assert formatting.estimate(NAN, 0.0, 1.0) == "–"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0001, "< 0.001"), (0.0042, "0.004"), (0.0499, "0.05"), (0.5, "0.50"), (NAN, "–")]
)
def test_p_value(value: float, text: str) -> None:
    assert formatting.p_value(value) == text
