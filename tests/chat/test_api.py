"""`/api/v1/conversations/…`: the stream, JSON, resuming, stopping, refusals."""

import json
import uuid

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from agents.tokens import token_create
from chat.models import Conversation, InputRequest, Turn
from chat.models.turn import TurnStatus
from chat.requests import Reply, request_answer
from chat.services import message_send
from tests import factories
from tests.chat.conftest import finished, waiting
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


@pytest.fixture
def asked(conversation, model) -> InputRequest:
    """A question that a turn waits with."""
    model.calls(Call("ask_user", {"question": "Which?", "options": ["a", "b"]}, "q"))
    return waiting(message_send(conversation, content="Ask me"))[0]


def test_a_turn_that_waits_ends_a_json_answer_and_says_what_it_asks(
    alice, conversation, model, client_for
):
    model.calls(Call("ask_user", {"question": "Which?"}, "q"))
    client, address = client_for(alice), f"{BASE}{conversation.pk}/"
    body = post(client, f"{address}messages/", {"content": "Hm"}, accept="application/json").json()
    assert body["status"] == "waiting"
    (request,) = body["requests"]
    assert (request["kind"], request["call"], request["tool"]) == ("question", "q", "ask_user")
    assert request["asked"]["question"] == "Which?"
    assert client.get(f"{address}requests/").json() == [request]
    model.enqueue("So be it.")
    answer = post(
        client, f"{address}requests/{request['id']}/", {"decision": "answer", "text": "This"}
    )
    assert answer.status_code == 200
    assert answer.json()["answer"] == {"decision": "answer", "text": "This"}
    events = f"{address}turns/{body['id']}/events/"
    over = client.get(events, headers={"accept": "application/json"}).json()
    assert (over["status"], over["answer"], over["requests"]) == ("completed", "So be it.", [])
    second = post(client, f"{address}requests/{request['id']}/", {"decision": "skip"})
    assert (second.status_code, second.json()["code"]) == (409, "request_answered")


async def test_the_stream_of_a_message_ends_where_it_waits_and_the_events_go_on_over_it(
    async_client, alice, conversation, model
):
    model.calls(Call("ask_user", {"question": "Which?"}, "q"))
    address = f"{BASE}{conversation.pk}/"
    answer = await async_client.post(
        f"{address}messages/", json.dumps({"content": "Hm"}), content_type="application/json"
    )
    first = "".join([chunk.decode() async for chunk in answer.streaming_content])
    assert first.rstrip().split("\n")[-2] == "event: turn.waiting"
    turn = await Turn.objects.aget(pk=answer["Turn-Id"])
    whole = await async_client.get(f"{address}turns/{turn.pk}/events/")
    request = await turn.input_requests.aget()
    model.enqueue("So be it.")
    await sync_to_async(request_answer)(alice, request.pk, Reply(decision="skip"))
    events = "".join([chunk.decode() async for chunk in whole.streaming_content])
    assert events.startswith(first)
    names = [line.removeprefix("event: ") for line in events.split("\n") if "event: " in line]
    told = [name for name in names if name != "text.delta"]
    assert told[-4:] == ["input.answered", "turn.resumed", "tool.result", "turn.completed"]


def test_a_request_is_answered_by_its_person_in_its_conversation_alone(
    alice, bob, asked, client_for
):
    address = f"{BASE}{asked.turn.conversation_id}/requests/"
    stranger = client_for(bob)
    assert stranger.get(address).status_code == 404
    body = {"decision": "answer", "text": "mine"}
    assert post(stranger, f"{address}{asked.pk}/", body).status_code == 404
    other = factories.make_conversation(alice)
    elsewhere = f"{BASE}{other.pk}/requests/{asked.pk}/"
    assert post(client_for(alice), elsewhere, body).status_code == 404
    refused = post(client_for(alice), f"{address}{asked.pk}/", {"decision": "perhaps"})
    assert refused.status_code == 400
    asked.refresh_from_db()
    assert asked.answer is None


def test_a_turn_is_continued_once_it_failed(alice, bob, conversation, model, client_for):
    model.refuses(500)
    turn = finished(message_send(conversation, content="Go"))
    address = f"{BASE}{conversation.pk}/turns/{turn.pk}/continue/"
    assert post(client_for(bob), address, {}).status_code == 404
    model.enqueue("Here we are.")
    assert post(client_for(alice), address, {}).status_code == 202
    assert finished(turn).status == TurnStatus.COMPLETED
    again = post(client_for(alice), address, {})
    assert (again.status_code, again.json()["code"]) == (409, "turn_not_continuable")


def test_the_plain_pages_answer_and_continue(alice, bob, asked, model, client_for):
    address, client = f"/chat/requests/{asked.pk}/", client_for(alice)
    assert client_for(bob).post(address, {"decision": "skip"}).status_code == 404
    empty = client.post(address, {"decision": "answer", "text": ""}, follow=True)
    assert "The answer is empty." in empty.text
    model.refuses(500)
    there = client.post(address, {"decision": "answer", "text": "a"})
    assert there.headers["Location"] == f"/chat/{asked.turn.conversation_id}/"
    turn = finished(asked.turn)
    assert turn.status == TurnStatus.FAILED
    model.enqueue("At last.")
    onward = f"/chat/turns/{turn.pk}/continue/"
    assert client_for(bob).post(onward).status_code == 404
    assert client.post(onward, headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    assert finished(turn).status == TurnStatus.COMPLETED
    assert "came to its answer" in client.post(onward, follow=True).text
