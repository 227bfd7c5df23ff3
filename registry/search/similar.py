"""Find the tools that are like one: its own words are the query."""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from registry.search.document import SearchDocument, terms_of
from registry.search.engine import Engine, Ranked
from registry.search.weights import FIELDS

MOST_TERMS = 40
"""Terms of the tool that are looked for, those that say the most."""

LEAST = 0.12
"""The share of its own words' score that a tool has to reach to be called like it."""

PACKAGE = {"package", "package_description"}

DENSE = 0.5
"""How much of the likeness is that of the vectors, where there are some."""


def query_of(document: SearchDocument, engine: Engine) -> dict[str, float]:
    """Return the terms that tell a tool from others, each with its weight.

    As in a query, a term that is said four times counts twice as much. The package's own words
    are left out, for they would find the rest of the package and not what does the same.
    """
    said: defaultdict[str, float] = defaultdict(float)
    for field, terms in zip(FIELDS, terms_of(document), strict=True):
        for term in () if field in PACKAGE else terms:
            said[term] += getattr(engine.weights, field)
    telling = {term: weight**0.5 for term, weight in said.items() if weight}
    best = sorted(telling, key=lambda term: (-telling[term] * engine.idf(term), term))
    return {term: telling[term] for term in best[:MOST_TERMS]}


def similar(
    engine: Engine,
    document: SearchDocument,
    mask: NDArray[np.bool_],
    limit: int,
    cosine: NDArray[np.floating] | None = None,
) -> list[Ranked]:
    """Return the tools in the mask that are the most like one, the nearest first.

    The score is the share of what the tool itself has by its own words, with `cosine` (by slot;
    NaN where a tool has no vector) mixed in where it is told.
    """
    terms = query_of(document, engine)
    if not terms:
        return []
    scores = engine.scores_of(terms)
    itself = engine.slot(document.id) if document.id in engine else None
    own = float(scores[itself]) if itself is not None else float(scores.max(initial=0.0))
    if own <= 0:
        return []
    text = np.minimum(scores / own, 1.0)
    score = text
    if cosine is not None:
        score = np.where(np.isnan(cosine), text, (1 - DENSE) * text + DENSE * np.maximum(cosine, 0))
    found = np.flatnonzero(mask & (score >= LEAST))
    if itself is not None:
        found = found[found != itself]
    ranked = sorted((-float(score[slot]), engine.id_of(slot), slot) for slot in found.tolist())
    return [
        Ranked(tool_id, round(-value, 4), {"text": round(float(text[slot]), 4)})
        for value, tool_id, slot in ranked[:limit]
    ]
