"""The event log: order, resuming, and readers that come and go."""

import asyncio
from contextlib import aclosing

import pytest

from chat.event_log import COALESCE_SECONDS, EventLog
from chat.events import event_append, events_after
from chat.following import follow
from chat.llm import Usage
from chat.models import Turn
from chat.models.turn import TurnStatus
from chat.streams import html_stream, json_stream
from chat.threads import in_thread
from chat.turns import turn_finish
from config.lib.event_streams import sse
from tests import factories
from tests.factories import make_turn

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def turn(alice) -> Turn:
    return make_turn(
        conversation=factories.make_conversation(alice),
        number=1,
        model="demo/offline",
        status=TurnStatus.RUNNING,
    )


async def collected(events) -> list:
    async with aclosing(events) as followed:
        return [event async for event in followed]


async def test_a_reader_that_comes_late_reads_all_from_the_rows(turn):
    await in_thread(event_append, turn.pk, "turn.started", {"model": "x"})
    await in_thread(turn_finish, turn.pk, TurnStatus.COMPLETED)
    events = await collected(follow(turn.pk))
    assert [(event.number, event.name) for event in events] == [
        (1, "turn.started"),
        (2, "turn.completed"),
    ]


async def test_a_reader_resumes_behind_the_last_event_it_saw(turn):
    for number in range(4):
        await in_thread(event_append, turn.pk, "text.delta", {"text": str(number)})
    await in_thread(turn_finish, turn.pk, TurnStatus.COMPLETED)
    events = await collected(follow(turn.pk, after=3))
    assert [event.number for event in events] == [4, 5]


async def test_a_reader_follows_live_and_hears_each_event_once(turn):
    log = EventLog(turn.pk)
    reader = follow(turn.pk)
    await log.append("turn.started", {})
    first = await anext(reader)
    await log.append("tool.call", {"id": "a"})
    second = await anext(reader)
    # a row that nobody announced is found as soon as the next one is heard of
    await in_thread(event_append, turn.pk, "tool.progress", {"id": "a"})
    await log.append("tool.result", {"id": "a"})
    third, fourth = await anext(reader), await anext(reader)
    await reader.aclose()
    assert [e.number for e in (first, second, third, fourth)] == [1, 2, 3, 4]


async def test_the_first_words_go_at_once_and_those_that_come_together_are_one_event(turn):
    log = EventLog(turn.pk)
    for word in ("One ", "two ", "three."):
        await log.say(word)
    await log.append("tool.call", {})
    events = await in_thread(events_after, turn.pk, 0)
    assert [(event.name, event.data) for event in events] == [
        ("text.delta", {"text": "One "}),
        ("text.delta", {"text": "two three."}),
        ("tool.call", {}),
    ]


async def test_words_after_a_pause_go_at_once_too(turn):
    log = EventLog(turn.pk)
    for said, word in enumerate(("One", "two", "three")):
        await log.say(word)
        await asyncio.sleep(3 * COALESCE_SECONDS)
        async with asyncio.timeout(60):  # it is written beside, by a thread of its own
            while not (events := await in_thread(events_after, turn.pk, said)):
                await asyncio.sleep(0.01)
        assert [event.data for event in events] == [{"text": word}]


async def test_words_are_written_when_nothing_follows_them(turn):
    log = EventLog(turn.pk)
    await log.say("Alone")
    async with aclosing(follow(turn.pk)) as events:
        event = await asyncio.wait_for(anext(events), 60)
    assert event.data == {"text": "Alone"}


async def test_the_json_stream_has_ids_names_and_ends(turn):
    await in_thread(event_append, turn.pk, "text.delta", {"text": "Grüße"})
    await in_thread(turn_finish, turn.pk, TurnStatus.COMPLETED, usage=Usage(input_tokens=1))
    lines = await collected(json_stream(turn))
    assert lines[0] == 'id: 1\nevent: text.delta\ndata: {"text": "Grüße"}\n\n'
    assert lines[-1].startswith("id: 2\nevent: turn.completed\n")


async def test_the_page_stream_brings_a_page_up_to_date_from_where_it_was(turn):
    await in_thread(event_append, turn.pk, "text.delta", {"text": "Hello "})
    await in_thread(event_append, turn.pk, "text.delta", {"text": "**you**"})
    await in_thread(turn_finish, turn.pk, TurnStatus.COMPLETED)
    whole = await collected(html_stream(turn))
    resumed = await collected(html_stream(turn, after=1))
    assert f"beforeend:#turn-{turn.pk}-parts" in whole[0]
    assert "Hello <strong>you</strong>" in resumed[0]
    assert "beforeend" not in resumed[0], "the part is on the page already"
    assert resumed[-1].startswith("id: 3\nevent: end\n")


async def test_a_page_that_saw_everything_is_told_that_it_is_over(turn):
    last = await in_thread(turn_finish, turn.pk, TurnStatus.COMPLETED)
    events = await collected(html_stream(turn, after=last.number))
    assert [event.split("\n")[1] for event in events] == ["event: turn", "event: end"]


def test_data_of_several_lines_keeps_them():
    assert sse("a\nb", "turn", 3) == "id: 3\nevent: turn\ndata: a\ndata: b\n\n"
    assert sse("a\u2028b\x85", "turn", 3) == "id: 3\nevent: turn\ndata: a\u2028b\x85\n\n"
