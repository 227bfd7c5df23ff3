"""How likely it is that a tool is what a message asks for: a scale of 0–1 with a floor.

The score of BM25 is no such scale: it grows with the message and with the registry, and the best
of many is high by chance. Here a few features of the best candidates and of the message's form are
weighed by a logistic regression. `python -m tests.registry.search.fit_relevance` fits it anew;
what the scale measures stands in `docs/reference/search-relevance.md`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from registry.search.bm25 import Floats
from registry.search.form import EVERYDAY, Form

EVERYDAY_SHARE = 0.4
"""How much a term of everyday talk counts as a word of the need."""

COEFFICIENTS: Mapping[str, float] = {
    "words": 1.604,
    "name": 0.398,
    "fit": 0.694,
    "density": 0.557,
    "size": -0.376,
    "personal": -2.368,
    "asks": 0.77,
    "payload": 0.814,
    "named": 0.628,
    "talk": -0.914,
}
"""Log-odds for each feature, in the order of `features`.

Fitted on the odd half of `tests/registry/search/no_answer.txt` against short requests and those of
six public sets, in registries of 1 to 100,000 tools; then scaled so that the result tells how often
the first tool is right. `size` is steeper than the likelihood alone would have it, so that the
floor lets equally little through by chance in few tools and in many."""

INTERCEPT = -3.291

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
    form: Form,
) -> Floats:
    """Return a row of features for each candidate, in the order of `COEFFICIENTS`.

    `gains` is what each term (column) adds to each candidate's score (row), `counts` what each
    term counts, `coverage` the share of the candidate's name that is said, `rarest` the IDF of a
    term that one document holds, `size` the number of documents.
    """
    said = gains > 0
    rows: NDArray[np.float64] = np.empty((len(gains), len(COEFFICIENTS)))
    rows[:, 0] = np.log1p(said @ counts)
    rows[:, 1] = coverage
    rows[:, 2] = np.log1p(gains @ counts / rarest) if rarest else 0.0
    rows[:, 3] = said @ counts / max(1, form.words)
    rows[:, 4] = min(np.log10(size + 10), MOST_SIZE)
    rows[:, 5:] = (form.personal, form.asks, form.payload, form.named, form.talk)
    rows[~said.any(axis=1)] = 0.0
    return rows


_WEIGHTS = np.array(list(COEFFICIENTS.values()))


def relevance(rows: Floats) -> float:
    """Return the relevance of the most relevant candidate; 0 where no word of it is said."""
    said = rows[rows[:, 0] > 0]
    if not len(said):
        return 0.0
    return float(1 / (1 + np.exp(-(float((said @ _WEIGHTS).max()) + INTERCEPT))))


def speaker(rows: Floats) -> int | None:
    """Return the place of the most relevant candidate; None where no word of any is said."""
    said = np.flatnonzero(rows[:, 0] > 0)
    return int(said[(rows[said] @ _WEIGHTS).argmax()]) if len(said) else None


def reasons(row: Floats) -> dict[str, float]:
    """Return what each feature of a candidate adds, in log-odds; the sum gives its relevance."""
    return {
        **dict(zip(COEFFICIENTS, (row * _WEIGHTS).tolist(), strict=True)),
        "base": INTERCEPT,
    }


def spread(best: float, scores: Floats) -> Floats:
    """Return the relevance of each candidate, by that of the best and the scores in order."""
    if not len(scores) or scores[0] <= 0:
        return np.zeros(len(scores))
    share = np.clip(scores / scores[0], 0.0, 1.0)
    spread_out: Floats = best * share**EVENNESS
    return spread_out
