"""Numbers for the calculator: exact fractions while they stay small, floats otherwise.

`0.1 + 0.2` is read as 1/10 + 2/10 and is therefore 0.3. An operation that would grow past
`MAX_BITS` is refused before it is carried out, so no expression can take long.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from registry.errors import ToolInputRejected

Number = Fraction | float

MAX_BITS = 3_400
"""Size of the largest whole number: about a thousand decimal digits."""

MAX_FACTORIAL = 450
"""450! has 1,001 digits."""

SIGNIFICANT_DIGITS = 15
"""A double carries 15 decimal digits; the 16th and 17th are noise."""

NEGLIGIBLE = 1e-15
MAX_ROUNDING_PLACES = 300


def too_large() -> ToolInputRejected:
    """Return the refusal for a result that is too large."""
    return ToolInputRejected(
        "The result is too large to work out.",
        "Numbers up to about 1,000 digits are supported: use smaller powers and factors.",
    )


def bounded(value: Number) -> Number:
    """Return `value`, as a float if its fraction has become unwieldy; refuse it if too large."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise too_large()
        return value
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS:
        return value
    if value.denominator == 1:
        raise too_large()
    return float(value)


def power(base: Number, exponent: Number) -> Number:
    """Return `base ** exponent`, refusing what is huge or not a real number."""
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        return _whole_power(base, exponent.numerator)
    if base < 0 and not float(exponent).is_integer():
        raise ToolInputRejected(
            "A negative number cannot be raised to a fractional power.",
            "Use a whole-number exponent, or a base that is not negative.",
        )
    result: float = float(base) ** float(exponent)
    return result


def _whole_power(base: Fraction, exponent: int) -> Number:
    if abs(base) == 1:
        return base if exponent % 2 else Fraction(1)
    if base == 0:
        return base**exponent if abs(exponent) <= 1 else base * Fraction(1, max(exponent, 0))
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(exponent) <= MAX_BITS:
        return base**exponent
    if base.denominator == 1 and exponent > 0:
        raise too_large()
    result: float = float(base) ** float(exponent)
    return result


def tidy(value: Number) -> int | float:
    """Return `value` as a JSON number without binary noise; whole numbers come back as int."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    rounded = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if rounded.is_integer() and abs(rounded) < 10**SIGNIFICANT_DIGITS:
        return int(rounded)
    return rounded


def whole(value: Number, role: str) -> int:
    """Return `value` as an int; refuse it, by its `role`, when it is not a whole number."""
    if value != int(value):
        raise ToolInputRejected(f"{role} must be a whole number.", "Remove the decimal part.")
    return int(value)


def root(value: Number) -> Number:
    """Return the square root, exact for squares of fractions."""
    if value < 0:
        raise ToolInputRejected(
            "A negative number has no real square root.", "Use a number that is not negative."
        )
    if isinstance(value, Fraction):
        over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if over * over == value.numerator and under * under == value.denominator:
            return Fraction(over, under)
    return math.sqrt(value)


def logarithm(value: Number, base: Number | None = None) -> Number:
    """Return the natural logarithm, or the one to `base`."""
    if value <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise ToolInputRejected(
            "A logarithm needs a positive number, and a positive base other than 1.",
            "For example log(100, 10).",
        )
    top = _natural_log(value)
    return top if base is None else top / _natural_log(base)


def _natural_log(value: Number) -> float:
    if isinstance(value, float):
        return math.log(value)
    # math.log takes whole numbers of any size, so the parts never overflow a float.
    return math.log(value.numerator) - math.log(value.denominator)


def rounded(value: Number, places: Number = Fraction(0)) -> Number:
    """Return `value` rounded to decimal `places`; halves go away from zero, as on paper."""
    digits = whole(places, "The number of decimal places")
    if abs(digits) > MAX_ROUNDING_PLACES:
        raise ToolInputRejected(
            f"Cannot round to {digits} decimal places.",
            f"Use a number from -{MAX_ROUNDING_PLACES} to {MAX_ROUNDING_PLACES}.",
        )
    scale = Fraction(10) ** digits
    # str() gives a float's shortest decimal form, the one a reader sees.
    size = abs(value if isinstance(value, Fraction) else Fraction(str(value))) * scale
    steps = math.floor(size + Fraction(1, 2))
    return (-steps if value < 0 else steps) / scale


def factorial(value: Number) -> Number:
    """Return `value!` for whole numbers from 0 to `MAX_FACTORIAL`."""
    if not 0 <= value <= MAX_FACTORIAL:
        raise ToolInputRejected(
            f"A factorial needs a whole number from 0 to {MAX_FACTORIAL}.", "Use a smaller number."
        )
    return Fraction(math.factorial(whole(value, "The argument of a factorial")))


def wave(function: Callable[[float], float]) -> Callable[[Number], Number]:
    """Return a trigonometric function of radians whose zeros are exactly zero."""

    def evaluate(angle: Number) -> Number:
        value = function(float(angle))
        return 0.0 if abs(value) < NEGLIGIBLE else value

    return evaluate


def tangent(angle: Number) -> Number:
    """Return the tangent; refuse the angles at which it has none."""
    if abs(math.cos(float(angle))) < NEGLIGIBLE:
        raise ToolInputRejected(
            "The tangent is not defined at this angle.", "Angles are in radians: use radians(45)."
        )
    return wave(math.tan)(angle)
