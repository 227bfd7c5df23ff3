"""How likely it is that a tool is what a message asks for: a scale of 0–1 with a floor.

The score of BM25 is no such scale: it grows with the message and with the registry, and the best
of many is high by chance. Here a few features of the best candidates and of the message's form are
weighed by a logistic regression. `python -m tests.registry.search.fit_relevance` fits it anew;
what the scale measures stands in `docs/reference/search-relevance.md`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats
from registry.search.form import EVERYDAY, Form

Likeness = NDArray[np.floating]

EVERYDAY_SHARE = 0.4
"""How much a term of everyday talk counts as a word of the need."""

COEFFICIENTS: Mapping[str, float] = {
    "words": 1.522,
    "name": 0.609,
    "fit": 1.067,
    "density": 0.612,
    "size": -0.378,
    "personal": -1.892,
    "asks": 0.753,
    "payload": 0.887,
    "named": 0.752,
    "talk": -1.038,
    "plain": 0.746,
}
"""Log-odds for each feature, in the order of `features`.

Fitted on the odd half of `tests/registry/search/no_answer.txt` against short requests and those of
six public sets, in registries of 1 to 100,000 tools; then scaled so that the result tells how often
the first tool is right. `size` is steeper than the likelihood alone would have it, so that the
floor lets equally little through by chance in few tools and in many."""

INTERCEPT = -3.737

WITH_MEANING: Mapping[str, float] = {
    "words": 0.772,
    "name": 0.379,
    "fit": 0.388,
    "density": 0.229,
    "size": -0.492,
    "personal": -2.038,
    "asks": 1.031,
    "payload": 0.776,
    "named": 0.509,
    "talk": -0.633,
    "plain": 0.352,
    "meaning": 4.006,
}
"""The same where the candidate and the message have vectors: `meaning` is their cosine.

Fitted by itself, in the same steps to the same scale, so that a floor means the same either way."""

BASE_WITH_MEANING = -3.089

LEAST_ODDS = -30.0
"""Log-odds below which nothing at all speaks for a candidate."""

MOST_SIZE = 4.0
"""Decadic logarithm of the size from which more tools bring no more finds by chance."""

FROM_HISTORY = 0.9
"""Share of the relevance of what was said before that a message keeps which goes on from there."""

EVENNESS = 0.5
"""Exponent of the share that a candidate has of the best score: 0 gives all the relevance of the
best, 1 its exact share, by which a message that hardly passes the floor keeps one alone."""

LOOKED_AT = 5
"""The best candidates among which the most relevant speaks for the message."""


def everyday(terms: Sequence[str]) -> Floats:
    """Return how much each term counts as a word of a need."""
    return np.array([EVERYDAY_SHARE if term in EVERYDAY else 1.0 for term in terms])


def features(
    gains: Floats,
    counts: Floats,
    coverage: Floats,
    *,
    rarest: float,
    size: int,
    wanted: int,
    form: Form,
) -> Floats:
    """Return a row of features for each candidate, in the order of `COEFFICIENTS`.

    `gains` is what each term (column) adds to each candidate's score (row), `counts` what each
    term counts, `coverage` the share of the candidate's name that is said, `rarest` the IDF of a
    term that one document holds, `size` the number of documents, `wanted` the number of terms of
    the message, with those that no document holds.
    """
    said = gains > 0
    words = said @ counts
    rows: NDArray[np.float64] = np.empty((len(gains), len(COEFFICIENTS)))
    rows[:, 0] = np.log1p(words)
    rows[:, 1] = coverage
    rows[:, 2] = np.log1p(gains @ counts / rarest) if rarest else 0.0
    rows[:, 3] = words / max(1, form.words)
    rows[:, 4] = min(math.log10(size + 10), MOST_SIZE)
    rows[:, 5:10] = (form.personal, form.asks, form.payload, form.named, form.talk)
    rows[:, 10] = form.plain * (said.sum(axis=1) >= wanted) * (words >= 1)
    return rows


_WORDS = np.array(list(COEFFICIENTS.values()))
_MEANING = np.array(list(WITH_MEANING.values()))


def relevance(rows: Floats, likeness: Likeness | None = None) -> float:
    """Return the relevance of the most relevant candidate, in 0–1.

    `likeness` is the cosine of each with the message, NaN where it has none. Without one, a
    candidate of which no word is said has no relevance.
    """
    most = float(_log_odds(rows, likeness).max(initial=-np.inf))
    return 1 / (1 + math.exp(-most)) if most > LEAST_ODDS else 0.0


def speaker(rows: Floats, likeness: Likeness | None = None) -> int | None:
    """Return the place of the most relevant candidate; None where nothing speaks for any."""
    odds = _log_odds(rows, likeness)
    return int(odds.argmax()) if len(odds) and odds.max() > LEAST_ODDS else None


def reasons(row: Floats, likeness: float | None = None) -> dict[str, tuple[float, float]]:
    """Return each feature of a candidate: its value, and what it adds in log-odds.

    The sum of what they add gives its relevance.
    """
    values, weights, base = row.tolist(), COEFFICIENTS, INTERCEPT
    if likeness is not None and not np.isnan(likeness):
        values, weights, base = [*values, float(likeness)], WITH_MEANING, BASE_WITH_MEANING
    told = zip(weights.items(), values, strict=True)
    return {**{name: (value, each * value) for (name, each), value in told}, "base": (1.0, base)}


def _log_odds(rows: Floats, likeness: Likeness | None) -> Floats:
    odds: Floats = rows @ _WORDS + INTERCEPT
    odds[rows[:, 0] <= 0] = -np.inf
    if likeness is not None:
        known = ~np.isnan(likeness)
        meant = rows[known] @ _MEANING[:-1] + likeness[known] * _MEANING[-1]
        odds[known] = meant + BASE_WITH_MEANING
    return odds


def spread(best: float, scores: Floats) -> Floats:
    """Return the relevance of each candidate, by that of the best and the scores in order."""
    if not len(scores) or scores[0] <= 0:
        return np.zeros(len(scores))
    share = np.clip(scores / scores[0], 0.0, 1.0)
    spread_out: Floats = best * share**EVENNESS
    return spread_out
