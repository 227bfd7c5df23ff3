"""Run turns: as tasks of one event loop per process, whoever watches or goes away."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Sequence
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
from chat import history, llm, loop
from chat.errors import TurnBroken, TurnInterrupted
from chat.event_log import EventLog
from chat.event_writer import announce
from chat.events import Event, connect, event_append
from chat.injection import Toolbox
from chat.intent import extract_intent, recent_context
from chat.llm import Usage
from chat.means import of_turn
from chat.models import Message, Turn
from chat.models.turn import OPEN, TurnStatus
from chat.prompt import system_prompt
from chat.recording import Recorder
from chat.secrecy import Secrecy
from chat.selectors import path_to
from chat.threads import in_thread
from config.lib.errors import DomainError
from config.lib.jsontext import storable
from config.lib.masking import log_failure
from config.lib.types import JsonObject
from registry.models.invocation import Caller

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 5
STALE_AFTER = timedelta(seconds=30)
"""A turn without a sign of life for this long has lost its process."""


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


def turns_close_stale(conversation_id: UUID) -> None:
    """Finish a turn whose process is gone, so that the conversation can go on."""
    limit = timezone.now() - STALE_AFTER
    silent = Q(heartbeat_at__lt=limit) | Q(heartbeat_at=None, created_at__lt=limit)
    for turn in Turn.objects.filter(silent, conversation_id=conversation_id, status__in=OPEN):
        last = turn_finish(turn.pk, TurnStatus.FAILED, error=TurnInterrupted().as_dict())
        if last:  # told by whoever found it first; the others need not wait until they look
            transaction.on_commit(partial(announce, turn.pk, [last]))


@transaction.atomic
def turn_finish(
    turn_id: UUID,
    status: TurnStatus,
    *,
    usage: Usage | None = None,
    error: JsonObject | None = None,
) -> Event | None:
    """Close an open turn together with its last event; return None when it is closed already."""
    counted = usage.as_json() if usage else {}
    closed = Turn.objects.filter(pk=turn_id, status__in=OPEN).update(
        status=status,
        usage=counted,
        cost=usage.cost if usage else None,
        error=error,
        finished_at=timezone.now(),
    )
    if not closed:
        return None
    if error:
        return event_append(turn_id, "turn.failed", {"error": error})
    return event_append(turn_id, "turn.completed", {"status": status, "usage": counted})


async def run_turn(turn_id: UUID) -> None:
    """Carry out a queued turn; do nothing when somebody else has it already."""
    turn = await in_thread(_claim, turn_id)
    if turn is None:
        return
    redis = connect()
    try:
        secrecy = Secrecy(turn.conversation)
        recorder = Recorder(turn_id, log := EventLog(turn_id), secrecy)
        status, error = await _carried_out(turn, recorder, secrecy, redis)
        await recorder.keep_half_said()
        await log.close()
        last = await in_thread(turn_finish, turn_id, status, usage=recorder.usage, error=error)
        if last:
            announce(turn_id, [last])
    except Exception:
        # the rows could not be written: the turn goes stale, and whoever looks at it closes it
        logger.exception("Turn %s could not be recorded", turn_id)
    finally:
        await redis.aclose()


async def _carried_out(
    turn: Turn, recorder: Recorder, secrecy: Secrecy, redis: "aioredis.Redis"
) -> tuple[TurnStatus, JsonObject | None]:
    """Work on the turn until it ends or is stopped; return how it ended."""
    cancel = threading.Event()
    work = asyncio.create_task(_work(turn, recorder, secrecy, cancel))
    watch = asyncio.create_task(_watch(turn.pk, redis))
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            return TurnStatus.STOPPED, None
        await work
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


async def _work(turn: Turn, recorder: Recorder, secrecy: Secrecy, cancel: threading.Event) -> None:
    await recorder.started(turn.model)
    toolbox, said = await in_thread(_equipped, turn, secrecy, cancel)
    content = said[-1]["content"]
    found = await in_thread(toolbox.discover, extract_intent(content), recent_context(said))
    await recorder.found(found)
    agent = turn.conversation.agent
    prompt = system_prompt(
        agent,
        toolbox.toolset,
        may_search=toolbox.may_search,
        may_run_code=toolbox.code is not None,
    )
    messages = secrecy.masker.value([{"role": "system", "content": prompt}, *said])
    async for event in loop.run(messages, model=_model(turn.model), tools=toolbox):
        await recorder.take(event)


def _model(name: str) -> loop.Model:
    def ask(
        messages: Sequence[JsonObject], tools: Sequence[JsonObject], *, answer_only: bool
    ) -> AsyncIterator[llm.ModelEvent]:
        return llm.stream(name, messages, tools, answer_only=answer_only)

    return ask


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
    turn: Turn, secrecy: Secrecy, cancel: threading.Event
) -> tuple[Toolbox, list[JsonObject]]:
    """Return what the model may call and what was said until now."""
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
    rows = Message.objects.filter(turn__in=path_to(turn.pk)).order_by("turn__number", "position")
    secrecy.look()
    toolbox = Toolbox(conversation.agent, context, secrecy, arm)
    return toolbox, history.messages_for_model(list(rows))


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
