"""How much each term of a text leads, and how the texts of one need are put together."""

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats

LEAST = 1e-6
"""What a term counts at the least, so that what it says can still be told."""


def leads(
    idf: Floats, is_quoted: NDArray[np.bool_] | None, *, rarest: float, rarity: float, quoted: float
) -> Floats:
    """Return what the factor of each term is multiplied by.

    IDF lets one rare word of a long message outweigh what the message is about, a name mostly.
    Its share of the rarest word's IDF to the power of `rarity` leads instead. Terms that stand in
    quotes alone are what is worked on more than what is wanted; they count `quoted` times.
    """
    tempered = (np.maximum(idf, 1e-9) / rarest) ** (rarity - 1) if rarest else np.ones_like(idf)
    if is_quoted is not None:
        tempered[is_quoted] *= max(quoted, LEAST)
    result: Floats = tempered
    return result


def best_clause(by_term: Floats, clauses: list[list[int]]) -> Floats:
    """Return the score of each candidate (column) by the one clause that fits it best.

    `clauses` are the rows of each clause's terms.
    """
    best = np.zeros(by_term.shape[1])
    for rows in clauses:
        np.maximum(best, by_term[rows].sum(axis=0), out=best)
    return best


PLACE = 0.1
"""By how much of its best score each place in the order of a sub-query comes after the one before,
so that two sub-queries take turns where both have many that fit."""

AGREED = 0.5
"""What the mean over all texts of a need counts beside the turn of a sub-query."""


def together(totals: Floats) -> Floats:
    """Return one score for each candidate (column) by its score for each text (row).

    The first row is of the message, the others of sub-queries. Each of these gets its turn, so
    that the tools for one need do not take all places; the message only adds to the mean.
    """
    if len(totals) == 1:
        alone: Floats = totals[0]
        return alone
    most = totals.max(axis=1, keepdims=True)
    shares = np.divide(totals, most, out=np.zeros_like(totals), where=most > 0)
    asked = shares[1:]
    places = _places(asked)
    turns = np.maximum(asked - PLACE * places, 0.0).max(axis=0)
    result: Floats = turns + AGREED * shares.mean(axis=0)
    return result


def taken_together(totals: Floats) -> tuple[Floats, Floats]:
    """Return what `together` makes of scores, as sums: factors by text and candidate, and a rest.

    `(factors * totals).sum(axis=0) + rest` is what `together` returns; for explanations.
    """
    if len(totals) == 1:
        return np.ones_like(totals), np.zeros(totals.shape[1])
    most = totals.max(axis=1, keepdims=True)
    inverse = np.divide(1.0, most, out=np.zeros_like(most), where=most > 0)
    factors = np.broadcast_to(AGREED / len(totals) * inverse, totals.shape).copy()
    asked = totals[1:] * inverse[1:]
    places = _places(asked)
    turns = asked - PLACE * places
    best, columns = turns.argmax(axis=0), np.arange(totals.shape[1])
    has_turn = turns[best, columns] > 0
    factors[1 + best, columns] += np.where(has_turn, inverse[1 + best, 0], 0.0)
    rest: Floats = np.where(has_turn, -PLACE * places[best, columns], 0.0)
    return factors, rest


def _places(scores: Floats) -> Floats:
    """Return the place of each score in its row, 0 for the best; equals share the first of theirs.

    Where a document lies in the index must not decide between them.
    """
    rows = [np.searchsorted(np.sort(-row), -row).astype(np.float64) for row in scores]
    places: Floats = np.array(rows)
    return places
