"""The numbers that ranking takes, with their bounds."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import NamedTuple

FIELDS = (
    "name",
    "description",
    "package",
    "category",
    "package_description",
    "parameters",
    "parameter_descriptions",
    "returns",
    "use_case",
    "examples",
)
"""The texts of a tool, in the order of the index's columns. Each has a weight of its name."""


class Bound(NamedTuple):
    """What one weight may be, and how a person is told of it."""

    group: str
    label: str
    help: str
    least: float
    most: float
    step: float


def _text(label: str, text: str) -> Bound:
    return Bound("Texts of a tool", label, text, 0.0, 5.0, 0.05)


def _part(label: str, text: str) -> Bound:
    return Bound("Parts of a score", label, text, 0.0, 2.0, 0.05)


def _factor(label: str, text: str) -> Bound:
    return Bound("Order of equals", label, text, 0.0, 0.5, 0.01)


BOUNDS: Mapping[str, Bound] = {
    "name": _text("Name", "Name and title of the tool."),
    "description": _text("Description", "What the tool says that it does."),
    "package": _text("Package", "Name of the package or server that brings it."),
    "category": _text("Category", "The category that it is filed under."),
    "package_description": _text("Package description", "What its package says of itself."),
    "parameters": _text("Parameter names", "Names of its arguments."),
    "parameter_descriptions": _text("Parameter descriptions", "What its arguments mean."),
    "returns": _text("Returns", "What it says that it answers with."),
    "use_case": _text("Use case", "When to use it, in the words of its guidance."),
    "examples": _text("Examples as text", "Words of its example messages, as part of its text."),
    "k1": Bound("BM25", "k1", "How much a word that a tool says again still adds.", 0.1, 5.0, 0.1),
    "b": Bound("BM25", "b", "How much long texts are held back, from not at all.", 0.0, 1.0, 0.05),
    "rarity": Bound(
        "BM25",
        "Rarity",
        "How far rare words lead over common ones; at 1 as their frequency has it.",
        0.0,
        2.0,
        0.05,
    ),
    "quoted": _part("Quoted words", "What words count that stand in quotes or code alone."),
    "corrected": _part(
        "Corrected words", "What a word counts that is read as another, since no tool holds it."
    ),
    "name_coverage": _part("Name coverage", "Share of the name's words that the message says."),
    "clause": _part("Best clause", "How well the one clause fits that fits best."),
    "passage": _part("Best example", "How much one example message is like the message."),
    "limitations": _part("Limitations", "Taken off for words of what the tool says it cannot do."),
    "history": Bound(
        "Parts of a score",
        "Earlier messages",
        "What the messages before add to one that does not stand alone.",
        0.0,
        4.0,
        0.05,
    ),
    "dense": _part("Meaning", "Share of the likeness in meaning, where vectors are installed."),
    "quality": _factor("Quality", "Lift of a tool with a full quality score."),
    "health": _factor("Health", "Lift of a tool that is known to work."),
    "popularity": _factor("Popularity", "Lift for ten times the downloads."),
    "floor": Bound("Limits", "Floor", "Relevance below which no tool is given.", 0.0, 1.0, 0.01),
    "per_package": Bound(
        "Limits", "Of one package", "Most results that one package may have.", 1.0, 50.0, 1.0
    ),
}


@dataclass(frozen=True, kw_only=True)
class Weights:
    """One setting of the ranking; the defaults measured best (`docs/reference/search-ranking.md`).

    The texts of a tool form one weighted text (term frequency = sum of weight and count), which
    BM25 ranks. The parts are added to that score as shares of the best one; the order of equals
    multiplies it by a little more than one.
    """

    name: float = 1.0
    description: float = 1.0
    package: float = 1.5
    category: float = 0.6
    package_description: float = 0.2
    parameters: float = 0.5
    parameter_descriptions: float = 0.5
    returns: float = 0.2
    use_case: float = 0.25
    examples: float = 0.1
    k1: float = 1.0
    b: float = 0.6
    rarity: float = 0.7
    quoted: float = 0.5
    corrected: float = 0.6
    name_coverage: float = 0.25
    clause: float = 0.4
    passage: float = 0.2
    limitations: float = 0.2
    history: float = 2.0
    dense: float = 0.75
    quality: float = 0.05
    health: float = 0.02
    popularity: float = 0.01
    floor: float = 0.1
    per_package: float = 3.0

    def __post_init__(self) -> None:
        """Refuse what lies out of bounds, with ValueError."""
        for name, value in self.as_dict().items():
            bound = BOUNDS[name]
            if not (math.isfinite(value) and bound.least <= value <= bound.most):
                raise ValueError(f"{name} must be from {bound.least:g} to {bound.most:g}.")
        if not any(getattr(self, name) for name in FIELDS):
            raise ValueError("At least one text of a tool must have a weight above 0.")

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "Weights":
        """Return the weights that a mapping names, the others by default.

        Raises ValueError, which names what is unknown, no number or out of bounds.
        """
        known = {field.name for field in fields(cls)}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"There is no weight {name!r}.")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name} must be a number.")  # noqa: TRY004 - told like the rest
        return cls(**{name: float(value) for name, value in values.items()})  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, float]:
        """Return all weights by name."""
        return asdict(self)

    @property
    def of_texts(self) -> tuple[float, ...]:
        """Return the weights of the texts in the order of `FIELDS`."""
        return tuple(getattr(self, name) for name in FIELDS)
