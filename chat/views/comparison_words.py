"""How a comparison is told and drawn."""

from dataclasses import dataclass

from chat.comparison import Compared, Summary, Unit, Verdict

WIDTH, LEFT, RIGHT = 340, 28, 72
"""Of the drawing, in its own units: letters stand left of the scale, values right of it."""

_SECOND = 1000

_VERDICTS = {
    Verdict.NO_DATA: "Nothing to compare yet.",
    Verdict.TOO_FEW: "Too few conversations to say.",
    Verdict.NO_DIFFERENCE: "No difference shown.",
    Verdict.A_BETTER: "A is better.",
    Verdict.B_BETTER: "B is better.",
    Verdict.A_MORE: "A has more.",
    Verdict.B_MORE: "B has more.",
}


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Where a value and its interval stand: in units of the drawing, from its left."""

    letter: str
    told: str
    y: int
    x: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Both values with their intervals on one scale, and its two ends in words."""

    marks: list[Mark]
    start: str
    end: str
    told: str


def words_of(compared: Compared) -> str:
    """Return the verdict in words, with the p-value that it goes by."""
    words = _VERDICTS[compared.verdict]
    if compared.p_adjusted is None or compared.verdict == Verdict.TOO_FEW:
        return words
    p = "p < 0.001" if compared.p_adjusted < 0.001 else f"p = {compared.p_adjusted:.3f}"  # noqa: PLR2004
    return f"{words[:-1]} ({p})."


def amount(value: float | None, unit: Unit) -> str:
    """Return a value as people write it; a dash where there is none."""
    if value is None:
        return "–"
    match unit:
        case Unit.SHARE:
            return f"{100 * value:.0f} %"
        case Unit.MILLISECONDS:
            return f"{value / _SECOND:.1f} s" if value >= _SECOND else f"{value:.0f} ms"
        case Unit.DOLLARS:
            return f"${value:.4f}"
        case Unit.TOKENS:
            return f"{value:,.0f}"
        case _:
            return f"{value:g}"


def drawn(compared: Compared) -> Drawing | None:
    """Return where everything stands; None where one of the arms has no value."""
    sides = (("A", compared.a), ("B", compared.b))
    if any(side.value is None for _, side in sides):
        return None
    unit = compared.measure.unit
    ends = [end for _, side in sides for end in _ends(side)]
    start, end = (0.0, 1.0) if unit is Unit.SHARE else (0.0, max(ends) or 1.0)
    span = WIDTH - LEFT - RIGHT

    def place(value: float) -> float:
        return round(LEFT + span * (min(value, end) - start) / (end - start), 1)

    marks = [
        Mark(
            letter=letter,
            told=amount(side.value, unit),
            y=14 + 22 * row,
            x=place(side.value or 0.0),
            low=place(_ends(side)[0]),
            high=place(_ends(side)[1]),
        )
        for row, (letter, side) in enumerate(sides)
    ]
    told = " ".join(f"{letter}: {amount(side.value, unit)}." for letter, side in sides)
    return Drawing(marks=marks, start=amount(start, unit), end=amount(end, unit), told=told)


def _ends(side: Summary) -> tuple[float, float]:
    value = side.value or 0.0
    low = value if side.low is None else side.low
    return low, value if side.high is None else side.high
