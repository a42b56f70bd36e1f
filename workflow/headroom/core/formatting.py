"""Formatting of numbers: significant digits, typographic minus signs, intervals in brackets."""

import math
from collections.abc import Iterable

MINUS = "\u2212"
MISSING = "\u2013"
_SPACE = "\u00a0"  # both are non-breaking
_NARROW_SPACE = "\u202f"

MOST_DECIMALS = 4
"""Smallest unit of estimates and intervals: smaller values are written as 0."""


def number(value: float, digits: int = 3, *, signed: bool = False, decimals: int | None = None) -> str:
    """Return a number with `digits` significant digits, never fewer digits than the integer part has.

    Trailing zeros are kept, since they are significant; a missing value is an en dash. `decimals` limits the decimals
    of scores and shares to meaningful ones; smaller values are written as 0.

    Args:
        value: Any float; NaN and infinities are allowed.
        digits: Significant digits.
        signed: Write a plus sign before positive numbers, as for differences.
        decimals: The most decimals to show; None for as many as the digits need, with powers of ten.
    """
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return (MINUS if value < 0 else "") + "\u221e"
    text = _significant(abs(value), digits, decimals)
    if not any(character in "123456789" for character in text):
        return "0"
    sign = MINUS if value < 0 else "+" if signed else ""
    return sign + text


def format_fixed(value: float, decimals: int = 2, *, signed: bool = False) -> str:
    """Return a number with a fixed number of decimals, for columns whose values have the same unit and magnitude."""
    if math.isnan(value):
        return MISSING
    text = f"{abs(value):,.{decimals}f}"
    is_zero = not any(character in "123456789" for character in text)
    sign = "" if is_zero else MINUS if value < 0 else "+" if signed else ""
    return sign + text


def count(value: float) -> str:
    """Return a whole number with commas between thousands: `1,475,072`."""
    if math.isnan(value):
        return MISSING
    whole = round(value)
    return (MINUS if whole < 0 else "") + f"{abs(whole):,}"


def interval(low: float, high: float, digits: int = 3, *, most: int = MOST_DECIMALS) -> str:
    """Return an interval in brackets, both ends with the decimals of the larger, at most `most`; "" if missing."""
    if math.isnan(low) or math.isnan(high):
        return ""
    decimals = min(most, _decimals(max(abs(low), abs(high)), digits))
    return f"[{format_fixed(low, decimals)}, {format_fixed(high, decimals)}]"


def estimate(
    value: float,
    low: float,
    high: float,
    *,
    signed: bool = False,
    digits: int = 3,
    most: int = MOST_DECIMALS,
) -> str:
    """Return a value with its interval, written with the same decimals, at most `most`: `35.7 [34.9, 36.5]`."""
    if math.isnan(value):
        return MISSING
    if math.isnan(low) or math.isnan(high):
        return number(value, digits, signed=signed, decimals=most)
    decimals = min(most, _decimals(max(abs(value), abs(low), abs(high)), digits))
    return f"{format_fixed(value, decimals, signed=signed)} {interval(low, high, digits, most=most)}"


def correlation(value: float, low: float, high: float) -> str:
    """Return a value between -1 and 1 with its interval, all with two decimals: `0.62 [0.42, 0.77]`."""
    bounds = "" if math.isnan(low) or math.isnan(high) else f" [{format_fixed(low)}, {format_fixed(high)}]"
    return format_fixed(value) + bounds


def p_value(value: float) -> str:
    """Return a p-value: two significant digits, and `< 0.001` below that."""
    if math.isnan(value):
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.01 else f"{value:.2f}"


def percent(share: float, decimals: int = 0) -> str:
    """Return a share (0 to 1) in per cent."""
    return MISSING if math.isnan(share) else f"{format_fixed(100 * share, decimals)}{_NARROW_SPACE}%"


def symbol(name: str, value: object) -> str:
    """Return a symbol with its value, without a line break between them: `λ 0.03`."""
    return f"{name}{_SPACE}{value}"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units: `1 h 12 min`, `2 min 13 s`, `4.2 s`."""
    if math.isnan(seconds):
        return MISSING
    if seconds < 10:
        return f"{number(seconds, 2)} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def device_name(device: str) -> str:
    """Return the display name of a device in the tables: `CPU`, `GPU`."""
    return {"cpu": "CPU", "cuda": "GPU"}.get(device, device)


def listing(items: Iterable[str]) -> str:
    """Return items as running text: `a`, `a and b`, `a, b and c`."""
    names = list(items)
    if not names:
        return ""
    return names[0] if len(names) == 1 else " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def plural(amount: int, noun: str) -> str:
    """Return an amount with its noun: `1 head`, `12 heads`."""
    return f"{count(amount)} {noun}" + ("" if amount == 1 else "s")


def _significant(value: float, digits: int, most: int | None) -> str:
    if value and value < 1e-4 and most is None:
        exponent = math.floor(math.log10(value))
        raised = str(exponent).replace("-", "\u207b").translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{value / 10**exponent:.{digits - 1}f}{_NARROW_SPACE}×{_NARROW_SPACE}10{raised}"
    decimals = _decimals(value, digits) if most is None else min(most, _decimals(value, digits))
    return count(value) if decimals == 0 else f"{value:.{decimals}f}"


def _decimals(value: float, digits: int) -> int:
    """Return the decimals that give `digits` significant digits, after rounding (9.996 is 10.0)."""
    if value == 0:
        return 0
    exponent = math.floor(math.log10(float(f"{value:.{digits - 1}e}")))
    return max(0, digits - 1 - exponent)
