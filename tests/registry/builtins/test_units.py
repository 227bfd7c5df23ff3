"""Converting units."""

import pytest

from registry.errors import ToolInputRejected
from tests.registry.builtins.calling import run


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (8, "Mb", "MB", 1),
        (8, "mb", "Mb", 64),
        (1, "GB", "megabit", 8_000),
        (212, "F", "C", 100),
        (0, "kelvin", "degC", -273.15),
        (-459.67, "degF", "kelvin", 0),
        (-5, "delta_degC", "delta_degF", -9),
        (2, "kilos", "gram", 2_000),
        (8, "fl oz", "cup", 1),
        (30, "mpg", "mile/gallon", 30),
        (1, "m²", "cm2", 10_000),
    ],
)
def test_a_value_is_converted(value: float, source: str, target: str, expected: float) -> None:
    answer = run("convert_units", {"value": value, "from": source, "to": target})
    assert answer["result"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (-1, "kelvin", "degC"),
        (-300, "degC", "degF"),
        (1, "9**9**9", "meter"),
        (1, "m**9**9", "meter"),
        (1, "meter", "second"),
        (1, "(" * 60, "meter"),
        (1e300, "parsec", "angstrom**9"),
    ],
)
def test_what_cannot_be_converted_is_refused(value: float, source: str, target: str) -> None:
    with pytest.raises(ToolInputRejected):
        run("convert_units", {"value": value, "from": source, "to": target})
