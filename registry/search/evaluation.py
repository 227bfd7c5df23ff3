"""How good a ranking is, told in the measures of information retrieval.

Relevance is binary: a tool is what was wanted, or it is not. A query that nothing answers (small
talk, a wish that no tool fulfils) has no relevant tool. It counts in `no_answer_accuracy` alone,
and the others count in everything else, so that neither hides the other.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

DEPTH = 50
"""How many results of a ranking are kept; the deepest measure looks at ten."""


def ndcg(ranked: Sequence[str], relevant: Collection[str], at: int) -> float:
    """Return the normalised discounted cumulative gain of the first `at` results.

    DCG@k = Σ rel_i / log2(i + 1) over the places i = 1…k, divided by the DCG of the best possible
    order, which has min(k, number relevant) ones in front (Järvelin and Kekäläinen 2002,
    "Cumulated gain-based evaluation of IR techniques", with the log2 discount from place 1 on).
    """
    gain = sum(_discount(place) for place, name in _first(ranked, at) if name in relevant)
    ideal = sum(_discount(place) for place in range(1, min(at, len(relevant)) + 1))
    return gain / ideal if ideal else 0.0


def recall(ranked: Sequence[str], relevant: Collection[str], at: int) -> float:
    """Return the share of the relevant tools that are among the first `at` results."""
    found = sum(name in relevant for _, name in _first(ranked, at))
    return found / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str], at: int) -> float:
    """Return 1 / place of the first relevant result among the first `at`, 0 where there is none.

    Its mean over queries is MRR (Voorhees 1999, "The TREC-8 Question Answering Track Report").
    """
    place = first_place(ranked[:at], relevant)
    return 1 / place if place else 0.0


def first_place(ranked: Sequence[str], relevant: Collection[str]) -> int | None:
    """Return the place of the first relevant result, counted from 1; None where there is none."""
    return next((place for place, name in enumerate(ranked, 1) if name in relevant), None)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What was ranked for one query, and what was wanted.

    `ranked` is the best first, each tool once; of equal scores the ranking itself decides, by id.
    `kept` is how many of them reach the floor: the first ones, because scores only fall.
    """

    relevant: frozenset[str]
    ranked: tuple[str, ...]
    kept: int
    kind: str = ""
    took_ms: float = 0.0

    @property
    def above_floor(self) -> tuple[str, ...]:
        """Return the results that would be given to a model."""
        return self.ranked[: self.kept]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Means over queries; None where no query counts. Times are milliseconds per query.

    `recall_at_5_above_floor` is what is left of `recall_at_5` once what lies below the floor is
    dropped; `no_answer_accuracy` the share of the queries without an answer for which nothing
    reaches the floor.
    """

    queries: int
    no_answer_queries: int
    ndcg_at_5: float | None
    ndcg_at_10: float | None
    recall_at_5: float | None
    recall_at_10: float | None
    mrr_at_10: float | None
    recall_at_5_above_floor: float | None
    no_answer_accuracy: float | None
    p50_ms: float | None
    p95_ms: float | None

    def as_json(self) -> dict[str, float | int | None]:
        """Return it with the names that people know: `nDCG@5`, `recall@10`, …"""
        return {
            "queries": self.queries,
            "no_answer_queries": self.no_answer_queries,
            "nDCG@5": self.ndcg_at_5,
            "nDCG@10": self.ndcg_at_10,
            "recall@5": self.recall_at_5,
            "recall@10": self.recall_at_10,
            "MRR@10": self.mrr_at_10,
            "recall@5_above_floor": self.recall_at_5_above_floor,
            "no_answer_accuracy": self.no_answer_accuracy,
            "p50_ms": self.p50_ms,
            "p95_ms": self.p95_ms,
        }


def summary(judged: Iterable[Judged]) -> Summary:
    """Return the means over queries."""
    every = list(judged)
    answerable = [item for item in every if item.relevant]
    empty = [item for item in every if not item.relevant]
    times = [item.took_ms for item in every]
    return Summary(
        queries=len(answerable),
        no_answer_queries=len(empty),
        ndcg_at_5=_mean(ndcg(item.ranked, item.relevant, 5) for item in answerable),
        ndcg_at_10=_mean(ndcg(item.ranked, item.relevant, 10) for item in answerable),
        recall_at_5=_mean(recall(item.ranked, item.relevant, 5) for item in answerable),
        recall_at_10=_mean(recall(item.ranked, item.relevant, 10) for item in answerable),
        mrr_at_10=_mean(reciprocal_rank(item.ranked, item.relevant, 10) for item in answerable),
        recall_at_5_above_floor=_mean(
            recall(item.above_floor, item.relevant, 5) for item in answerable
        ),
        no_answer_accuracy=_mean(float(not item.kept) for item in empty),
        p50_ms=_percentile(times, 50),
        p95_ms=_percentile(times, 95),
    )


def by_kind(judged: Iterable[Judged]) -> Mapping[str, Summary]:
    """Return the summary of each kind of query, by name; queries without a kind are left out."""
    groups: dict[str, list[Judged]] = {}
    for item in judged:
        if item.kind:
            groups.setdefault(item.kind, []).append(item)
    return {kind: summary(groups[kind]) for kind in sorted(groups)}


def _first(ranked: Sequence[str], at: int) -> Iterable[tuple[int, str]]:
    return enumerate(ranked[:at], 1)


def _discount(place: int) -> float:
    return 1 / math.log2(place + 1)


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return round(fmean(known), 4) if known else None


def _percentile(values: Sequence[float], percent: int) -> float | None:
    return round(float(np.percentile(values, percent)), 3) if values else None
