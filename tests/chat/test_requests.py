"""What a turn waits for, and what each answer makes of it."""

import threading

import pytest

from agents.models import AgentTool
from chat import services
from chat.errors import RequestAnswered
from chat.models import ConversationSecret, InputRequest
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.requests import Reply, request_answer, requests_of
from chat.waiting import remembering
from config.lib.errors import InvalidInput, NotFound
from registry.approval import Effect, Verdict
from registry.errors import InvalidArguments
from registry.executors.base import Output
from registry.models import Invocation, Tool
from tests import factories
from tests.chat.conftest import finished, waiting
from tests.fakes.model_server import MODEL, Call

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "canary-secret-9876"


@pytest.fixture
def asking(monkeypatch):
    """Ask before every call of the calculator; return the effects by name, to be changed."""
    effects = {"calculator": Effect.ASK}

    def policy(spec):
        effect = effects.get(spec.wire_name, Effect.ALLOW)
        return Verdict(effect=effect, reason="The rule “ask calculator”.")

    from chat import preparing

    real = preparing.agent_context
    monkeypatch.setattr(
        preparing, "agent_context", lambda *args, **more: real(*args, **more).derive(policy=policy)
    )
    return effects


@pytest.fixture
def conversation(alice):
    agent = factories.make_agent(alice, factories.make_builtin("calculator"), model=MODEL)
    return factories.make_conversation(alice, agent)


@pytest.fixture
def lacking(alice):
    """A conversation whose tool needs a key that nobody set."""
    package = factories.make_package(env=[{"name": "EXA_API_KEY"}])
    tool = factories.make_tool(package=package, wire_name="search_web")
    agent = factories.make_agent(alice, tool, model=MODEL, discovery_mode="linked")
    return factories.make_conversation(alice, agent)


@pytest.fixture
def received(monkeypatch):
    """Run the npm tool here and keep the variables that each call received."""
    seen = []

    class Keeping:
        def execute(self, spec, arguments, context):
            seen.append(dict(context.env(["EXA_API_KEY"])))
            return Output(value="found")

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Keeping())
    return seen


def events_of(turn):
    return list(turn.events.order_by("number").values_list("name", "data"))


def names_of(turn):
    return [name for name, _ in events_of(turn) if name != "text.delta"]


def result_of(turn):
    return turn.messages.get(role=Role.TOOL).result


def ask(conversation, model, *calls, then="Done."):
    model.calls(*(calls or [Call("calculator", {"expression": "17*23"}, "sum")]))
    model.enqueue(then)
    turn = services.message_send(conversation, content="What is it?")
    return turn, waiting(turn)


def test_an_approved_call_runs_and_the_turn_goes_on(conversation, model, alice, asking):
    turn, (request,) = ask(conversation, model)
    assert not Invocation.objects.exists(), "nothing was called yet"
    assert request.kind == "approval"
    assert request.asked["arguments"] == {"expression": "17*23"}
    assert request.asked["reason"] == "The rule “ask calculator”."
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert result_of(turn)["output"]["result"] == 391
    assert Invocation.objects.get().decision == "approved"
    assert turn.usage == {"input_tokens": 22, "output_tokens": 14}, "counted over the wait"
    assert names_of(turn) == [
        *("turn.started", "tools.found", "tool.call", "input.required", "turn.waiting"),
        *("input.answered", "turn.resumed", "tool.result", "turn.completed"),
    ]
    told = dict(events_of(turn))
    assert told["input.required"] == {
        **{"request": str(request.pk), "id": "sum", "kind": "approval", "tool": "calculator"},
        **request.asked,
    }
    assert told["turn.waiting"] == {"requests": [str(request.pk)]}
    numbers = list(turn.events.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))


def test_edited_arguments_are_what_is_called_and_told_and_the_original_is_kept(
    conversation, model, alice, asking
):
    turn, (request,) = ask(conversation, model)
    request_answer(alice, request.pk, Reply(decision="approve", arguments='{"expression": "2+2"}'))
    finished(turn)
    assert result_of(turn)["output"]["result"] == 4
    assert result_of(turn)["details"]["original_arguments"] == {"expression": "17*23"}
    said = model.requests[-1]["messages"][-2]["tool_calls"][0]["function"]
    assert said["arguments"] == '{"expression": "2+2"}'
    assert dict(events_of(turn))["input.answered"]["arguments"] == {"expression": "2+2"}
    assert Invocation.objects.get().arguments == {"expression": "2+2"}


def test_a_denied_call_is_answered_with_the_note_and_not_made(conversation, model, alice, asking):
    turn, (request,) = ask(conversation, model)
    request_answer(alice, request.pk, Reply(decision="deny", note="Do it by hand."))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert result_of(turn)["error"]["code"] == "approval_denied"
    told = model.requests[-1]["messages"][-1]["content"]
    assert "A person denied this call" in told
    assert "Do it by hand." in told
    assert not Invocation.objects.exists()


def test_the_other_calls_of_the_message_run_to_their_end_before_the_turn_waits(
    conversation, model, alice, asking
):
    AgentTool.objects.create(agent=conversation.agent, tool=factories.make_builtin("current_time"))
    calls = [Call("calculator", {"expression": "1+1"}, "a"), Call("current_time", {}, "b")]
    turn, (request,) = ask(conversation, model, *calls)
    assert turn.messages.get(role=Role.TOOL).tool_call_id == "b"
    request_answer(alice, request.pk, Reply(decision="approve"))
    finished(turn)
    answers = [m for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert [answer["tool_call_id"] for answer in answers] == ["a", "b"]
    assert Invocation.objects.count() == 2, "the one that had ended was not run again"


def test_the_turn_goes_on_when_all_is_answered(conversation, model, alice, asking):
    calls = [Call("calculator", {"expression": f"{n}+1"}, f"c{n}") for n in range(2)]
    turn, (first, second) = ask(conversation, model, *calls)
    request_answer(alice, first.pk, Reply(decision="approve"))
    turn.refresh_from_db()
    assert turn.status == TurnStatus.WAITING
    assert requests_of(conversation) == [second]
    request_answer(alice, second.pk, Reply(decision="deny"))
    finished(turn)
    rows = turn.messages.filter(role=Role.TOOL).order_by("position")
    assert [row.result["status"] for row in rows] == ["succeeded", "failed"]
    assert names_of(turn).count("turn.resumed") == 1
    assert requests_of(conversation) == []


def test_a_second_answer_is_refused_and_told_what_was_decided(conversation, model, alice, asking):
    turn, (request,) = ask(conversation, model)
    request_answer(alice, request.pk, Reply(decision="deny"))
    with pytest.raises(RequestAnswered, match="answered already") as caught:
        request_answer(alice, request.pk, Reply(decision="approve"))
    assert caught.value.status == 409
    assert caught.value.hint == "It was denied."
    assert caught.value.extra == {"decision": "deny"}
    finished(turn)


def test_of_two_answers_at_once_one_counts(conversation, model, alice, asking):
    from django.db import connections

    turn, (request,) = ask(conversation, model)
    outcomes = []

    def answer(decision):
        try:
            request_answer(alice, request.pk, Reply(decision=decision))
            outcomes.append(decision)
        except RequestAnswered as error:
            outcomes.append(error.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=answer, args=[d]) for d in ("approve", "deny")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes)[-1] == "request_answered"
    assert len(outcomes) == 2
    assert finished(turn).status == TurnStatus.COMPLETED


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        ({"arguments": "{"}, InvalidInput, "not valid JSON"),
        ({"arguments": [1]}, InvalidInput, "must be a JSON object"),
        ({"arguments": {"expression": 5}}, InvalidArguments, "expression: "),
        ({"decision": "set"}, InvalidInput, "no answer to this"),
        ({"decision": "deny", "note": "x" * 10_001}, InvalidInput, "10,001 characters"),
    ],
)
def test_an_answer_that_cannot_be_taken_leaves_the_request_open(
    conversation, model, alice, asking, reply, kind, words
):
    turn, (request,) = ask(conversation, model)
    with pytest.raises(kind, match=words) as caught:
        request_answer(alice, request.pk, Reply(**{"decision": "approve", **reply}))
    if kind is InvalidArguments:
        assert caught.value.extra["problems"][0]["path"] == "$.expression"
    assert waiting(turn) == [request]
    assert names_of(turn)[-1] == "turn.waiting"
    request_answer(alice, request.pk, Reply(decision="approve", arguments=" "))
    assert finished(turn).status == TurnStatus.COMPLETED


def test_only_the_person_whose_conversation_it_is_answers(conversation, model, alice, bob, asking):
    turn, (request,) = ask(conversation, model)
    with pytest.raises(NotFound, match="no such request"):
        request_answer(bob, request.pk, Reply(decision="approve"))
    other = factories.make_conversation(alice)
    with pytest.raises(NotFound):
        request_answer(alice, request.pk, Reply(decision="approve"), conversation_id=other.pk)
    services.turn_stop(turn)


def test_a_tool_that_is_not_to_be_asked_about_again_is_not_until_it_is_denied(
    conversation, model, alice, asking
):
    turn, (request,) = ask(conversation, model)
    request_answer(alice, request.pk, Reply(decision="approve", remember=True))
    finished(turn)
    model.calls(Call("calculator", {"expression": "3*3"}))
    model.enqueue("Nine.")
    again = finished(services.message_send(conversation, content="And three by three?"))
    assert again.status == TurnStatus.COMPLETED
    assert result_of(again)["output"]["result"] == 9
    asking["calculator"] = Effect.DENY
    model.calls(Call("calculator", {"expression": "4*4"}))
    model.enqueue("No.")
    denied = finished(services.message_send(conversation, content="And four?"))
    assert result_of(denied)["error"]["code"] == "approval_denied"


def test_what_is_remembered_holds_in_its_own_conversation_alone(conversation, model, alice, asking):
    turn, (request,) = ask(conversation, model)
    request_answer(alice, request.pk, Reply(decision="approve", remember=True))
    finished(turn)
    other = factories.make_conversation(alice, conversation.agent)
    ask_always = remembering(lambda spec: Verdict(effect=Effect.ASK), other.pk)
    from registry.loading import load_spec

    calculator = load_spec(Tool.objects.get(wire_name="calculator"))
    assert ask_always(calculator).effect == Effect.ASK
    here = remembering(lambda spec: Verdict(effect=Effect.ASK), conversation.pk)
    assert here(calculator).effect == Effect.ALLOW


@pytest.mark.parametrize("keep", ["conversation", "agent", "me"])
def test_a_missing_key_is_asked_for_stored_and_the_call_made(lacking, model, alice, received, keep):
    turn, (request,) = ask(lacking, model, Call("search_web", {"text": "x"}))
    assert (request.kind, request.asked["names"]) == ("credential", ["EXA_API_KEY"])
    reply = Reply(decision="set", values={"EXA_API_KEY": SECRET}, keep=keep)
    assert SECRET not in repr(reply)
    request_answer(alice, request.pk, reply)
    assert finished(turn).status == TurnStatus.COMPLETED
    assert received == [{"EXA_API_KEY": SECRET}]
    assert ConversationSecret.objects.exists() == (keep == "conversation")
    request.refresh_from_db()
    assert request.answer == {"decision": "set"}
    everything = [
        events_of(turn),
        list(turn.messages.values()),
        list(InputRequest.objects.values()),
    ]
    assert SECRET not in str(everything)
    assert SECRET not in str(model.requests)


def test_a_key_that_is_not_given_is_told_to_the_model(lacking, model, alice, received):
    turn, (request,) = ask(lacking, model, Call("search_web", {"text": "x"}))
    request_answer(alice, request.pk, Reply(decision="skip"))
    finished(turn)
    assert result_of(turn)["error"]["code"] == "missing_credential"
    assert "did not give it" in model.requests[-1]["messages"][-1]["content"]
    assert received == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "EXA_API_KEY is not set"),
        ({"EXA_API_KEY": ""}, "EXA_API_KEY is not set"),
        ({"EXA_API_KEY": "x", "PATH": "/tmp"}, "PATH was not asked for"),
        ({"EXA_API_KEY": "a\x00b"}, "1 to 10,000"),
    ],
)
def test_bad_values_are_refused_and_nothing_is_stored(lacking, model, alice, values, words):
    turn, (request,) = ask(lacking, model, Call("search_web", {"text": "x"}))
    with pytest.raises(InvalidInput, match=words):
        request_answer(alice, request.pk, Reply(decision="set", values=values))
    assert not ConversationSecret.objects.exists()
    assert waiting(turn) == [request]
    services.turn_stop(turn)


def test_a_secret_is_taken_in_no_argument(conversation, model, alice, asking):
    services.values_set(conversation, {"KEY": SECRET}, keep="conversation")
    turn, (request,) = ask(conversation, model)
    with pytest.raises(InvalidInput, match="kept secret"):
        request_answer(
            alice, request.pk, Reply(decision="approve", arguments={"expression": SECRET})
        )
    request_answer(alice, request.pk, Reply(decision="deny", note=f"not {SECRET}"))
    finished(turn)
    request.refresh_from_db()
    assert request.answer["note"] == "not ••••••"


def test_a_question_waits_and_the_answer_is_the_tools_output(conversation, model, alice):
    question = {"question": "Which city?", "options": ["Rome", "Oslo"]}
    turn, (request,) = ask(conversation, model, Call("ask_user", question))
    assert request.kind == "question"
    assert request.asked == {**question, "title": "Question"}
    assert request.tool_id is None
    with pytest.raises(InvalidInput, match="answer is empty"):
        request_answer(alice, request.pk, Reply(decision="answer", text="  "))
    request_answer(alice, request.pk, Reply(decision="answer", text="Oslo"))
    finished(turn)
    assert result_of(turn)["output"] == "Oslo"
    assert '"output": "Oslo"' in model.requests[-1]["messages"][-1]["content"]


def test_a_question_may_be_left_open(conversation, model, alice):
    turn, (request,) = ask(conversation, model, Call("ask_user", {"question": "Why?"}))
    request_answer(alice, request.pk, Reply(decision="skip"))
    finished(turn)
    assert "chose not to answer" in result_of(turn)["output"]["note"]


def test_a_question_that_is_none_is_corrected(conversation, model, say):
    model.calls(Call("ask_user", {"options": ["a"]}))
    model.enqueue("Never mind.")
    turn = say(conversation, "Ask me")
    assert result_of(turn)["error"]["code"] == "invalid_arguments"


def test_stopping_a_turn_that_waits_closes_what_it_asked(conversation, model, alice, asking):
    turn, (request,) = ask(conversation, model)
    services.turn_stop(turn)
    turn.refresh_from_db()
    assert turn.status == TurnStatus.STOPPED
    assert turn.usage == {"input_tokens": 11, "output_tokens": 7}
    assert names_of(turn)[-1] == "turn.completed"
    request.refresh_from_db()
    assert request.answer == {"decision": "stopped"}
    with pytest.raises(RequestAnswered) as caught:
        request_answer(alice, request.pk, Reply(decision="approve"))
    assert caught.value.hint == "The turn was stopped before anybody answered."


def test_a_denied_tool_fails_however_it_was_approved(conversation, model, alice, asking):
    turn, (request,) = ask(conversation, model)
    asking["calculator"] = Effect.DENY
    request_answer(alice, request.pk, Reply(decision="approve"))
    finished(turn)
    assert result_of(turn)["error"]["code"] == "approval_denied"


def test_a_tool_that_is_gone_when_the_answer_comes_is_told_so(conversation, model, alice, asking):
    turn, (request,) = ask(conversation, model)
    AgentTool.objects.all().delete()
    from django.utils import timezone

    Tool.objects.filter(wire_name="calculator").update(deleted_at=timezone.now())
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert result_of(turn)["error"]["code"] == "unknown_tool"


def test_an_approved_call_that_then_lacks_a_key_asks_for_it_and_stays_approved(
    lacking, model, alice, asking, received
):
    asking["search_web"] = Effect.ASK
    turn, (approval,) = ask(lacking, model, Call("search_web", {"text": "x"}))
    request_answer(alice, approval.pk, Reply(decision="approve"))
    (credential,) = waiting(turn)
    assert credential.kind == "credential"
    request_answer(alice, credential.pk, Reply(decision="set", values={"EXA_API_KEY": SECRET}))
    finished(turn)
    assert received == [{"EXA_API_KEY": SECRET}]
