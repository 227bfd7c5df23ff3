"""The pictures of the found panel: bars that a person takes in at a glance."""

from collections.abc import Iterable
from dataclasses import dataclass

from config.lib.types import JsonObject

_BUDGET = (
    ("fixed", "search and code", "found-fixed"),
    ("linked", "linked", "found-linked"),
    ("kept", "kept from before", "found-kept"),
    ("found", "found now", "found-new"),
)

_PARTS = (
    ("text", "score-description"),
    ("coverage", "score-coverage"),
    ("clause", "score-clause"),
    ("passage", "score-passage"),
    ("history", "score-history"),
)
"""What adds to a score, with the colours of the search workbench."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A piece of a bar that is 100 wide."""

    css: str
    label: str
    value: float
    x: float
    width: float


def budget_segments(tokens: JsonObject) -> list[Segment]:
    """Return what takes how much of the budget for schemas; more than all of it fills the bar."""
    scale = max(tokens.get("budget", 0), tokens.get("spent", 0))
    pieces = ((css, label, tokens.get(name, 0)) for name, label, css in _BUDGET)
    return _stacked(pieces, scale)


def score_segments(entry: JsonObject) -> list[Segment]:
    """Return a bar as long as the score, divided in proportion to what added to it."""
    parts, score = entry.get("parts") or {}, entry.get("score") or 0
    pieces = [(css, name, parts.get(name) or 0) for name, css in _PARTS]
    total = sum(value for _, _, value in pieces if value > 0)
    if not total:
        return _stacked([("score-description", "score", score)], 1)
    return _stacked(pieces, total / score) if score > 0 else []


def _stacked(pieces: Iterable[tuple[str, str, float]], scale: float) -> list[Segment]:
    segments: list[Segment] = []
    x = 0.0
    for css, label, value in pieces:
        if value > 0 and scale > 0:
            width = min(100 * value / scale, 100 - x)
            segments.append(
                Segment(css=css, label=label, value=value, x=round(x, 2), width=round(width, 2))
            )
            x += width
    return segments
