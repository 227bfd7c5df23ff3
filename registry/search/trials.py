"""Try rankings on a labelled set: ours, and what ours is compared with.

A trial is timed as a search is: from the words of the query to the ranked list.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.evaluation import DEPTH, Judged
from registry.search.labelled import LabelledQuery
from registry.search.weights import Weights

Told = Callable[[], None]
"""Called after each query, for a bar of progress."""

Ranking = Callable[[LabelledQuery], tuple[Sequence[str], int]]
"""Returns the ids of the best tools, the best first, and how many of them reach the floor."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What came of ranking every query of a set once."""

    name: str
    build_ms: float
    judged: tuple[Judged, ...]


def own_trial(
    tools: Iterable[SearchDocument],
    queries: Iterable[LabelledQuery],
    weights: Weights | None = None,
    *,
    told: Told = lambda: None,
) -> Trial:
    """Rank the queries by the product's own engine."""
    started = time.perf_counter()
    engine = Engine.build(tools, weights)
    build_ms = _since(started)
    return Trial(
        name="outfitter",
        build_ms=build_ms,
        judged=judged_by(engine_ranking(engine), queries, told=told),
    )


def engine_ranking(engine: Engine) -> Ranking:
    """Return the ranking of an engine with its own weights."""
    floor = engine.weights.floor

    def rank(query: LabelledQuery) -> tuple[Sequence[str], int]:
        ranked = engine.rank(query.need, limit=DEPTH)
        return [item.id for item in ranked], sum(item.score >= floor for item in ranked)

    return rank


def okapi_trial(
    tools: Iterable[SearchDocument],
    queries: Iterable[LabelledQuery],
    *,
    told: Told = lambda: None,
) -> Trial:
    """Rank the queries by rank-bm25's BM25Okapi over names and descriptions, as it comes.

    Texts are cut by `lower().split()` and nothing else. It has no floor, so whatever scores above
    zero counts as found; tools that score alike stand in the order of the file. History is not
    looked at: joined to the query it makes this ranking worse.
    """
    from rank_bm25 import BM25Okapi  # only this comparison needs it

    names, texts = [], []
    for tool in tools:
        names.append(tool.id)
        texts.append(f"{tool.name} {tool.description}".lower().split())
    started = time.perf_counter()
    index = BM25Okapi(texts) if any(texts) else None
    build_ms = _since(started)

    def rank(query: LabelledQuery) -> tuple[Sequence[str], int]:
        if index is None:
            return [], 0
        scores = index.get_scores(query.query.lower().split())
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        found = [place for place in best if scores[place] > 0]
        return [names[place] for place in found], len(found)

    return Trial(name="rank-bm25", build_ms=build_ms, judged=judged_by(rank, queries, told=told))


def judged_by(
    rank: Ranking, queries: Iterable[LabelledQuery], *, told: Told = lambda: None
) -> tuple[Judged, ...]:
    """Rank each query once and return what came of it, with the time it took."""
    return tuple(_judged(rank, query, told) for query in queries)


def _judged(rank: Ranking, query: LabelledQuery, told: Told) -> Judged:
    started = time.perf_counter()
    ranked, kept = rank(query)
    took_ms = _since(started)
    told()
    return Judged(
        relevant=query.relevant,
        ranked=tuple(ranked),
        kept=kept,
        kind=query.kind,
        took_ms=took_ms,
    )


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
