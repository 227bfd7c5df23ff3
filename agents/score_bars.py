"""The pictures of the search workbench: scores as stacked bars on a scale from 0 to 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from registry.search.explain import Explanation, Term
from registry.search.weights import BOUNDS

PARTS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "name": ("Name", "score-name", ("name",)),
    "description": ("Description", "score-description", ("description",)),
    "parameters": ("Parameters", "score-parameters", ("parameters", "parameter_descriptions")),
    "package": (
        "Package, category",
        "score-package",
        ("package", "category", "package_description"),
    ),
    "guidance": ("Other texts", "score-guidance", ("returns", "use_case", "examples")),
    "coverage": ("Name coverage", "score-coverage", ()),
    "clause": ("Best clause", "score-clause", ()),
    "passage": ("Best example", "score-passage", ()),
    "history": ("Earlier messages", "score-history", ()),
    "dense": ("Meaning", "score-dense", ()),
    "lift": ("Quality, health, popularity", "score-lift", ()),
}
"""What a bar is stacked of: its words, its colour, and the texts of the tool that it sums up."""

TAKEN: Mapping[str, str] = {
    "limitations": "Taken off for its limitations",
    "turn": "Taken off for its late turn",
    "shift": "The same for all, to join words and meaning",
}
"""Parts that are mostly below 0 and are in no bar."""

SMALLEST = 0.0005
"""Parts below are not drawn; nobody would see them."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A part of a bar in percent of the scale."""

    x: float
    width: float
    css: str
    label: str
    value: float


@dataclass(frozen=True, kw_only=True)
class TermBar:
    """What one word gained, as a bar of its own."""

    term: Term
    gain: float
    segments: Sequence[Segment]
    fields: Sequence[tuple[str, float]]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One result: its bar, its words and its other parts, `taken` those below 0.

    All are in units of the score that is told, and sum to it.
    """

    segments: Sequence[Segment]
    floor: float
    terms: Sequence[TermBar]
    parts: Sequence[tuple[str, float, str]]
    taken: Sequence[tuple[str, float]]
    clause: Sequence[str]
    reliance: float
    told: str


def legend() -> list[tuple[str, str]]:
    """Return the words and the colour of each part."""
    return [(label, css) for label, css, _ in PARTS.values()]


def picture_of(explanation: Explanation) -> Picture:
    """Return the picture of one result."""
    scale = explanation.score / explanation.ranking if explanation.ranking else 0.0
    values, taken = _values(explanation, scale)
    parts = [
        (label, values[name], css)
        for name, (label, css, _) in PARTS.items()
        if abs(values[name]) >= SMALLEST
    ]
    words = ", ".join(f"{label.lower()} {value:.2f}" for label, value, _ in parts)
    return Picture(
        segments=_stacked(values, 1.0),
        floor=_percent(explanation.floor),
        terms=_term_bars(explanation.terms, scale),
        parts=parts,
        taken=taken,
        clause=explanation.clause,
        reliance=explanation.reliance if values["history"] else 0.0,
        told=f"Score {explanation.score:.2f} of 1, floor {explanation.floor:.2f}: {words}.",
    )


def _values(
    explanation: Explanation, scale: float
) -> tuple[dict[str, float], list[tuple[str, float]]]:
    """Return the parts that make a bar, and those below 0, which shorten it."""
    fields = explanation.fields
    parts = {
        name: sum(fields.get(text, 0.0) for text in texts)
        if texts
        else explanation.added.get(name, 0.0)
        for name, (_, _, texts) in PARTS.items()
    }
    parts["lift"] = explanation.ranking - explanation.base
    values = {name: value * scale for name, value in parts.items()}
    taken = [(label, explanation.added[name] * scale) for name, label in TAKEN.items()]
    return values, [(label, value) for label, value in taken if abs(value) >= SMALLEST]


def _term_bars(terms: Sequence[Term], scale: float) -> list[TermBar]:
    most = max((term.gain for term in terms), default=0.0)
    return [
        TermBar(
            term=term,
            gain=term.gain * scale,
            segments=_stacked(_by_part(term), most),
            fields=[
                (BOUNDS[name].label, gain * scale)
                for name, gain in sorted(term.fields.items(), key=lambda item: -item[1])
            ],
        )
        for term in terms
    ]


def _by_part(term: Term) -> dict[str, float]:
    return {
        name: sum(term.fields.get(text, 0.0) for text in texts)
        for name, (_, _, texts) in PARTS.items()
    }


def _stacked(values: Mapping[str, float], whole: float) -> list[Segment]:
    segments, x = [], 0.0
    for name, (label, css, _) in PARTS.items():
        value = values[name]
        if value < SMALLEST or not whole:
            continue
        width = _percent(value / whole)
        segments.append(Segment(x=round(x, 2), width=width, css=css, label=label, value=value))
        x += width
    return segments


def _percent(share: float) -> float:
    return round(100 * share, 2)
