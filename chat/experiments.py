"""What the conversations of an experiment came to."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.db.models import Avg, BigIntegerField, Count, F, Max, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from agents.models import Experiment
from agents.models.experiment import Letter
from chat.comparison import Compared, Sample, compare
from chat.models import Message, Turn
from chat.models.message import Role
from chat.models.turn import OPEN, TurnStatus

_UNPRICED = Q(cost=None, usage__has_key="input_tokens")
"""Turns that used tokens of a model whose price is not known."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One conversation of an experiment."""

    conversation: UUID
    letter: str
    sample: Sample


@dataclass(frozen=True, kw_only=True)
class Results:
    """Both arms side by side; `enough` says that each has as many conversations as planned."""

    experiment: Experiment
    counts: dict[str, int]
    compared: list[Compared]

    @property
    def enough(self) -> bool:
        """Tell whether something may be concluded."""
        return min(self.counts.values()) >= self.experiment.planned

    @property
    def is_empty(self) -> bool:
        """Tell whether no conversation has ended a turn yet."""
        return not any(self.counts.values())


def results_of(experiment: Experiment) -> Results:
    """Compare the arms of an experiment by the conversations that it has had until now."""
    samples: dict[str, list[Sample]] = {letter: [] for letter in Letter.values}
    for row in rows_of(experiment):
        samples[row.letter].append(row.sample)
    return Results(
        experiment=experiment,
        counts={letter: len(found) for letter, found in samples.items()},
        compared=compare(samples[Letter.A], samples[Letter.B], planned=experiment.planned),
    )


def rows_of(experiment: Experiment) -> Iterator[Row]:
    """Yield each conversation that has ended a turn while the experiment ran, oldest first."""
    turns = _turns_of(experiment)
    calls = _calls_by_conversation(turns)
    grouped = turns.values("conversation_id", "conversation__arm__letter").annotate(
        turns=Count("pk"),
        answered=Count("pk", filter=Q(status=TurnStatus.COMPLETED)),
        latency=Avg(F("finished_at") - F("created_at")),
        input_tokens=Sum(_tokens("usage__input_tokens")),
        output_tokens=Sum(_tokens("usage__output_tokens")),
        spent=Sum("cost"),
        unpriced=Count("pk", filter=_UNPRICED),
        began=Max("conversation__created_at"),
    )
    for found in grouped.order_by("began", "conversation_id").iterator():
        made, failed = calls[found["conversation_id"]]
        yield Row(
            conversation=found["conversation_id"],
            letter=found["conversation__arm__letter"],
            sample=Sample(
                turns=found["turns"],
                answered=found["answered"] == found["turns"],
                calls=made,
                failed_calls=failed,
                latency_ms=round(found["latency"].total_seconds() * 1000, 1),
                tokens=found["input_tokens"] + found["output_tokens"],
                cost=_cost(found["spent"], found["unpriced"]),
            ),
        )


def _turns_of(experiment: Experiment) -> QuerySet[Turn]:
    """Return the turns that ended and began while the experiment ran."""
    turns = Turn.objects.filter(conversation__arm__experiment=experiment).exclude(status__in=OPEN)
    if experiment.ended_at:
        turns = turns.filter(created_at__lte=experiment.ended_at)
    return turns.filter(finished_at__isnull=False)


def _calls_by_conversation(turns: QuerySet[Turn]) -> dict[UUID, tuple[int, int]]:
    """Return how many tool calls each conversation made, and how many of them failed."""
    counted = (
        Message.objects.filter(turn__in=turns, role=Role.TOOL)
        .values("turn__conversation_id")
        .annotate(calls=Count("pk"), failed=Count("pk", filter=Q(result__status="failed")))
        .values_list("turn__conversation_id", "calls", "failed")
    )
    found: dict[UUID, tuple[int, int]] = defaultdict(lambda: (0, 0))
    found.update({conversation: (calls, failed) for conversation, calls, failed in counted})
    return found


def _cost(total: Decimal | None, unpriced: int) -> float | None:
    """Return what a conversation cost; a part of it that is not known makes all of it unknown."""
    return None if total is None or unpriced else float(total)


def _tokens(path: str) -> Coalesce:
    return Coalesce(Cast(KT(path), BigIntegerField()), 0)
