"""Run turns: as tasks of one event loop per process, whoever watches or goes away."""

import asyncio
import logging
import threading
from datetime import timedelta
from functools import cache, partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from redis import Redis, RedisError
from redis import asyncio as aioredis

from agents.access import agent_context
from agents.experiments import arm_in_force
from chat import history, loop, queueing
from chat.asking import Asking
from chat.deciding import DecidedTools
from chat.errors import TurnBroken, TurnInterrupted
from chat.event_log import EventLog
from chat.event_writer import announce
from chat.events import Event, connect, event_append
from chat.injection import Toolbox
from chat.intent import extract_intent, recent_context
from chat.llm import Usage
from chat.loop import Paused
from chat.means import of_turn
from chat.models import Message, Turn
from chat.models.message import Role
from chat.models.turn import AT_WORK, OPEN, TurnStatus
from chat.prompt import system_prompt
from chat.recording import Recorder
from chat.resuming import Standing, half_said, recorded_of, standing_of
from chat.secrecy import Secrecy
from chat.selectors import path_to
from chat.steps import StepLog
from chat.taking_up import asked_open, hand_back, hand_back_missed
from chat.threads import in_thread
from chat.waiting import remembering, requests_close, turn_wait
from config.lib.errors import DomainError
from config.lib.jsontext import storable
from config.lib.masking import log_failure
from config.lib.types import JsonObject
from registry.models.invocation import Caller

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 5
STALE_AFTER = timedelta(seconds=30)
"""A turn without a sign of life for this long has lost its process."""

_running: set[UUID] = set()
"""The turns that this process runs now."""


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Start the loop in which this process runs its turns.

    It is a loop of its own, so that a turn outlives the request that started it and runs alike
    under every server.
    """
    event_loop = asyncio.new_event_loop()
    threading.Thread(target=event_loop.run_forever, name="chat-turns", daemon=True).start()
    return event_loop


def turn_start(turn_id: UUID) -> None:
    """Run a queued turn in this process, in the background."""
    asyncio.run_coroutine_threadsafe(run_turn(turn_id), _event_loop())


def stop_announce(turn_id: UUID) -> None:
    """Wake the process that runs the turn; it finds `stop_requested_at` at the latest with its
    next heartbeat."""
    try:
        with Redis.from_url(settings.REDIS_URL) as redis:
            redis.publish(_stop_channel(turn_id), "stop")
    except RedisError as error:
        logger.warning("Redis did not take the stop of turn %s: %s", turn_id, error)


def turns_close_stale(conversation_id: UUID | None = None) -> int:
    """Finish turns whose process is gone, so that their conversations can go on.

    They are those of one conversation or of all; returns how many were closed. A turn that waits
    for a person has no process and is left alone.
    """
    limit = timezone.now() - STALE_AFTER
    silent = Q(heartbeat_at__lt=limit) | Q(heartbeat_at=None, created_at__lt=limit)
    stale = Turn.objects.filter(silent, status__in=AT_WORK)
    if conversation_id is not None:
        stale = stale.filter(conversation_id=conversation_id)
    return sum(_interrupt(turn_id, silent) for turn_id in stale.values_list("pk", flat=True))


def turns_interrupt() -> None:
    """Close the turns that this process runs, because it ends; each of them can be continued."""
    for turn_id in list(_running):
        _interrupt(turn_id, Q())


@transaction.atomic
def _interrupt(turn_id: UUID, still: Q) -> bool:
    """Close a turn whose process is gone, and keep what it had said of its last message."""
    turn = Turn.objects.select_for_update().filter(still, pk=turn_id, status__in=AT_WORK).first()
    if turn is None:
        return False
    rows = list(turn.messages.order_by("position"))
    if text := half_said(turn_id, rows):
        position = recorded_of(turn, rows).position
        turn.messages.create(position=position, role=Role.ASSISTANT, content=text)
    return bool(turn_finish(turn_id, TurnStatus.FAILED, error=TurnInterrupted().as_dict()))


@transaction.atomic
def turn_finish(
    turn_id: UUID,
    status: TurnStatus,
    *,
    usage: Usage | None = None,
    error: JsonObject | None = None,
) -> Event | None:
    """Close an open turn together with its last event; return None when it is closed already.

    What it waited for is not asked any more. Without `usage` what was counted before stays. Behind
    an answer the next message that waits is sent, in the same transaction.
    """
    answered = queueing.turn_locked(turn_id) if status == TurnStatus.COMPLETED else None
    counted = {"usage": usage.as_json(), "cost": usage.cost} if usage else {}
    closed = Turn.objects.filter(pk=turn_id, status__in=OPEN).update(
        status=status, error=error, finished_at=timezone.now(), **counted
    )
    if not closed:
        return None
    requests_close(turn_id)
    if outer := hand_back(turn_id):
        transaction.on_commit(partial(turn_start, outer))
    if status != TurnStatus.COMPLETED:
        transaction.on_commit(partial(_asked_stop, turn_id))
    if answered and (following := queueing.next_after(answered)):
        transaction.on_commit(partial(turn_start, following.pk))
    told: JsonObject = {"error": error}
    if not error:
        usage_now = Turn.objects.values_list("usage", flat=True).get(pk=turn_id)
        told = {"status": status, "usage": usage_now}
    last = event_append(turn_id, "turn.failed" if error else "turn.completed", told)
    transaction.on_commit(partial(announce, turn_id, [last]))
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
    """Stop what a turn that broke off had asked of other agents."""
    for asked in asked_open(turn_id):
        turn_stop(asked.pk)


async def run_turn(turn_id: UUID) -> None:
    """Carry out a queued turn; do nothing when somebody else has it already."""
    turn = await in_thread(_claim, turn_id)
    if turn is None:
        return
    redis = connect()
    _running.add(turn_id)
    try:
        secrecy = Secrecy(turn.conversation)
        standing = await in_thread(standing_of, turn)
        recorder = Recorder(turn_id, log := EventLog(turn_id), secrecy, standing.recorded)
        status, ending = await _carried_out(turn, recorder, secrecy, standing, redis)
        if not await in_thread(Turn.objects.filter(pk=turn_id, status=TurnStatus.RUNNING).exists):
            return  # it was closed as interrupted, with what it had said
        await recorder.keep_half_said()
        await log.close()
        usage, masker = recorder.usage, secrecy.masker
        if isinstance(ending, Paused):
            told = await in_thread(turn_wait, turn_id, ending, usage, masker)
            if told:
                announce(turn_id, told)
                for outer in await in_thread(hand_back_missed, turn_id):
                    turn_start(outer)
                return
            status, ending = TurnStatus.STOPPED, None
        await in_thread(turn_finish, turn_id, status, usage=usage, error=ending)
    except Exception:
        # the rows could not be written: the turn goes stale, and whoever looks at it closes it
        logger.exception("Turn %s could not be recorded", turn_id)
    finally:
        _running.discard(turn_id)
        await redis.aclose()


async def _carried_out(
    turn: Turn,
    recorder: Recorder,
    secrecy: Secrecy,
    standing: Standing,
    redis: "aioredis.Redis",
) -> tuple[TurnStatus, JsonObject | Paused | None]:
    """Work on the turn until it ends, waits or is stopped; return how it came to that."""
    cancel = threading.Event()
    work = asyncio.create_task(_work(turn, recorder, secrecy, standing, cancel))
    watch = asyncio.create_task(_watch(turn.pk, redis))
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            return TurnStatus.STOPPED, None
        if paused := await work:
            return TurnStatus.WAITING, paused
    except DomainError as error:
        return TurnStatus.FAILED, secrecy.masker.value(storable(error.as_dict()))
    except Exception:  # the boundary: the person is told that it is not their fault
        log_failure(logger, secrecy.masker, "Turn %s broke", turn.pk)
        return TurnStatus.FAILED, TurnBroken().as_dict()
    finally:
        cancel.set()
        for task in (work, watch):
            task.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)
    return TurnStatus.COMPLETED, None


async def _work(
    turn: Turn,
    recorder: Recorder,
    secrecy: Secrecy,
    standing: Standing,
    cancel: threading.Event,
) -> Paused | None:
    """Drive the turn; return what it waits for, or nothing when it came to its answer."""
    if standing.is_new:
        await recorder.started(turn.model)
    toolbox, said = await in_thread(_equipped, turn, secrecy, standing, cancel)
    agent = turn.conversation.agent
    asked = [each for each in said if each["content"] != history.GO_ON]
    content = next(each["content"] for each in reversed(asked) if each["role"] == "user")
    found = await in_thread(toolbox.discover, extract_intent(content), recent_context(asked))
    if turn.found is None:
        await recorder.found(found)
    prompt = system_prompt(
        agent,
        toolbox.linked,
        deferred=toolbox.deferred,
        may_search=toolbox.may_search,
        may_run_code=toolbox.code is not None,
    )
    messages = secrecy.masker.value([{"role": "system", "content": prompt}, *said])
    model = Asking(
        [turn.model, *agent.fallback_models], agent.tool_protocol, StepLog(turn.pk, secrecy.look)
    )
    steps = loop.run(
        messages,
        model=model,
        tools=DecidedTools(toolbox, standing.decisions),
        max_steps=agent.max_steps,
        begun=standing.begun,
    )
    async for event in steps:
        await recorder.take(event)
        if isinstance(event, Paused):
            return event
    return None


def _claim(turn_id: UUID) -> Turn | None:
    """Take a queued turn for this process; return None when it is not to be had."""
    taken = Turn.objects.filter(pk=turn_id, status=TurnStatus.QUEUED).update(
        status=TurnStatus.RUNNING, heartbeat_at=timezone.now()
    )
    if not taken:
        return None
    related = ("conversation__agent", "conversation__user")
    return Turn.objects.select_related(*related).get(pk=turn_id)


def _equipped(
    turn: Turn, secrecy: Secrecy, standing: Standing, cancel: threading.Event
) -> tuple[Toolbox, list[JsonObject]]:
    """Return what the model may call and what was said until now.

    A message with calls that are still open is left to the loop.
    """
    conversation = turn.conversation
    arm = arm_in_force(conversation.arm_id)
    context = agent_context(
        conversation.agent,
        conversation.user,
        caller=Caller.CHAT,
        cancel=cancel,
        turn_id=turn.pk,
        arm=arm,
    )
    context = of_turn(context)
    context = context.derive(policy=remembering(context.policy, conversation.pk))
    told = Message.objects.filter(turn__in=path_to(turn.pk)).order_by("turn__number", "position")
    if standing.open_message is not None:
        told = told.exclude(turn=turn, position__gte=standing.open_message)
    secrecy.look()
    toolbox = Toolbox(turn, context, secrecy, arm)
    return toolbox, history.messages_for_model(list(told), taken_up=not standing.is_new)


async def _watch(turn_id: UUID, redis: "aioredis.Redis") -> None:
    """Keep the turn's heart beating; return when it is to stop."""
    async with redis.pubsub() as news:
        while await in_thread(_beat, turn_id):
            try:
                if not news.subscribed:
                    await news.subscribe(_stop_channel(turn_id))
                # an answer to the subscription or a stop wakes it early, which does no harm
                await news.get_message(timeout=HEARTBEAT_SECONDS)
            except RedisError:
                await asyncio.sleep(HEARTBEAT_SECONDS)


def _beat(turn_id: UUID) -> bool:
    """Tell that this process lives; return False when the turn is to stop or was closed."""
    alive = Turn.objects.filter(pk=turn_id, status=TurnStatus.RUNNING, stop_requested_at=None)
    return bool(alive.update(heartbeat_at=timezone.now()))


def _stop_channel(turn_id: UUID) -> str:
    return f"turn:{turn_id}:stop"
