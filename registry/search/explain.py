"""Say how a score came about: which word of the message gained what, in which text of the tool.

Computed only when somebody asks, from the very figures that ranked (`registry/search/look.py`).
The parts of a tool add up and are multiplied by what lifts it: that is what orders the tools.
What is told as its score is the relevance of the best one, less by the root of its share of that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from config.lib.types import JsonObject
from registry.search.bm25 import Floats
from registry.search.dense import fusion
from registry.search.engine import Engine
from registry.search.look import Look
from registry.search.reading import words_by_term
from registry.search.relevance import FROM_HISTORY, reasons, speaker
from registry.search.scoring import taken_together
from registry.search.weights import FIELDS

Speaks = Literal["message", "query", "earlier", "nothing"]

PARTS = ("coverage", "clause", "passage", "limitations")
ADDED = (*PARTS, "history", "dense", "turn", "shift")
"""What is added to the gains of the terms; what was not counted is 0.

`turn` is what a tool loses that comes late in the order of the sub-query that it is for. `shift`
is the same for all: what brings words and meaning together into the range of the words' scores.
"""

LIFTS = ("quality", "health", "popularity")
"""What multiplies a score, in the order of the engine's columns."""


@dataclass(frozen=True, kw_only=True)
class Term:
    """What one term gained: `word` is how the message says it, `fields` where the tool does.

    `lead` is what its IDF is multiplied by (rarity, quotes). `is_corrected` says that the word is
    another, which no tool holds.
    """

    term: str
    word: str
    idf: float
    lead: float
    gain: float
    fields: Mapping[str, float]
    is_corrected: bool


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One thing that speaks for the relevance of the best, or against it, in log-odds."""

    name: str
    value: float
    gain: float


@dataclass(frozen=True, kw_only=True)
class Relevance:
    """How relevant the best is, and why: by which text of the need, and by which tool.

    The sum of the reasons is `odds`, of which the logistic function, `times` what earlier
    messages count, gives `value`.
    """

    value: float
    speaks: Speaks
    text: str
    tool: str
    times: float
    reasons: tuple[Reason, ...]

    @property
    def odds(self) -> float:
        """Return the sum of the reasons."""
        return sum(reason.gain for reason in self.reasons)

    def as_dict(self) -> JsonObject:
        """Return what programs are told: not the tool, which they may not be told of."""
        return {
            "value": self.value,
            "speaks": self.speaks,
            "times": self.times,
            "reasons": [
                {"name": each.name, "value": each.value, "gain": each.gain} for each in self.reasons
            ],
        }


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The parts of one score: `terms` and `added` sum up, `factors` multiply.

    `ranking` is the score that orders, `score` what is told of it: `relevance` times `share`.
    `clause` are the terms of the one clause that fits best, `reliance` how much the message leans
    on earlier ones, `corrected` the words that are read as others.
    """

    id: str
    score: float
    ranking: float
    relevance: Relevance
    share: float
    floor: float
    terms: tuple[Term, ...]
    added: Mapping[str, float]
    factors: Mapping[str, float]
    clause: tuple[str, ...]
    reliance: float
    corrected: Mapping[str, tuple[str, ...]]

    @property
    def total(self) -> float:
        """Return what the parts make, which is `ranking`."""
        return self.base * float(np.prod(list(self.factors.values())))

    @property
    def base(self) -> float:
        """Return what the parts make before anything lifts them."""
        return sum(term.gain for term in self.terms) + sum(self.added.values())

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
        """Return what programs are told."""
        return {
            "terms": [
                {
                    "term": term.term,
                    "word": term.word,
                    "corrected": term.is_corrected,
                    "idf": term.idf,
                    "lead": term.lead,
                    "gain": term.gain,
                    "fields": dict(term.fields),
                }
                for term in self.terms
            ],
            **self.added,
            "factors": dict(self.factors),
            "ranking": self.ranking,
            "relevance": self.relevance.as_dict(),
            "share": self.share,
            "reliance": self.reliance,
            "floor": self.floor,
        }


def explain(engine: Engine, look: Look, limit: int) -> list[Explanation]:
    """Return how each result of `engine.ranked(look, limit)` came by its score."""
    return list(_Explained(engine, look, limit).each())


class _Explained:
    """What all results of one need share."""

    def __init__(self, engine: Engine, look: Look, limit: int) -> None:
        self._engine, self._look = engine, look
        self._places = np.array(look.order[:limit], np.int32)
        self._slots = look.candidates[self._places]
        self._corrected = {
            term: others for text in look.texts for term, others in text.corrected.items()
        }
        said = [text.reading.text for text in look.texts]
        self._words = words_by_term(said, self._corrected)
        self._read_as = {other for others in self._corrected.values() for other in others}
        totals = np.array([each.total for each in look.scored])
        factors, rest = taken_together(totals)
        fused = fusion.fused_of(look.words, _meant(look), look.share)
        self._factors = fused.words * factors[:, self._places]
        self._added = {name: self._summed(name) for name in PARTS}
        self._added["limitations"] *= -1
        self._added |= {
            "history": fused.words * look.earlier.added[self._places],
            "dense": fused.meaning[self._places],
            "turn": fused.words * rest[self._places],
            "shift": np.full(len(self._places), fused.shift),
        }
        self._gains = self._by_term()
        self._told = {
            term: (float(text.gains.idf[column]), float(text.gains.leads[column]))
            for text in reversed(look.texts)
            for column, term in enumerate(text.gains.terms)
        }
        self._relevance = relevance_of(engine, look)

    def each(self) -> Iterator[Explanation]:
        """Yield the explanation of each result, the best first."""
        look = self._look
        shares = look.shares
        for rank, (place, slot) in enumerate(
            zip(self._places.tolist(), self._slots.tolist(), strict=True)
        ):
            share = float(shares[rank])
            yield Explanation(
                id=self._engine.id_of(slot),
                score=round(look.relevance * share, 4),
                ranking=float(look.score[place]),
                relevance=self._relevance,
                share=share,
                floor=look.weights.floor,
                terms=self._terms(rank, slot),
                added={name: float(self._added[name][rank]) for name in ADDED},
                factors=dict(zip(LIFTS, look.lifts[:, place].tolist(), strict=True)),
                clause=self._clause(place),
                reliance=look.earlier.reliance,
                corrected=self._corrected,
            )

    def _summed(self, name: str) -> Floats:
        """Return a part of all texts by result, in the units of the ranking."""
        values = np.array([getattr(each, name)[self._places] for each in self._look.scored])
        summed: Floats = (self._factors * values).sum(axis=0)
        return summed

    def _by_term(self) -> dict[str, Floats]:
        """Return what each term gains for each result, in the units of the ranking."""
        gained: dict[str, Floats] = {}
        for text, scored, factors in zip(
            self._look.texts, self._look.scored, self._factors, strict=True
        ):
            by_term = scored.gains_of(self._places) * (factors / (scored.most or 1.0))[:, None]
            for column, term in enumerate(text.gains.terms):
                gained[term] = gained.get(term, 0.0) + by_term[:, column]
        return gained

    def _terms(self, rank: int, slot: int) -> tuple[Term, ...]:
        terms = []
        for term, gains in self._gains.items():
            gain = float(gains[rank])
            if not gain:
                continue
            idf, lead = self._told[term]
            terms.append(
                Term(
                    term=term,
                    word=self._words.get(term, term),
                    idf=idf,
                    lead=lead,
                    gain=gain,
                    fields=self._fields(term, slot, gain),
                    is_corrected=term in self._read_as,
                )
            )
        return tuple(sorted(terms, key=lambda each: (-each.gain, each.term)))

    def _fields(self, term: str, slot: int, gain: float) -> dict[str, float]:
        """Share a gain among the texts that say the term, by weight and count."""
        counts = self._engine.counts(term, slot)
        said = {
            name: weight * count
            for name, weight, count in zip(FIELDS, self._look.weights.of_texts, counts, strict=True)
            if weight * count
        }
        whole = sum(said.values())
        return {name: gain * share / whole for name, share in said.items()}

    def _clause(self, place: int) -> tuple[str, ...]:
        """Return the words of the one clause of the message that fits a tool best."""
        text = self._look.texts[0]
        if not text.reading.clauses or not self._look.weights.clause:
            return ()
        gains = dict(
            zip(
                text.gains.terms,
                self._look.scored[0].gains_of(np.array([place], np.int32))[0].tolist(),
                strict=True,
            )
        )
        sums = [sum(gains.get(term, 0.0) for term in each) for each in text.reading.clauses]
        best = int(np.argmax(sums))
        if not sums[best]:
            return ()
        return tuple(self._words.get(term, term) for term in text.reading.clauses[best])


def _meant(look: Look) -> Floats:
    nothing = np.full(len(look.candidates), np.nan)
    return nothing if look.meant is None else look.meant.astype(np.float64)


def relevance_of(engine: Engine, look: Look) -> Relevance:
    """Return why the best is as relevant as it is."""
    by_text = look.by_text
    number = int(np.argmax(by_text))
    is_earlier = number == len(look.texts)
    if is_earlier and look.before and look.before_scored:
        text, scored = look.before, look.before_scored
    else:
        text, scored = look.texts[number], look.scored[number]
    rows = engine.features_of(look, text, scored)
    place = speaker(rows, look.near)
    if place is None:
        return Relevance(value=0.0, speaks="nothing", text="", tool="", times=1.0, reasons=())
    near = None if look.near is None else float(look.near[place])
    told = sorted(reasons(rows[place], near).items(), key=lambda item: -abs(item[1][1]))
    return Relevance(
        value=by_text[number],
        speaks="earlier" if is_earlier else "query" if number else "message",
        text=text.reading.text,
        tool=engine.id_of(int(look.candidates[look.first[place]])),
        times=FROM_HISTORY if is_earlier else 1.0,
        reasons=tuple(
            Reason(name=name, value=value, gain=gain) for name, (value, gain) in told if gain
        ),
    )
