"""How well the tool search does what an agent's owner expects of it, now and over time.

Every case is ranked as the agent's owner would see it in a new conversation: with what they may
use, the scopes granted to the agent, and without what the agent denies. Linked tools do compete,
though a real turn has them at hand without a search: else linking a tool would make its cases
worthless, and unlinking it would turn up an old mistake unseen.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from celery import current_app
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from agents.models import Agent, AgentTool, SearchCase, SearchEvaluation
from agents.models.agent_tool import Approval
from agents.models.search_case import MEASURING, MeasureState
from agents.search_cases import all_cases, cases_of
from config.lib.errors import DomainError, InvalidInput
from config.lib.types import JsonObject
from registry.importing.errors import QueueUnavailable
from registry.loading import code_ids
from registry.search.evaluation import DEPTH, Judged, Summary, first_place, summary
from registry.search.in_force import weights_now
from registry.search.service import BELOW_FLOOR, NO_PLACE, search
from registry.search.variety import Hit
from registry.search.weights import Weights

logger = logging.getLogger(__name__)

TASK = "agents.measure_search"

LONGEST = timedelta(minutes=10)
"""After this a running measurement is taken for dead: its worker was stopped or killed."""

KEPT = 400
"""Measurements that are kept of one agent: more than a year of nights."""

PLACES = 5
"""Tools that count as found for an agent that finds none by itself."""

TOLD_EVERY = 10
"""Cases between two notes of how far a measurement is."""

Progress = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """What came of one case. `place` is that of the first expected tool, counted from 1.

    It has passed where every expected tool would be given to the model, or nothing would be where
    nothing is expected. `reason` says why not; `found` are the names of what would be given.
    """

    case_id: UUID
    passed: bool
    place: int | None
    score: float | None
    reason: str
    found: tuple[str, ...]
    judged: Judged

    def as_json(self) -> JsonObject:
        """Return what is kept of it."""
        return {
            "passed": self.passed,
            "place": self.place,
            "score": self.score,
            "reason": self.reason,
            "found": list(self.found),
        }


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """Cases ranked with one setting of the weights, and the means over them."""

    results: tuple[CaseResult, ...]
    summary: Summary

    @property
    def passed(self) -> int:
        """Return how many cases passed."""
        return sum(result.passed for result in self.results)

    def as_json(self) -> JsonObject:
        """Return the metrics as they are kept."""
        return {**self.summary.as_json(), "cases": len(self.results), "passed": self.passed}


def evaluated(
    cases: Iterable[SearchCase],
    weights: Weights | None = None,
    *,
    told: Progress = lambda done: None,
) -> Evaluated:
    """Rank cases, with other weights than those in force where some are given; save nothing.

    The cases bring their expected tools and their agents with owners (`all_cases`, `cases_of`).
    Raises SearchTimeout when a search takes too long.
    """
    denied: dict[UUID, frozenset[UUID]] = {}
    code = frozenset(code_ids())
    results = []
    for case in cases:
        if case.agent_id not in denied:
            denied[case.agent_id] = code | _denied_by(case.agent)
        results.append(_ranked(case, denied[case.agent_id], weights))
        told(len(results))
    return Evaluated(results=tuple(results), summary=summary(result.judged for result in results))


def evaluations_of(agent: Agent | None) -> QuerySet[SearchEvaluation]:
    """Return the measurements of an agent, or those of all agents together, newest first."""
    return SearchEvaluation.objects.filter(agent=agent).order_by("-created_at", "pk")


def evaluation_latest(agent: Agent | None) -> SearchEvaluation | None:
    """Return the last measurement that came to its end."""
    return evaluations_of(agent).filter(state=MeasureState.DONE).first()


def evaluation_request(
    agent: Agent | None, *, by: User | None, queued: bool = True
) -> SearchEvaluation:
    """Ask for a measurement and return it; one that has not ended is returned instead.

    Raises InvalidInput where there is nothing to measure.
    """
    cases = cases_of(agent) if agent else all_cases()
    total = cases.count()
    if not total:
        raise InvalidInput(
            "There is no labelled query to measure.",
            "Add one: say what a message should have found.",
        )
    _end_interrupted()
    try:
        with transaction.atomic():
            made = SearchEvaluation.objects.create(agent=agent, requested_by=by, total=total)
    except IntegrityError:
        return SearchEvaluation.objects.get(agent=agent, state__in=MEASURING)
    if queued:
        transaction.on_commit(lambda: _enqueue(made))
    return made


def evaluation_run(evaluation_id: UUID) -> Evaluated | None:
    """Carry out a measurement that waits; None when somebody else has it, or it failed."""
    claimed = SearchEvaluation.objects.filter(pk=evaluation_id, state=MeasureState.QUEUED).update(
        state=MeasureState.RUNNING, started_at=timezone.now()
    )
    if not claimed:
        return None
    evaluation = SearchEvaluation.objects.select_related("agent__owner").get(pk=evaluation_id)
    agent = evaluation.agent
    cases = list(cases_of(agent).select_related("agent__owner") if agent else all_cases())

    def told(done: int) -> None:
        if done % TOLD_EVERY == 0:
            _of(evaluation).update(done=done)

    try:
        found = evaluated(cases, told=told)
    except DomainError as error:
        _end(evaluation, MeasureState.FAILED, error=error.as_dict())
        return None
    except Exception:  # the boundary of a job: whatever happens, it must end
        logger.exception("The measurement %s failed unexpectedly", evaluation_id)
        broken = DomainError("The measurement failed.", "Try again; the worker's log says why.")
        _end(evaluation, MeasureState.FAILED, error=broken.as_dict())
        return None
    _end(
        evaluation,
        MeasureState.DONE,
        total=len(cases),
        done=len(cases),
        metrics=found.as_json(),
        ranks={str(result.case_id): result.as_json() for result in found.results},
        weights_version=weights_now().version or None,
    )
    _clear_old(agent)
    return found


def evaluate_all() -> int:
    """Measure every agent that has cases, and all of them together; return how many agents."""
    agents = Agent.objects.filter(search_cases__isnull=False).distinct().order_by("pk")
    count = 0
    for agent in agents.select_related("owner").iterator(chunk_size=100):
        try:
            evaluation_run(evaluation_request(agent, by=None, queued=False).pk)
        except InvalidInput:  # its last case has just been deleted
            continue
        count += 1
    if count:
        evaluation_run(evaluation_request(None, by=None, queued=False).pk)
    return count


def _ranked(case: SearchCase, exclude: frozenset[UUID], weights: Weights | None) -> CaseResult:
    agent = case.agent
    answer = search(
        case.query,
        user=agent.owner,
        recent=tuple(case.recent),
        limit=agent.max_found_tools or PLACES,
        at_hand=exclude,
        scopes=frozenset(agent.scopes),
        weights=weights,
    )
    expected = {tool.pk: tool for tool in case.expected.all()}
    # what is broken or not permitted is told, but it is no mistake of the ranking
    fit = [hit for hit in answer.hits if hit.reason in ("", BELOW_FLOOR, *NO_PLACE)][:DEPTH]
    names = [str(hit.tool_id) for hit in fit]
    judged = Judged(
        relevant=frozenset(map(str, expected)),
        ranked=tuple(names),
        kept=sum(hit.reason != BELOW_FLOOR for hit in fit),
        took_ms=answer.took_ms,
    )
    given = {hit.tool_id for hit in answer.found}
    passed = expected.keys() <= given if expected else not given
    place = first_place(names, judged.relevant)
    top = fit[place - 1 if place else 0] if fit else None
    return CaseResult(
        case_id=case.pk,
        passed=passed,
        place=place,
        score=top.score if top else None,
        reason="" if passed else _reason(case, answer.hits, given),
        found=tuple(hit.wire_name for hit in answer.found),
        judged=judged,
    )


def _reason(case: SearchCase, hits: Iterable[Hit], given: set[UUID]) -> str:
    """Say why a case did not pass."""
    reasons: Mapping[UUID, str] = {hit.tool_id: hit.reason for hit in hits}
    missing = [tool for tool in case.expected.all() if tool.pk not in given]
    if not missing:
        return "something was found"
    return "; ".join(
        f"{tool.wire_name}: "
        + ("deleted" if tool.deleted_at else reasons.get(tool.pk, "no word of it was said"))
        for tool in missing
    )


def _denied_by(agent: Agent) -> frozenset[UUID]:
    links = AgentTool.objects.filter(agent=agent, approval=Approval.DENY)
    return frozenset(links.values_list("tool_id", flat=True))


def _of(evaluation: SearchEvaluation) -> QuerySet[SearchEvaluation]:
    return SearchEvaluation.objects.filter(pk=evaluation.pk)


def _end(evaluation: SearchEvaluation, state: MeasureState, **values: Any) -> None:
    _of(evaluation).update(state=state, finished_at=timezone.now(), **values)


def _enqueue(evaluation: SearchEvaluation) -> None:
    try:
        current_app.send_task(TASK, args=[str(evaluation.pk)], retry=False)
    except OperationalError:
        _end(evaluation, MeasureState.FAILED, error=_queue_away().as_dict())


def _end_interrupted() -> None:
    before = timezone.now() - LONGEST
    dead = SearchEvaluation.objects.filter(state__in=MEASURING, created_at__lt=before)
    error = DomainError("The worker that measured was stopped.", "Measure again.")
    dead.update(state=MeasureState.FAILED, finished_at=timezone.now(), error=error.as_dict())


def _clear_old(agent: Agent | None) -> None:
    old = evaluations_of(agent).exclude(state__in=MEASURING).values_list("pk", flat=True)[KEPT:]
    SearchEvaluation.objects.filter(pk__in=list(old)).delete()


def _queue_away() -> QueueUnavailable:
    return QueueUnavailable("The job queue cannot be reached, so nothing was measured.")
