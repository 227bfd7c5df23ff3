# ruff: noqa: T201
"""Plain functions."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Literal


class Unit(Enum):
    METRE = "m"
    FOOT = "ft"


@dataclass
class Box:
    width: float
    height: float = 1.0


def area(
    box: Box, unit: Unit = Unit.METRE, rounding: Literal["up", "down"] = "up"
) -> dict[str, str]:
    """Measure a box.

    Args:
        box: The box that
            is measured.
        unit: Of its sides.
    """
    print("measuring", box.width)
    logging.getLogger("typed").warning("careful")
    return {"area": f"{box.width * box.height:g}{unit.value}2", "rounding": rounding}


async def later(days: Annotated[int, "How many"], names: list[str] | None = None) -> list[str]:
    """Wait."""
    await asyncio.sleep(0)
    return {*(names or []), date(2020, 1, 1 + days)}  # type: ignore[return-value]


def not_a_number() -> float:
    """Answer with NaN."""
    return float("nan")


def raw_bytes() -> dict[str, list[bytes]]:
    """Answer with bytes."""
    return {"parts": [b"x"]}


def untyped(value):
    """Say nothing of its parameter."""
    return value


def fails(kind: str) -> None:
    """Fail."""
    if kind == "exit":
        raise SystemExit(3)
    raise LookupError("nothing there")


def _helper() -> None:
    """Private."""
