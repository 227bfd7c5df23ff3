"""What other weights would do to the labelled queries, before they are put in force."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from agents.models import SearchCase
from agents.search_cases import all_cases
from agents.search_evaluations import Evaluated, evaluated
from registry.search.weights import Weights

MOST_CASES = 200
"""Labelled queries that are ranked while a person waits; each takes two searches."""

MOST_TOLD = 10

METRICS = (
    ("nDCG@5", "nDCG@5"),
    ("recall@5", "Recall@5"),
    ("MRR@10", "MRR"),
    ("no_answer_accuracy", "Nothing found where nothing fits"),
)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A mean over the labelled queries; None where none of them counts."""

    label: str
    before: float | None
    after: float | None

    @property
    def way(self) -> str:
        """Return how it moves: better, worse or same, as far as two digits show."""
        if self.before is None or self.after is None:
            return "same"
        moved = round(self.after, 2) - round(self.before, 2)
        return "better" if moved > 0 else "worse" if moved < 0 else "same"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The labelled queries by both weights. `mended` and `broken` count those that pass on one
    side alone; the queries themselves are told as far as they are the person's own."""

    cases: int
    left: int
    metrics: Sequence[Compared]
    passed_before: int
    passed_after: int
    mended: int
    broken: int
    own_mended: Sequence[SearchCase]
    own_broken: Sequence[SearchCase]


def effect_of(weights: Weights, user: User) -> Effect:
    """Rank the labelled queries of all agents by the weights in force and by these.

    Raises SearchTimeout.
    """
    known = all_cases()
    cases = list(known[:MOST_CASES])
    before, after = evaluated(cases), evaluated(cases, weights)
    passed = [
        (case, old.passed, new.passed)
        for case, old, new in zip(cases, before.results, after.results, strict=True)
    ]
    mended = [case for case, old, new in passed if new and not old]
    broken = [case for case, old, new in passed if old and not new]
    return Effect(
        cases=len(cases),
        left=max(0, known.count() - len(cases)) if len(cases) == MOST_CASES else 0,
        metrics=_compared(before, after),
        passed_before=before.passed,
        passed_after=after.passed,
        mended=len(mended),
        broken=len(broken),
        own_mended=_own(mended, user),
        own_broken=_own(broken, user),
    )


def _compared(before: Evaluated, after: Evaluated) -> list[Compared]:
    old, new = before.summary.as_json(), after.summary.as_json()
    return [
        Compared(label=label, before=old[name], after=new[name])
        for name, label in METRICS
        if old[name] is not None
    ]


def _own(cases: Sequence[SearchCase], user: User) -> list[SearchCase]:
    """Return those of the person's agents: what others say to theirs is theirs."""
    return [case for case in cases if case.agent.owner_id == user.pk][:MOST_TOLD]
