"""Run turns: as tasks of one event loop per process, whoever watches or goes away."""

import asyncio
import logging
import threading
from dataclasses import dataclass
from functools import cache, partial
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q
from django.dispatch import receiver
from django.utils import timezone
from redis import Redis, RedisError

from chat import loop, queueing
from chat.asking import Asking
from chat.deciding import DecidedTools
from chat.endings import turn_close, turn_interrupt
from chat.errors import TurnBroken
from chat.event_log import EventLog
from chat.event_writer import announce
from chat.events import Event
from chat.llm import TextDelta, Usage
from chat.loop import Paused
from chat.models import Turn
from chat.models.turn import OPEN, TurnStatus
from chat.preparing import Ready, Sent, claim, made_ready
from chat.recording import Recorder
from chat.resuming import Standing, standing_of
from chat.secrecy import Secrecy
from chat.steps import StepLog
from chat.taking_up import (
    asked_open,
    hand_back,
    hand_back_missed,
    runs_hand_back,
    runs_waiting,
)
from chat.threads import in_thread
from chat.waiting import turn_wait
from config.lib import traces
from config.lib.errors import Conflict, DomainError
from config.lib.event_hub import hub
from config.lib.jsontext import storable
from config.lib.logs import hiding, noted
from config.lib.masking import log_failure
from config.lib.types import JsonObject
from sequences.signals import run_moved
from sequences.states import run_cancel

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 5
WATCHED_AFTER = 0.05
"""Seconds; the request to the model goes first, and a stop before that is found by then."""

_running: set[UUID] = set()
"""The turns that this process runs now."""


@dataclass(frozen=True, kw_only=True)
class _Taken:
    """A turn that this process has, ready or with what kept it from being made so."""

    turn: Turn
    secrecy: Secrecy
    standing: Standing
    log: EventLog
    recorder: Recorder
    cancel: threading.Event
    ready: Ready | Exception


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Start the loop in which this process runs its turns.

    It is a loop of its own, so that a turn outlives the request that started it and runs alike
    under every server.
    """
    event_loop = asyncio.new_event_loop()
    threading.Thread(target=event_loop.run_forever, name="chat-turns", daemon=True).start()
    return event_loop


def turn_start(turn_id: UUID, sent: Sent | None = None) -> None:
    """Run a queued turn in this process, in the background; `sent` spares reading it again."""
    asyncio.run_coroutine_threadsafe(run_turn(turn_id, sent), _event_loop())


def stop_announce(turn_id: UUID) -> None:
    """Wake the process that runs the turn; it finds `stop_requested_at` at the latest with its
    next heartbeat."""
    try:
        with Redis.from_url(settings.REDIS_URL) as redis:
            redis.publish(_stop_channel(turn_id), "stop")
    except RedisError as error:
        logger.warning("Redis did not take the stop of turn %s: %s", turn_id, error)


def turns_interrupt() -> None:
    """Close the turns that this process runs, because it ends; each of them can be continued."""
    for turn_id in list(_running):
        turn_interrupt(turn_id, Q())


@transaction.atomic
def turn_finish(
    turn_id: UUID,
    status: TurnStatus,
    *,
    usage: Usage | None = None,
    error: JsonObject | None = None,
) -> Event | None:
    """Close an open turn as `turn_close` does.

    Behind an answer the next message that waits is sent, in the same transaction. A turn of another
    agent that asked this one goes on, and what this one had asked of others is stopped with it.
    """
    answered = queueing.turn_locked(turn_id) if status == TurnStatus.COMPLETED else None
    last = turn_close(turn_id, status, usage=usage, error=error)
    if last is None:
        return None
    if outer := hand_back(turn_id):
        transaction.on_commit(partial(turn_start, outer))
    if status != TurnStatus.COMPLETED:
        transaction.on_commit(partial(_asked_stop, turn_id))
    if answered and (following := queueing.next_after(answered)):
        transaction.on_commit(partial(turn_start, following.pk))
    return last


def turn_stop(turn_id: UUID) -> None:
    """Ask a turn to stop; one that no process has, queued or waiting, is closed at once.

    Nothing happens to a turn that is over.
    """
    asked = Turn.objects.filter(pk=turn_id, status__in=OPEN).update(
        stop_requested_at=timezone.now()
    )
    if not asked:
        return
    with transaction.atomic():
        # the lock keeps a process from claiming it meanwhile
        locked = Turn.objects.select_for_update().get(pk=turn_id)
        if locked.status in {TurnStatus.QUEUED, TurnStatus.WAITING}:
            turn_finish(turn_id, TurnStatus.STOPPED)
    transaction.on_commit(partial(stop_announce, turn_id))


def _asked_stop(turn_id: UUID) -> None:
    """Stop what a turn that broke off had asked of other agents, and the runs that wait for it."""
    for asked in asked_open(turn_id):
        turn_stop(asked.pk)
    for run in runs_waiting(turn_id):
        try:
            run_cancel(run)
        except Conflict:
            logger.info("Run %s ended just before its turn did", run.pk)


def _missed(turn_id: UUID) -> list[UUID]:
    """Return the turns that need not wait: what they wait for came before they did."""
    return [*hand_back_missed(turn_id), *runs_hand_back(turn_id=turn_id)]


@receiver(run_moved)
def _run_moved(run_id: UUID, **_: object) -> None:
    """Let the turn go on that waited for a run, whoever answered the run, and where."""
    for turn_id in runs_hand_back(run_id=run_id):
        turn_start(turn_id)


async def run_turn(turn_id: UUID, sent: Sent | None = None) -> None:
    """Carry out a queued turn; do nothing when somebody else has it already."""
    with noted(turn_id=turn_id), traces.span("turn") as span:
        await _run_turn(turn_id, sent, span)


async def _run_turn(turn_id: UUID, sent: Sent | None, span: traces.Span) -> None:
    try:
        taken = await in_thread(_take, turn_id, sent)
        if taken is None:
            return
        status, ending = await _observed(taken, span)
        if not await in_thread(Turn.objects.filter(pk=turn_id, status=TurnStatus.RUNNING).exists):
            return  # it was closed as interrupted, with what it had said
        await taken.recorder.keep_half_said()
        await taken.log.close()
        usage, masker = taken.recorder.usage, taken.secrecy.masker
        if isinstance(ending, Paused):
            told = await in_thread(turn_wait, turn_id, ending, usage, masker)
            if told:
                announce(turn_id, told)
                for waits in await in_thread(_missed, turn_id):
                    turn_start(waits)
                return
            status, ending = TurnStatus.STOPPED, None
        await in_thread(turn_finish, turn_id, status, usage=usage, error=ending)
    except Exception:
        # the rows could not be written: the turn goes stale, and whoever looks at it closes it
        logger.exception("Turn %s could not be recorded", turn_id)
    finally:
        _running.discard(turn_id)


async def _observed(
    taken: _Taken, span: traces.Span
) -> tuple[TurnStatus, JsonObject | Paused | None]:
    """Carry a turn out, and tell its span whose it is and how it ended."""
    conversation = taken.turn.conversation
    with noted(user_id=conversation.user_id), hiding(taken.secrecy.masker):
        status, ending = await _carried_out(taken)
    span.rename(f"invoke_agent {conversation.agent.slug}")
    span.set(
        gen_ai__operation__name="invoke_agent",
        gen_ai__agent__name=conversation.agent.slug,
        gen_ai__conversation__id=str(conversation.pk),
        gen_ai__request__model=taken.turn.model,
        outfitter__turn__id=str(taken.turn.pk),
        outfitter__turn__status=status.value,
    )
    if status == TurnStatus.FAILED and isinstance(ending, dict):
        span.failed(str(ending["code"]))
    return status, ending


def _take(turn_id: UUID, sent: Sent | None) -> _Taken | None:
    """Claim a turn and make it ready; return None when it is not to be had."""
    turn = claim(turn_id, sent)
    if turn is None:
        return None
    _running.add(turn_id)
    standing = Standing() if sent else standing_of(turn)
    secrecy = sent.secrecy if sent else Secrecy(turn.conversation)
    if not sent:
        secrecy.look()
    recorder = Recorder(turn_id, log := EventLog(turn_id), secrecy, standing.recorded)
    if standing.is_new:
        recorder.started(turn.model)
    cancel = threading.Event()
    ready: Ready | Exception
    try:
        ready = made_ready(turn, secrecy, standing, recorder, cancel)
    except Exception as problem:  # it is the turn's: the person is told of it
        ready = problem
    return _Taken(
        turn=turn,
        secrecy=secrecy,
        standing=standing,
        log=log,
        recorder=recorder,
        cancel=cancel,
        ready=ready,
    )


async def _carried_out(taken: _Taken) -> tuple[TurnStatus, JsonObject | Paused | None]:
    """Work on the turn until it ends, waits or is stopped; return how it came to that."""
    work = asyncio.create_task(_work(taken))
    watch = asyncio.create_task(_watch(taken.turn.pk))
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            return TurnStatus.STOPPED, None
        if paused := await work:
            return TurnStatus.WAITING, paused
    except DomainError as error:
        return TurnStatus.FAILED, taken.secrecy.masker.value(storable(error.as_dict()))
    except Exception:  # the boundary: the person is told that it is not their fault
        log_failure(logger, taken.secrecy.masker, "Turn %s broke", taken.turn.pk)
        return TurnStatus.FAILED, TurnBroken().as_dict()
    finally:
        taken.cancel.set()
        for task in (work, watch):
            task.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)
    return TurnStatus.COMPLETED, None


async def _work(taken: _Taken) -> Paused | None:
    """Drive the turn; return what it waits for, or nothing when it came to its answer."""
    if isinstance(taken.ready, Exception):
        raise taken.ready
    turn, ready, agent = taken.turn, taken.ready, taken.turn.conversation.agent
    model = Asking(
        [turn.model, *agent.fallback_models],
        agent.tool_protocol,
        StepLog(turn.pk, taken.secrecy.look),
    )
    steps = loop.run(
        ready.messages,
        model=model,
        tools=DecidedTools(ready.toolbox, taken.standing.decisions),
        max_steps=agent.max_steps,
        begun=taken.standing.begun,
    )
    keeping = asyncio.create_task(in_thread(ready.keep, turn.pk))
    try:
        async for event in steps:
            if not isinstance(event, TextDelta):
                await keeping  # the rows are there before anything is built on them
            await taken.recorder.take(event)
            if isinstance(event, Paused):
                return event
        return None
    finally:
        await asyncio.wait({keeping})


async def _watch(turn_id: UUID) -> None:
    """Keep the turn's heart beating; return when it is to stop."""
    await asyncio.sleep(WATCHED_AFTER)
    async with hub().listening(_stop_channel(turn_id)) as stops:
        while True:
            # woken early by the subscription too: a stop that came before it is found then
            await stops.wait(HEARTBEAT_SECONDS)
            try:
                if not await in_thread(_beat, turn_id):
                    return
            except DatabaseError as problem:  # nobody asked to stop; the next look may succeed
                logger.warning("Turn %s gave no sign of life: %s", turn_id, problem)


def _beat(turn_id: UUID) -> bool:
    """Tell that this process lives; return False when the turn is to stop or was closed.

    It is to stop, too, when the account was closed in whose name it calls tools.
    """
    running = Turn.objects.filter(pk=turn_id, status=TurnStatus.RUNNING, stop_requested_at=None)
    alive = running.filter(conversation__user__is_active=True)
    return bool(alive.update(heartbeat_at=timezone.now()))


def _stop_channel(turn_id: UUID) -> str:
    return f"turn:{turn_id}:stop"
