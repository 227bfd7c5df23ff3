"""Conversion of units."""

import math
import re
from functools import cache
from typing import TYPE_CHECKING

from config.lib.types import JsonObject
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import number, produced, record, text
from registry.errors import ToolInputRejected

if TYPE_CHECKING:
    import pint

LARGEST = 1e300
TOLERANCE = 1e-9
"""Kelvin that rounding may take a temperature below zero."""

SPELLINGS = {
    "c": "degC",
    "°c": "degC",
    "celsius": "degC",
    "f": "degF",
    "°f": "degF",
    "fahrenheit": "degF",
    "k": "kelvin",
    "mph": "mile/hour",
    "kmh": "kilometer/hour",
    "km/h": "kilometer/hour",
    "kph": "kilometer/hour",
    "sqm": "meter**2",
    "lbs": "pound",
    "kilo": "kilogram",
    "kilos": "kilogram",
    "fl oz": "fluid_ounce",
    "fl. oz": "fluid_ounce",
    "mpg": "mile/gallon",
    "mb": "megabyte",
    "gb": "gigabyte",
    "kb": "kilobyte",
    "tb": "terabyte",
}
"""What people write, where it differs from what pint reads (to pint, F is a farad)."""

BITS = {"Kb": "kilobit", "Mb": "megabit", "Gb": "gigabit", "Tb": "terabit"}
"""A small b after a capital means bits; to pint it is a barn."""

POWERED = re.compile(r"(?<=[A-Za-z])([23])(?![0-9])")
"""The exponent of m2, cm3 and the like."""

SUPERSCRIPTS = str.maketrans({"²": "2", "³": "3"})

EXPONENT = re.compile(r"(?:\*\*|\^)\s*-?[1-9](?![0-9])")
"""The only numbers a unit may hold; with others pint would set out to compute 9**9**9."""


def convert_units(arguments: JsonObject) -> JsonObject:
    """Return `value` of the unit `from` in the unit `to`."""
    source, target = _unit(arguments["from"]), _unit(arguments["to"])
    if source.dimensionality != target.dimensionality:
        raise ToolInputRejected(
            f"{arguments['from']} measures {_dimension(source)}, "
            f"{arguments['to']} measures {_dimension(target)}: there is no conversion.",
            "Choose two units of the same kind.",
        )
    try:
        quantity = _registry().Quantity(arguments["value"], source)
        _refuse_below_absolute_zero(quantity)
        result = float(quantity.to(target).magnitude)
    except (OverflowError, ArithmeticError, ValueError, TypeError):
        result = math.inf
    if not math.isfinite(result):
        raise ToolInputRejected("The result is too large to write.", "Use a larger unit.")
    rounded = float(f"{result:.12g}")
    return {
        "result": int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded,  # noqa: PLR2004
        "unit": str(target),
        "from_unit": str(source),
    }


def _refuse_below_absolute_zero(quantity: "pint.Quantity[float]") -> None:
    if quantity.units.dimensionality != {"[temperature]": 1} or "delta_" in str(quantity.units):
        return
    if quantity.to("kelvin").magnitude < -TOLERANCE:
        raise ToolInputRejected(
            "There is no temperature below absolute zero (−273.15 °C).",
            "Use a higher temperature, or delta_degC for a difference.",
        )


@cache
def _registry() -> "pint.UnitRegistry[float]":
    import pint  # takes a good part of a second, and few processes need it

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def _unit(name: str) -> "pint.Unit":
    import pint

    plain = name.translate(SUPERSCRIPTS).strip()
    spelled = BITS.get(plain) or SPELLINGS.get(plain.lower(), POWERED.sub(r"**\1", plain))
    bare = EXPONENT.sub("", spelled)
    readable = bool(plain) and not any(letter.isdigit() for letter in bare) and "**" not in bare
    chained = re.search(r"[0-9]\s*(\*\*|\^)", spelled)
    for candidate in (spelled, spelled.lower()) if readable and not chained else ():
        try:
            return _registry().parse_units(candidate)
        except (pint.PintError, ValueError, TypeError, SyntaxError, AttributeError, KeyError):
            continue
        except (ArithmeticError, AssertionError, RecursionError, MemoryError):
            break
        except Exception as problem:  # pint tokenises as Python does and lets its errors out
            if type(problem).__module__ not in ("tokenize", "pint.errors"):
                raise
    raise ToolInputRejected(
        f"“{name}” is not a unit that is known here.",
        "Write it out in the singular: kilometer, pound, degC, liter, meter/second.",
    )


def _dimension(unit: "pint.Unit") -> str:
    return str(unit.dimensionality).replace("[", "").replace("]", "") or "a plain number"


TOOLS = (
    Builtin(
        name="convert_units",
        title="Convert units",
        description=(
            "Convert a quantity between units of length, mass, volume, area, speed, temperature, "
            "time, energy, pressure, data and more."
        ),
        category="math",
        input_schema=record(
            {
                "value": number("How much.", -LARGEST, LARGEST),
                "from": text(
                    "The unit it is in.", limit=60, at_least=1, examples=["mile", "degF", "km/h"]
                ),
                "to": text(
                    "The unit to convert to.", limit=60, at_least=1, examples=["kilometer", "degC"]
                ),
            }
        ),
        output_schema=record(
            {
                "result": produced("number", "How much it is in the other unit."),
                "unit": produced("string", "The unit of the result."),
                "from_unit": produced("string", "The unit it was in."),
            }
        ),
        ai_agent=guidance(
            "When the user wants a measure in another unit: miles in kilometres, Fahrenheit in "
            "Celsius, pounds in kilograms, cups in millilitres.",
            "No currencies and no shoe sizes.",
            "Convert 26.2 miles to kilometers",
            "What is 100 degrees Fahrenheit in Celsius?",
            "How many grams are 5 pounds?",
            "How many liters are in 3 gallons?",
        ),
        run=convert_units,
    ),
)
