"""Say how a score came about: which word of the message gained what, in which text of the tool.

Computed only when somebody asks. All parts are in units of the score, so they sum to it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.lib.types import JsonObject
from registry.search.engine import Engine, Ranked
from registry.search.need import Need, read
from registry.search.weights import FIELDS, Weights
from registry.search.words import words_by_term

TEXT, FACTOR = "text", "factor"
"""Parts of a ranking that are told more closely here: by terms, and by what lifts."""

ALWAYS_TOLD = ("coverage", "clause", "passage", "limitations", "history", "dense")
"""Parts that programs are told of, 0 where a part was not counted."""

LIFTS = ("quality", "health", "popularity")
"""What multiplies a score, in the order of the engine's columns."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """What one term gained: `word` is how the message says it, `fields` where the tool does."""

    term: str
    word: str
    idf: float
    gain: float
    fields: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The parts of one score; `terms`, `added` and `factors` sum to it."""

    id: str
    score: float
    floor: float
    terms: tuple[Term, ...]
    added: Mapping[str, float]
    factors: Mapping[str, float]

    @property
    def total(self) -> float:
        """Return the sum of all that is told."""
        gained = sum(term.gain for term in self.terms)
        return gained + sum(self.added.values()) + sum(self.factors.values())

    @property
    def fields(self) -> dict[str, float]:
        """Return what each text of the tool gained, the largest first."""
        sums = dict.fromkeys(FIELDS, 0.0)
        for term in self.terms:
            for name, gain in term.fields.items():
                sums[name] += gain
        gained = ((name, gain) for name, gain in sums.items() if gain)
        return dict(sorted(gained, key=lambda item: -item[1]))

    def as_dict(self) -> JsonObject:
        """Return the parts as programs are told of them; all but `floor` sum to the score."""
        return {
            "terms": [
                {
                    "term": term.term,
                    "word": term.word,
                    "idf": term.idf,
                    "gain": term.gain,
                    "fields": dict(term.fields),
                }
                for term in self.terms
            ],
            **{name: self.added.get(name, 0.0) for name in ALWAYS_TOLD},
            **self.added,
            "factors": dict(self.factors),
            "floor": self.floor,
        }


def explain(
    engine: Engine, need: Need, ranked: Iterable[Ranked], weights: Weights | None = None
) -> list[Explanation]:
    """Return how each result of `engine.rank(need, weights=weights)` came by its score."""
    explained = _Explained(engine, need, weights or engine.weights)
    return [explained.of(result) for result in ranked]


class _Explained:
    """What all results of one need share."""

    def __init__(self, engine: Engine, need: Need, weights: Weights) -> None:
        self._engine, self._weights = engine, weights
        texts = (need.text, *need.queries)
        self._words = words_by_term(texts)
        self._gains: dict[str, dict[int, float]] = {}
        for text in texts:
            for term, slots, gains in engine.gains(read(text), weights):
                held = self._gains.setdefault(term, {})
                for slot, gain in zip(slots.tolist(), gains.tolist(), strict=True):
                    held[slot] = held.get(slot, 0.0) + gain

    def of(self, ranked: Ranked) -> Explanation:
        slot = self._engine.slot(ranked.id)
        parts = dict(ranked.parts)
        lift = parts.pop(FACTOR, 1.0)
        whole = sum(parts.values()) * lift
        # Rank tells parts as shares of the best text; here they are told in units of the score.
        scale = ranked.score / whole if whole else 0.0
        text = parts.pop(TEXT, 0.0) * scale
        return Explanation(
            id=ranked.id,
            score=ranked.score,
            floor=self._weights.floor,
            terms=self._terms(slot, text),
            added={name: value * scale for name, value in parts.items()},
            factors=self._factors(slot, ranked.score, lift),
        )

    def _terms(self, slot: int, text: float) -> tuple[Term, ...]:
        gained = {term: held[slot] for term, held in self._gains.items() if slot in held}
        total = sum(gained.values())
        terms = [
            Term(
                term=term,
                word=self._words.get(term, term),
                idf=self._engine.idf(term, self._weights),
                gain=text * gain / total,
                fields=self._fields(term, slot, text * gain / total),
            )
            for term, gain in gained.items()
            if total
        ]
        return tuple(sorted(terms, key=lambda term: (-term.gain, term.term)))

    def _fields(self, term: str, slot: int, gain: float) -> dict[str, float]:
        """Share a gain among the texts that say the term, by weight and count."""
        counts = self._engine.counts(term, slot)
        said = {
            name: weight * count
            for name, weight, count in zip(FIELDS, self._weights.of_texts, counts, strict=True)
            if weight * count
        }
        whole = sum(said.values())
        return {name: gain * share / whole for name, share in said.items()}

    def _factors(self, slot: int, score: float, lift: float) -> dict[str, float]:
        """Share what the lift adds among the causes, by how far each rises above 1."""
        factors = self._engine.lifts(slot, self._weights)
        added = score - score / lift if lift else 0.0
        rises = [factor - 1 for factor in factors]
        whole = sum(rises)
        return {
            name: added * rise / whole if whole else 0.0
            for name, rise in zip(LIFTS, rises, strict=True)
        }
