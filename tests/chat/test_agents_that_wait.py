"""An agent that was asked by another one waits for a person: both wait, and both go on."""

import threading

import pytest
from django.utils import timezone

from agents.models import AgentTool
from agents.offering import agent_offer
from chat import selectors, services, turns
from chat.continuing import turn_continue
from chat.endings import STALE_AFTER
from chat.errors import AnsweredElsewhere
from chat.models import Conversation, InputRequest, Message, ModelStep, Turn, TurnEvent
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.requests import Reply, request_answer
from chat.tasks import close_stale_turns
from registry.executors import base
from registry.executors.base import Output
from registry.models import Invocation
from tests import factories
from tests.chat.conftest import finished, waiting
from tests.fakes.model_server import MODEL, Call
from tests.live import eventually

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "canary-secret-agents-42"


def agent_of(owner, name, *tools, **fields):
    fields = {"model": MODEL, "discovery_mode": "linked", "name": name, **fields}
    return factories.make_agent(owner, *tools, **fields)


@pytest.fixture
def expert(alice):
    """An agent that is offered as a tool, and asks before it calculates."""
    agent = agent_of(alice, "Expert", factories.make_builtin("calculator"))
    AgentTool.objects.filter(agent=agent).update(approval="ask")
    agent_offer(agent)
    return agent


@pytest.fixture
def conversation(alice, expert):
    return factories.make_conversation(alice, agent_of(alice, "Front", expert.offered_as))


def asked(conversation, model, *, inner=None):
    """Have the expert asked, and wait; return the outer turn and its request, and the inner's."""
    model.calls(Call("ask_expert", {"message": "What is 17*23?"}, "ask"))
    model.calls(inner or Call("calculator", {"expression": "17*23"}, "sum"))
    turn = services.message_send(conversation, content="Ask the expert.")
    (outer,) = waiting(turn)
    inner_turn = Turn.objects.get(conversation__asked_in=turn)
    return turn, outer, inner_turn, waiting(inner_turn)[0]


def result_of(turn):
    return turn.messages.get(role=Role.TOOL).result


def names_of(turn):
    return list(turn.events.order_by("number").values_list("name", flat=True))


def test_the_turn_that_asked_waits_too_and_goes_on_when_the_other_is_done(
    conversation, model, alice, expert
):
    turn, outer, inner, request = asked(conversation, model)
    assert (outer.kind, outer.tool_name, outer.call_id) == ("agent", "ask_expert", "ask")
    assert outer.asked == {
        "agent": "Expert",
        "conversation": str(inner.conversation_id),
        "turn": str(inner.pk),
        "title": "Ask Expert",
    }
    told = turn.events.get(name="input.required").data
    assert (told["kind"], told["conversation"]) == ("agent", str(inner.conversation_id))
    model.enqueue("It is 391.", "The expert says 391.")
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["output"] == {"answer": "It is 391."}
    outer.refresh_from_db()
    assert (outer.answer, outer.answered_by) == ({"decision": "done"}, None)
    assert Conversation.objects.filter(agent=expert).count() == 1, "it was asked once"
    assert names_of(turn).count("turn.resumed") == 1
    calls = Invocation.objects.filter(tool__wire_name="ask_expert")
    assert [row.outcome for row in calls] == ["succeeded"]


def test_what_another_agent_waits_for_is_answered_in_its_own_conversation(
    conversation, model, alice, client_for
):
    turn, outer, inner, _ = asked(conversation, model)
    for decision in ("approve", "skip", "done"):
        with pytest.raises(AnsweredElsewhere, match="Expert waits in its own") as caught:
            request_answer(alice, outer.pk, Reply(decision=decision))
        assert caught.value.extra == {
            "conversation": str(inner.conversation_id),
            "turn": str(inner.pk),
        }
    path = f"/api/v1/conversations/{conversation.pk}/requests/{outer.pk}/"
    told = client_for(alice).post(path, {"decision": "done"}, content_type="application/json")
    assert told.status_code == 409
    assert told.json()["code"] == "answered_elsewhere"
    listed = client_for(alice).get(f"/api/v1/conversations/{conversation.pk}/requests/").json()
    assert listed[0]["asked"]["conversation"] == str(inner.conversation_id)
    turn.refresh_from_db()
    assert turn.status == TurnStatus.WAITING
    services.turn_stop(turn)


def test_a_turn_that_waits_for_an_agent_that_is_denied_is_told_its_answer(
    conversation, model, alice
):
    turn, _, inner, request = asked(conversation, model)
    model.enqueue("I was not allowed to.", "No luck.")
    request_answer(alice, request.pk, Reply(decision="deny"))
    finished(turn)
    assert finished(inner).status == TurnStatus.COMPLETED
    assert result_of(turn)["output"] == {"answer": "I was not allowed to."}


def test_an_agent_that_fails_behind_its_wait_is_told_as_a_failure(conversation, model, alice):
    turn, _, inner, request = asked(conversation, model)
    model.refuses(401, "no such key")
    model.enqueue("The expert is away.")
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    inner.refresh_from_db()
    assert inner.status == TurnStatus.FAILED
    assert result_of(turn)["error"]["code"] == "tool_failed"


def test_stopping_the_agent_that_was_asked_lets_the_other_go_on(conversation, model, alice):
    turn, _, inner, _ = asked(conversation, model)
    model.enqueue("I could not find out.")
    services.turn_stop(inner)
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["error"]["code"] == "cancelled"


def test_stopping_the_turn_that_asked_stops_the_other(conversation, model, alice):
    turn, outer, inner, request = asked(conversation, model)
    services.turn_stop(turn)
    assert finished(turn).status == TurnStatus.STOPPED
    assert finished(inner).status == TurnStatus.STOPPED
    for row in (outer, request):
        row.refresh_from_db()
        assert row.answer == {"decision": "stopped"}
    assert len(model.requests) == 2, "neither was asked again"


def test_an_agent_that_lost_its_process_hands_back_that_it_failed(
    conversation, model, alice, monkeypatch
):
    turn, _, inner, request = asked(conversation, model)
    monkeypatch.setattr("chat.requests.turn_start", lambda turn_id: None)
    request_answer(alice, request.pk, Reply(decision="approve"))
    long_ago = timezone.now() - STALE_AFTER * 2
    Turn.objects.filter(pk=inner.pk).update(heartbeat_at=long_ago)
    model.enqueue("The expert broke off.")
    assert close_stale_turns() == 1
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["error"]["code"] == "tool_failed"


def test_what_ended_while_nobody_could_be_told_is_handed_back_by_the_worker(
    conversation, model, alice, monkeypatch
):
    turn, _, inner, request = asked(conversation, model)
    monkeypatch.setattr("chat.turns.hand_back", lambda turn_id: None)
    model.enqueue("It is 391.", "391.")
    request_answer(alice, request.pk, Reply(decision="approve"))
    finished(inner)
    turn.refresh_from_db()
    assert turn.status == TurnStatus.WAITING
    close_stale_turns()
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["output"] == {"answer": "It is 391."}


def test_an_agent_that_is_done_before_the_other_waits_is_not_waited_for_for_ever(
    conversation, model, alice, monkeypatch
):
    held, go = threading.Event(), threading.Event()
    real = turns.turn_wait

    def late(turn_id, *args):
        if Turn.objects.get(pk=turn_id).conversation_id == conversation.pk:
            held.set()
            go.wait(120)
        return real(turn_id, *args)

    monkeypatch.setattr(turns, "turn_wait", late)
    model.calls(Call("ask_expert", {"message": "What is 17*23?"}, "ask"))
    model.calls(Call("calculator", {"expression": "17*23"}, "sum"))
    turn = services.message_send(conversation, content="Ask the expert.")
    assert held.wait(60)
    inner = Turn.objects.get(conversation__asked_in=turn)
    model.enqueue("It is 391.", "391.")
    request_answer(alice, waiting(inner)[0].pk, Reply(decision="approve"))
    finished(inner)
    go.set()
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["output"] == {"answer": "It is 391."}


def test_three_agents_wait_one_inside_the_other(alice, model):
    inmost = agent_of(alice, "Inmost")
    middle = agent_of(alice, "Middle", agent_offer(inmost))
    outmost = agent_of(alice, "Outmost", agent_offer(middle))
    model.calls(Call("ask_middle", {"message": "Ask."}, "a"))
    model.calls(Call("ask_inmost", {"message": "Ask."}, "b"))
    model.calls(Call("ask_user", {"question": "Which?"}, "c"))
    turn = services.message_send(factories.make_conversation(alice, outmost), content="Go.")
    waiting(turn)
    deepest = Turn.objects.get(conversation__depth=2)
    model.enqueue("Blue, I am told.", "Blue, it says.", "Blue.")
    (request,) = waiting(deepest)
    request_answer(alice, request.pk, Reply(decision="answer", text="Blue"))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert turn.messages.order_by("-position").first().content == "Blue."


def test_an_agent_whose_conversation_was_deleted_is_not_asked_again(
    conversation, model, alice, expert
):
    turn, _, inner, _ = asked(conversation, model)
    model.enqueue("It is gone.")
    held = threading.Event()
    real = turns.run_turn

    async def late(turn_id, sent=None):
        from chat.threads import in_thread

        await in_thread(held.wait, 120)
        await real(turn_id, sent)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "run_turn", late)
        services.conversation_delete(inner.conversation)
    held.set()
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    error = result_of(turn)["error"]
    assert (error["code"], "deleted" in error["message"]) == ("cancelled", True)
    assert not Conversation.objects.filter(agent=expert).exists()


@pytest.mark.sandbox
def test_agents_that_a_program_asks_wait_with_it(alice, expert, model, sandbox_service):
    factories.make_run_code()
    front = agent_of(alice, "Front", expert.offered_as, code_execution=True)
    code = """
import asyncio
got = await asyncio.gather(*(tool_call("ask_expert", message=f"{n}?") for n in (1, 2)))
[each["answer"] for each in got]
"""
    model.calls(Call("run_code", {"code": code}, "prog"))
    model.calls(Call("ask_user", {"question": "One?"}, "x"))
    model.calls(Call("ask_user", {"question": "Two?"}, "y"))
    turn = services.message_send(factories.make_conversation(alice, front), content="Ask both.")
    asks = waiting(turn)
    assert [ask.kind for ask in asks] == ["agent", "agent"]
    assert {ask.inner_call != "" for ask in asks} == {True}
    for n, ask in enumerate(asks):
        inner = Turn.objects.get(pk=ask.asked["turn"])
        model.enqueue(f"Answer {n}.")
        if n:
            model.enqueue("Done.")
        request_answer(alice, waiting(inner)[0].pk, Reply(decision="answer", text="x"))
        finished(inner)
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["output"]["result"] == ["Answer 0.", "Answer 1."]
    assert Conversation.objects.filter(agent=expert).count() == 2, "each was asked once"


def test_called_from_outside_of_a_conversation_the_call_says_where_to_answer(
    client_for, alice, expert, model
):
    model.calls(Call("calculator", {"expression": "1+1"}))
    path = f"/api/v1/tools/{expert.offered_as_id}/run/"
    client = client_for(alice)
    told = client.post(path, {"arguments": {"message": "Why?"}}, content_type="application/json")
    error = told.json().get("error") or told.json()
    assert error["code"] == "agent_waits"
    inner = Conversation.objects.get(agent=expert)
    assert error["extra"]["conversation"] == str(inner.pk)
    model.enqueue("Because.")
    (request,) = InputRequest.objects.all()
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert finished(inner.turns.get()).status == TurnStatus.COMPLETED


def test_what_an_agent_was_asked_stands_in_no_list_but_has_its_page(
    conversation, model, alice, client_for, bob
):
    turn, _, inner, _ = asked(conversation, model)
    listed = selectors.conversations_with_state(alice)
    assert [row.pk for row in listed] == [conversation.pk]
    client = client_for(alice)
    found = client.get("/api/v1/conversations/").json()
    assert str(inner.conversation_id) not in str(found)
    page = client.get(f"/chat/{inner.conversation_id}/")
    assert page.status_code == 200
    told = page.content.decode()
    assert "Asked by" in told
    assert f'href="/chat/{conversation.pk}/' in told
    assert client_for(bob).get(f"/chat/{inner.conversation_id}/").status_code == 404
    services.turn_stop(turn)
    eventually(
        lambda: not Turn.objects.filter(status=TurnStatus.WAITING).exists(), what="both stopped"
    )


def test_a_turn_that_was_stopped_and_continued_may_wait_for_an_agent_again(
    conversation, model, alice, expert
):
    turn, *_ = asked(conversation, model)
    services.turn_stop(turn)
    finished(turn)
    model.calls(Call("ask_expert", {"message": "Once more: 17*23?"}, "more"))
    model.calls(Call("calculator", {"expression": "17*23"}, "sum"))
    turn_continue(turn)
    (outer,) = waiting(turn)
    model.enqueue("It is 391.", "391.")
    inner = Turn.objects.get(pk=outer.asked["turn"])
    request_answer(alice, waiting(inner)[0].pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    rows = turn.messages.filter(role=Role.TOOL).order_by("position")
    assert rows[0].result["error"]["code"] == "call_interrupted", "it had been asked"
    assert rows[1].result["output"] == {"answer": "It is 391."}
    assert Conversation.objects.filter(agent=expert).count() == 2


def test_neither_a_team_mate_nor_anybody_else_sees_or_answers_what_agents_wait_for(
    alice, bob, client_for, model
):
    team = factories.make_team("Crew", alice, bob)
    expert = agent_of(alice, "Expert", visibility="team", team=team)
    front = agent_of(alice, "Front", agent_offer(expert), visibility="team", team=team)
    model.calls(Call("ask_expert", {"message": "Ask."}, "ask"))
    model.calls(Call("ask_user", {"question": "Which?"}, "q"))
    turn = services.message_send(factories.make_conversation(alice, front), content="Ask.")
    (outer,) = waiting(turn)
    inner = Turn.objects.get(pk=outer.asked["turn"])
    (request,) = waiting(inner)
    client = client_for(bob)
    for row in (outer, request):
        conversation_id = row.turn.conversation_id
        base = f"/api/v1/conversations/{conversation_id}/requests/"
        body = {"decision": "answer", "text": "x"}
        assert client.get(base).status_code == 404
        told = client.post(f"{base}{row.pk}/", body, content_type="application/json")
        assert told.status_code == 404
        assert client.get(f"/chat/requests/{row.pk}/").status_code == 404
        assert client.post(f"/chat/requests/{row.pk}/", body).status_code == 404
    services.turn_stop(turn)
    finished(inner)


def test_what_the_agent_was_given_in_confidence_stands_in_neither_conversation(
    alice, model, monkeypatch
):
    package = factories.make_package(env=[{"name": "EXA_API_KEY"}])
    tool = factories.make_tool(package=package, wire_name="search_web")
    expert = agent_of(alice, "Expert", tool)
    front = agent_of(alice, "Front", agent_offer(expert))
    real = base.executor_for

    class Echoing:
        def execute(self, spec, arguments, context):
            return Output(value=f"found with {context.env(['EXA_API_KEY'])['EXA_API_KEY']}")

    monkeypatch.setattr(
        "registry.execution.executor_for",
        lambda kind: Echoing() if kind == tool.kind else real(kind),
    )
    model.calls(Call("ask_expert", {"message": "Search."}, "ask"))
    model.calls(Call("search_web", {"text": "x"}, "s"))
    turn = services.message_send(factories.make_conversation(alice, front), content="Ask.")
    (outer,) = waiting(turn)
    (request,) = waiting(Turn.objects.get(pk=outer.asked["turn"]))
    assert request.kind == "credential"
    model.enqueue("Found.", "Found.")
    request_answer(alice, request.pk, Reply(decision="set", values={"EXA_API_KEY": SECRET}))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    rows = [TurnEvent, Message, InputRequest, ModelStep, Invocation]
    everything = str([list(row.objects.values()) for row in rows] + [model.requests])
    assert "found with ••••••" in everything
    assert SECRET not in everything


def test_the_pages_of_what_another_agent_waits_for_take_no_answer(
    conversation, model, alice, client_for
):
    turn, outer, _, _ = asked(conversation, model)
    client = client_for(alice)
    assert client.get(f"/chat/{conversation.pk}/").status_code == 200
    path = f"/chat/requests/{outer.pk}/"
    assert client.get(path).status_code == 200
    for sent in ({"decision": "approve"}, {"decision": "skip"}, {}):
        for headers in ({}, {"HX-Request": "true"}):
            told = client.post(path, sent, headers=headers)
            assert told.status_code in {409, 422}, told.content
    outer.refresh_from_db()
    assert outer.answer is None
    services.turn_stop(turn)
    assert client.get(path).status_code == 200
    assert client.get(f"/chat/{conversation.pk}/").status_code == 200
