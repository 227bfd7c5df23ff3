"""Streams of events: their format, and that no event is lost or told twice."""

from __future__ import annotations

import json
from itertools import pairwise
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

import outfitter_client as oc
from outfitter_client.events import Parser
from tests.clients.conftest import Open
from tests.fakes.web_server import Exchange, WebServer

STREAM = {"Content-Type": "text/event-stream"}


def event(name: str, data: object, number: int = 0) -> str:
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


@given(st.text(), st.lists(st.integers(0, 400), max_size=8))
def test_events_are_the_same_however_the_bytes_are_cut(text: str, cuts: list[int]) -> None:
    sent = f": alive\n\n{event('said', {'text': text}, 7)}retry: 3\r\n\r\n".encode(errors="replace")
    places = sorted({0, len(sent), *(cut for cut in cuts if cut < len(sent))})
    parser = Parser()
    read = [each for start, end in pairwise(places) for each in parser.feed(sent[start:end])]
    kept = text.encode(errors="replace").decode()
    assert read == [oc.Event("said", {"text": kept}, "7")]


def test_a_turn_that_broke_off_goes_on_behind_its_last_event(
    open_client: Open, server: WebServer
) -> None:
    conversation = "/api/v1/conversations/c1"
    said = [event("turn.started", {}, 1), event("text.delta", {"text": "Hel"}, 2)]
    rest = [event("text.delta", {"text": "lo\u2028!"}, 3), event("turn.completed", {}, 4)]

    def begin(it: Exchange) -> None:
        it.answer("".join(said), headers={**STREAM, "Turn-Id": "t1"})

    def go_on(it: Exchange) -> None:
        it.answer("".join(rest), headers=STREAM)

    server.on(f"{conversation}/messages/", begin)
    server.on(f"{conversation}/turns/t1/events/", go_on)
    both = open_client(server.url)
    chat = both.do("chat", conversation="c1")
    turn = chat.send("Hi")
    read = both.wait(turn if hasattr(turn, "__aiter__") else iter(turn))
    assert [each.id for each in read] == ["1", "2", "3", "4"]
    assert (turn.id, turn.text, turn.status) == ("t1", "Hello\u2028!", "completed")
    assert server.asked[1].headers["last-event-id"] == "2"


def test_a_run_that_broke_off_tells_nothing_twice(open_client: Open, server: WebServer) -> None:
    run = str(uuid4())
    step = {"id": "s1", "status": "running"}
    first = [event("step", step, 1), event("run", {"id": run, "status": "running"}, 2)]
    again = [*first, event("step", {**step, "status": "succeeded"}, 3)]
    sent = [first, [*again, event("end", {"status": "succeeded"}, 4)]]
    server.on(
        f"/api/v1/runs/{run}/events/", lambda it: it.answer("".join(sent.pop(0)), headers=STREAM)
    )
    both = open_client(server.url)
    handle = both.do("get_run", run)
    read = both.do("events", of=handle)
    told = [(each.name, each.data["status"]) for each in read]
    assert told == [
        ("step", "running"),
        ("run", "running"),
        ("step", "succeeded"),
        ("end", "succeeded"),
    ]
    assert handle.status == "succeeded"


def test_a_stream_that_breaks_off_again_and_again_is_given_up(
    open_client: Open, server: WebServer
) -> None:
    run = str(uuid4())
    server.on(f"/api/v1/runs/{run}/events/", lambda it: it.answer(": alive\n\n", headers=STREAM))
    both = open_client(server.url)
    with pytest.raises(oc.ConnectionFailed, match="broke off 3 times"):
        both.do("wait", of=both.do("get_run", run))
    assert len(server.asked) == 3
