"""`/api/v1/conversations/…`: the stream, JSON, resuming, stopping, refusals."""

import json
import uuid

import pytest
from django.test import Client

from agents.tokens import token_create
from chat.models import Conversation
from chat.models.turn import TurnStatus
from tests import factories
from tests.factories import make_turn
from tests.fakes.model_server import MODEL, Call

pytestmark = pytest.mark.django_db(transaction=True)
BASE = "/api/v1/conversations/"


@pytest.fixture
def conversation(alice) -> Conversation:
    calculator = factories.make_builtin("calculator")
    return factories.make_conversation(alice, factories.make_agent(alice, calculator, model=MODEL))


def post(client: Client, path: str, body: dict, **headers: str):
    return client.post(path, body, content_type="application/json", headers=headers)


def test_a_conversation_is_opened_listed_shown_and_deleted(alice, client_for):
    client = client_for(alice)
    agent = factories.make_agent(alice)
    made = post(client, BASE, {"agent": agent.slug, "title": "Sums"})
    assert made.status_code == 201
    address = f"{BASE}{made.json()['id']}/"
    assert client.get(BASE).json()["results"] == [made.json()]
    assert client.get(address).json() == {**made.json(), "turns": []}
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404


def test_a_message_is_answered_as_json_where_the_client_accepts_it(
    alice, conversation, model, client_for
):
    model.calls(Call("calculator", {"expression": "17*23"}))
    model.enqueue("It is 391.")
    address = f"{BASE}{conversation.pk}/messages/"
    answer = post(client_for(alice), address, {"content": "17*23?"}, accept="application/json")
    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "completed"
    assert body["answer"] == "It is 391."
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert body["messages"][2]["result"]["output"]["result"] == 391
    assert body["usage"] == {"input_tokens": 22, "output_tokens": 14}


async def test_a_message_is_answered_as_a_stream_and_a_lost_stream_resumes(
    async_client, conversation, model
):
    model.calls(Call("calculator", {"expression": "1+1"}, "sum"))
    model.enqueue("Two.")
    address = f"{BASE}{conversation.pk}/"
    answer = await async_client.post(
        f"{address}messages/", json.dumps({"content": "1+1?"}), content_type="application/json"
    )
    assert answer["Content-Type"] == "text/event-stream"
    whole = "".join([chunk.decode() async for chunk in answer.streaming_content])
    names = [line.removeprefix("event: ") for line in whole.split("\n") if "event: " in line]
    assert names == [
        "turn.started",
        "tools.found",
        "tool.call",
        "tool.result",
        "text.delta",
        "turn.completed",
    ]
    events = f"{address}turns/{answer['Turn-Id']}/events/"
    again = await async_client.get(events, headers={"last-event-id": "4"})
    rest = "".join([chunk.decode() async for chunk in again.streaming_content])
    assert whole.endswith(rest)
    assert rest.startswith("id: 5\n")


async def test_a_client_that_goes_away_changes_nothing(async_client, conversation, model):
    model.enqueue("A long answer that nobody waits for.")
    answer = await async_client.post(
        f"{BASE}{conversation.pk}/messages/",
        json.dumps({"content": "Go"}),
        content_type="application/json",
    )
    stream = aiter(answer.streaming_content)
    await anext(stream)
    await stream.aclose()
    address = f"{BASE}{conversation.pk}/turns/{answer['Turn-Id']}/events/"
    later = await async_client.get(address, headers={"accept": "application/json"})
    assert later.json()["answer"] == "A long answer that nobody waits for."


def test_the_same_idempotency_key_sends_a_message_once(alice, conversation, model, client_for):
    model.enqueue("Once.")
    address = f"{BASE}{conversation.pk}/messages/"
    headers = {"accept": "application/json", "idempotency-key": uuid.uuid4().hex}
    first = post(client_for(alice), address, {"content": "Hi"}, **headers)
    second = post(client_for(alice), address, {"content": "Hi"}, **headers)
    assert first.json() == second.json()
    assert conversation.turns.count() == 1


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "*/*"])
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"content": " "}, 400, "invalid_input"),
        ({}, 400, "invalid_input"),
        ({"content": "x" * 100_001}, 400, "invalid_input"),
        ({"content": "Hi", "env": {"bad name": "x"}}, 400, "invalid_input"),
    ],
)
def test_a_bad_message_is_refused_as_json_whatever_is_accepted(
    alice, conversation, client_for, body, status, code, accept
):
    address = f"{BASE}{conversation.pk}/messages/"
    answer = post(client_for(alice), address, body, accept=accept)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/json"
    assert answer.json()["code"] == code
    assert answer.json()["message"]


def test_a_message_during_a_turn_is_a_conflict(alice, conversation, client_for):
    make_turn(conversation=conversation, number=1, model=MODEL)
    answer = post(client_for(alice), f"{BASE}{conversation.pk}/messages/", {"content": "Hi"})
    assert answer.status_code == 409
    assert answer.json()["code"] == "turn_open"
    assert "stop it" in answer.json()["hint"]


def test_a_turn_is_stopped(alice, conversation, client_for):
    turn = make_turn(conversation=conversation, number=1, model=MODEL)
    answer = post(client_for(alice), f"{BASE}{conversation.pk}/turns/{turn.pk}/stop/", {})
    assert answer.status_code == 202
    assert answer.json()["status"] == TurnStatus.STOPPED


def test_nobody_else_reaches_a_conversation_or_its_turns(charlie, conversation, client_for):
    turn = make_turn(conversation=conversation, number=1, model=MODEL)
    client = client_for(charlie)
    address = f"{BASE}{conversation.pk}/"
    assert client.get(BASE).json()["results"] == []
    assert client.get(address).status_code == 404
    assert client.delete(address).status_code == 404
    assert post(client, f"{address}messages/", {"content": "Hi"}).status_code == 404
    for path in ("", "events/"):
        assert client.get(f"{address}turns/{turn.pk}/{path}").status_code == 404
    assert post(client, f"{address}turns/{turn.pk}/stop/", {}).status_code == 404


def test_a_stranger_is_asked_for_a_token(conversation):
    answer = Client().get(BASE)
    assert answer.status_code == 401
    assert answer.json()["code"] == "not_authenticated"


@pytest.mark.parametrize(("scope", "status"), [("chat", 200), ("tools:read", 403)])
def test_a_token_needs_the_scope_chat(alice, scope, status):
    _, text = token_create(alice, name="script", scopes=[scope])
    answer = Client().get(BASE, headers={"authorization": f"Bearer {text}"})
    assert answer.status_code == status
