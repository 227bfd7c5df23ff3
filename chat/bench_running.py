"""Carry out the runs of test benches: by a worker, stoppable, gone on with after a crash."""

import asyncio
import logging
from datetime import timedelta
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from agents.credentials import known_values
from agents.models import Agent
from chat import llm
from chat.bench import cases_of, results_of, runs_of
from chat.bench_trial import Tried, tried
from chat.errors import BenchRunning
from chat.models import BenchResult, BenchRun
from chat.models.bench import BENCH_OPEN, LONGEST_TOOL, BenchState
from chat.threads import in_thread
from config.lib.errors import DomainError, InvalidInput
from config.lib.jsontext import clean_text, shortened, storable
from config.lib.masking import SHORTEST_RECODED, Masker
from config.lib.types import JsonObject
from registry.importing.errors import QueueUnavailable

logger = logging.getLogger(__name__)

TASK = "chat.run_bench"

AT_ONCE = 4
"""Cases that are tried side by side."""

CASE_SECONDS = 120
STALE_AFTER = timedelta(seconds=CASE_SECONDS + 30)
"""A run without a sign of life for this long has lost its worker; another one goes on with it."""

LONGEST_MODEL = 120
LONGEST_ANSWER = 1_000
ARGUMENTS_KEPT = 4_000
KEPT = 100
"""Runs of one agent that are kept."""


def bench_request(agent: Agent, *, by: User, model: str = "") -> BenchRun:
    """Ask for a run of all cases with `model`, or the agent's own; a worker carries it out.

    Raises InvalidInput where there is no case or no such name can be, and BenchRunning while a run
    of the agent has not ended.
    """
    model = clean_text(model).strip() or agent.model or settings.OUTFITTER_MODEL
    if len(model) > LONGEST_MODEL or any(character.isspace() for character in model):
        message = "Name a model as LiteLLM does: “provider/model”."
        raise InvalidInput(message, "Correct it.", problems=[{"path": "model", "message": message}])
    cases = list(cases_of(agent))
    if not cases:
        raise InvalidInput("The bench has no case.", "Add a prompt and the tool it should call.")
    try:
        with transaction.atomic():
            run = BenchRun.objects.create(agent=agent, model=model, requested_by=by)
            BenchResult.objects.bulk_create(
                BenchResult(run=run, place=place, prompt=case.prompt, expected=case.tool)
                for place, case in enumerate(cases, 1)
            )
    except IntegrityError:
        raise BenchRunning from None
    transaction.on_commit(lambda: _enqueue(run))
    return run


def bench_stop(run: BenchRun) -> None:
    """Stop a run: at once where no worker has it, else behind the cases that are being tried."""
    now = timezone.now()
    if BenchRun.objects.filter(pk=run.pk, state=BenchState.QUEUED).update(
        state=BenchState.STOPPED, finished_at=now, stop_requested_at=now
    ):
        return
    BenchRun.objects.filter(pk=run.pk, state=BenchState.RUNNING).update(stop_requested_at=now)


def bench_run(run_id: UUID) -> None:
    """Carry out a run that waits, or that lost its worker; the cases that are done stay done."""
    run = _claim(run_id)
    if run is None:
        return
    try:
        asyncio.run(_carried_out(run))
    except Exception:  # the boundary of a job: whatever happens, it must end
        logger.exception("The bench run %s failed unexpectedly", run_id)
        broken = DomainError("The run failed.", "Try again; the worker's log says why.")
        _end(run, BenchState.FAILED, error=broken.as_dict())


def benches_resume() -> int:
    """Hand the runs that nobody works on to a worker again; return how many."""
    lost = list(BenchRun.objects.filter(_takeable() & ~_fresh()))
    for run in lost:
        _enqueue(run)
    return len(lost)


def _claim(run_id: UUID) -> BenchRun | None:
    taken = BenchRun.objects.filter(_takeable(), pk=run_id).update(
        state=BenchState.RUNNING, attempt=F("attempt") + 1, heartbeat_at=timezone.now()
    )
    related = BenchRun.objects.select_related("agent__owner")
    return related.get(pk=run_id) if taken else None


def _takeable() -> Q:
    silent = Q(heartbeat_at__lt=timezone.now() - STALE_AFTER)
    return Q(state=BenchState.QUEUED) | Q(state=BenchState.RUNNING) & silent


def _fresh() -> Q:
    """Say which runs were asked for just now: their message is on its way."""
    return Q(state=BenchState.QUEUED, created_at__gt=timezone.now() - STALE_AFTER)


async def _carried_out(run: BenchRun) -> None:
    values = await in_thread(known_values, run.agent.owner, run.agent)
    masker = Masker(value for value in values if len(value) >= SHORTEST_RECODED)
    await asyncio.to_thread(llm.warm_up)  # so that no case is told to have taken that long
    left = await in_thread(list, results_of(run).filter(finished_at=None))
    for start in range(0, len(left), AT_ONCE):
        if not await in_thread(_beat, run):
            await in_thread(_end_if_stopped, run)
            return
        some = left[start : start + AT_ONCE]
        await asyncio.gather(*(_tried(run, result, masker) for result in some))
    await in_thread(_end, run, BenchState.DONE)
    await in_thread(_clear_old, run.agent)


async def _tried(run: BenchRun, result: BenchResult, masker: Masker) -> None:
    try:
        async with asyncio.timeout(CASE_SECONDS):
            outcome = await tried(run.agent, result.prompt, run.model)
    except TimeoutError:
        late = DomainError(f"The model took more than {CASE_SECONDS} seconds.", "Try again.")
        outcome = Tried(error=late.as_dict(), duration_ms=CASE_SECONDS * 1000)
    await in_thread(_keep, run, result, outcome, masker)


def _keep(run: BenchRun, result: BenchResult, outcome: Tried, masker: Masker) -> None:
    """Write what came of a case, unless another worker has the run by now."""
    usage = outcome.usage
    right = outcome.called == result.expected and not outcome.problem
    own = BenchRun.objects.filter(pk=run.pk, attempt=run.attempt)
    BenchResult.objects.filter(pk=result.pk, finished_at=None, run__in=own).update(
        called=clean_text(outcome.called)[:LONGEST_TOOL],
        arguments=shortened(masker.value(storable(outcome.arguments)), ARGUMENTS_KEPT),
        problem=masker.text(clean_text(outcome.problem))[:LONGEST_ANSWER],
        offered=result.expected in outcome.offered if result.expected else None,
        searches=outcome.searches,
        answer=masker.text(outcome.answer)[:LONGEST_ANSWER],
        passed=right and outcome.error is None,
        error=masker.value(storable(outcome.error)),
        input_tokens=usage.input_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
        cost=usage.cost if usage else None,
        duration_ms=outcome.duration_ms,
        finished_at=timezone.now(),
    )


def _own(run: BenchRun) -> QuerySet[BenchRun]:
    return BenchRun.objects.filter(pk=run.pk, attempt=run.attempt, state=BenchState.RUNNING)


def _beat(run: BenchRun) -> bool:
    """Tell that this worker lives; False where the run is to stop, or is another's."""
    return bool(_own(run).filter(stop_requested_at=None).update(heartbeat_at=timezone.now()))


def _end(run: BenchRun, state: BenchState, error: JsonObject | None = None) -> None:
    _own(run).update(state=state, error=error, finished_at=timezone.now())


def _end_if_stopped(run: BenchRun) -> None:
    stopped = _own(run).filter(stop_requested_at__isnull=False)
    stopped.update(state=BenchState.STOPPED, finished_at=timezone.now())


def _clear_old(agent: Agent) -> None:
    old = runs_of(agent).exclude(state__in=BENCH_OPEN).values_list("pk", flat=True)[KEPT:]
    BenchRun.objects.filter(pk__in=list(old)).delete()


def _enqueue(run: BenchRun) -> None:
    try:
        current_app.send_task(TASK, args=[str(run.pk)], retry=False)
    except OperationalError:
        away = QueueUnavailable("The job queue cannot be reached, so nothing was tried.")
        BenchRun.objects.filter(pk=run.pk, state=BenchState.QUEUED).update(
            state=BenchState.FAILED, error=away.as_dict(), finished_at=timezone.now()
        )
