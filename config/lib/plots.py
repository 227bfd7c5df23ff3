"""Plots as numbers that `components/plot.html` draws: scales, ticks, bars and lines.

Shapes lie in a box that is stretched to its place, words stand beside it as text of the page, so
that they can be read at every width. Colours are classes of the stylesheet.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

HEIGHT = 100
BUCKET = 10
"""Units of one bucket's width."""

GAP = 1.5
MOST_LABELS = 4
NBSP = "\u00a0"
_STEPS = (1, 2, 2.5, 5, 10)

Format = Callable[[float], str]


@dataclass(frozen=True, kw_only=True)
class Series:
    """One value for each bucket, None where there is none; `css` names its colour."""

    name: str
    css: str
    values: Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A rectangle; `told` is shown on pointing at it."""

    x: float
    y: float
    width: float
    height: float
    css: str
    told: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """A path, and dots for values that stand alone between gaps."""

    path: str
    css: str


@dataclass(frozen=True, kw_only=True)
class Plot:
    """What the component draws; `rows` is the same as a table, cell by cell its column and text."""

    id: str
    title: str
    told: str
    width: float
    legend: Sequence[Series]
    bars: Sequence[Bar]
    lines: Sequence[Line]
    grid: Sequence[float]
    y_labels: Sequence[str]
    x_labels: Sequence[str]
    header: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]
    height: int = HEIGHT

    @property
    def empty(self) -> bool:
        """Tell whether there is nothing to draw."""
        return not self.bars and not self.lines


def ceiling(value: float) -> float:
    """Return the next round number at or above a value; 1 for nothing."""
    if value <= 0:
        return 1.0
    power: float = 10 ** math.floor(math.log10(value))
    return next(step * power for step in _STEPS if step * power >= value * (1 - 1e-9))


def stacked(
    name: str,
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    words: Format,
) -> Plot:
    """Return bars, one for each label, with the series on top of each other."""
    heights = [sum(part.values[place] or 0 for part in series) for place in range(len(labels))]
    top = ceiling(max(heights, default=0))
    bars = []
    for place, label in enumerate(labels):
        floor = 0.0
        for part in series:
            value = part.values[place] or 0
            if value:
                bars.append(
                    Bar(
                        x=place * BUCKET + GAP,
                        y=_number(HEIGHT * (1 - (floor + value) / top)),
                        width=BUCKET - 2 * GAP,
                        height=_number(HEIGHT * value / top),
                        css=part.css,
                        told=f"{label}: {part.name} {words(value)}",
                    )
                )
                floor += value
    return _plot(name, title, labels, series, words, top, bars=bars)


def lined(
    name: str,
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    words: Format,
    *,
    most: float | None = None,
) -> Plot:
    """Return one line for each series; where there is no value it is broken off.

    The scale ends at `most`, such as 1 for shares, or at the next round number.
    """
    known = [value for part in series for value in part.values if value is not None]
    top = most or ceiling(max(known, default=0))
    lines = [Line(path=path, css=part.css) for part in series if (path := _path(part.values, top))]
    return _plot(name, title, labels, series, words, top, lines=lines)


def _path(values: Sequence[float | None], top: float) -> str:
    """Return the path through the middles of the buckets; a lone value is a short stroke."""
    steps: list[str] = []
    for place, value in enumerate(values):
        if value is None:
            continue
        x, y = _number((place + 0.5) * BUCKET), _number(HEIGHT * (1 - value / top))
        follows = place > 0 and values[place - 1] is not None
        goes_on = place + 1 < len(values) and values[place + 1] is not None
        steps.append(f"{'L' if follows else 'M'}{x} {y}")
        if not follows and not goes_on:
            steps.append(f"M{_number(x - BUCKET / 3)} {y}h{_number(2 * BUCKET / 3)}")
    return "".join(steps)


def _plot(
    name: str,
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    words: Format,
    top: float,
    *,
    bars: Sequence[Bar] = (),
    lines: Sequence[Line] = (),
) -> Plot:
    known = [value for part in series for value in part.values if value is not None]
    names = ", ".join(part.name.lower() for part in series)
    span = f"{labels[0]} to {labels[-1]}" if labels else "no time"
    highest = f"; the highest value is {words(max(known))}" if any(known) else "; nothing yet"
    rows = [
        [("When", label), *((part.name, _told(part.values[place], words)) for part in series)]
        for place, label in enumerate(labels)
    ]
    return Plot(
        id=name,
        title=title,
        told=f"{names.capitalize()} from {span}{highest}.",
        width=max(len(labels), 1) * BUCKET,
        legend=series,
        bars=bars,
        lines=lines,
        grid=(0, HEIGHT / 2, HEIGHT),
        y_labels=(words(top), words(top / 2), words(0)),
        x_labels=_spread(labels),
        header=("When", *(part.name for part in series)),
        rows=rows,
    )


def _told(value: float | None, words: Format) -> str:
    return "–" if value is None else words(value)


def _spread(labels: Sequence[str]) -> Sequence[str]:
    """Return a few of the labels, evenly apart, the first and the last among them."""
    if len(labels) <= MOST_LABELS:
        return labels
    last = len(labels) - 1
    return [labels[round(last * place / (MOST_LABELS - 1))] for place in range(MOST_LABELS)]


def _number(value: float) -> float:
    return round(value, 2)


def counted(value: float) -> str:
    """Return a count in few letters: 950, 1.2k, 3.4M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:.1f}".removesuffix(".0")


def lasting(milliseconds: float) -> str:
    """Return a duration: 12 ms, 1.5 s, 2 min."""
    if milliseconds < 1_000:  # noqa: PLR2004
        return f"{milliseconds:.0f}{NBSP}ms"
    if milliseconds < 120_000:  # noqa: PLR2004
        return f"{milliseconds / 1_000:.1f}".removesuffix(".0") + f"{NBSP}s"
    return f"{milliseconds / 60_000:.1f}".removesuffix(".0") + f"{NBSP}min"


def priced(dollars: float) -> str:
    """Return an amount of US dollars, small ones with more digits."""
    if dollars >= 1 or dollars == 0:
        return f"${dollars:,.2f}"
    return f"${dollars:.{max(2, 1 - math.floor(math.log10(dollars)))}f}"
