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
    "other": ("Other", "score-lift", ()),
    "lift": ("Quality, health, popularity", "score-lift", ()),
}
"""What a bar is stacked of: its words, its colour, and the texts of the tool that it sums up."""

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
    segments: Sequence[Segment]
    fields: Sequence[tuple[str, float]]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One result: its bar, its words and its other parts. `taken` is what limitations took off."""

    segments: Sequence[Segment]
    floor: float
    terms: Sequence[TermBar]
    parts: Sequence[tuple[str, float, str]]
    taken: float
    told: str


def legend() -> list[tuple[str, str]]:
    """Return the words and the colour of each part."""
    return [(label, css) for name, (label, css, _) in PARTS.items() if name != "other"]


def picture_of(explanation: Explanation) -> Picture:
    """Return the picture of one result."""
    values = _values(explanation)
    parts = [
        (label, values[name], css)
        for name, (label, css, _) in PARTS.items()
        if abs(values[name]) >= SMALLEST
    ]
    words = ", ".join(f"{label.lower()} {value:.2f}" for label, value, _ in parts)
    return Picture(
        segments=_stacked(values, 1.0),
        floor=_percent(explanation.floor),
        terms=_term_bars(explanation.terms),
        parts=parts,
        taken=explanation.added.get("limitations", 0.0),
        told=f"Score {explanation.score:.2f} of 1, floor {explanation.floor:.2f}: {words}.",
    )


def _values(explanation: Explanation) -> dict[str, float]:
    fields, added = explanation.fields, dict(explanation.added)
    added.pop("limitations", None)
    values = {
        name: sum(fields.get(text, 0.0) for text in texts) if texts else added.pop(name, 0.0)
        for name, (_, _, texts) in PARTS.items()
    }
    values["lift"] = sum(explanation.factors.values())
    values["other"] = sum(added.values())
    return values


def _term_bars(terms: Sequence[Term]) -> list[TermBar]:
    most = max((term.gain for term in terms), default=0.0)
    return [
        TermBar(
            term=term,
            segments=_stacked(_by_part(term), most),
            fields=[
                (BOUNDS[name].label, gain)
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
