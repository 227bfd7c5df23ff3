"""Programs that wait for a person, from the model's message to its answer."""

import os
import subprocess
import sys
import threading

import pytest
from django.db import connection, connections

from chat import preparing, services, turns
from chat.continuing import turn_continue
from chat.errors import RequestAnswered
from chat.models import InputRequest, ModelStep, ProgramCall
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.requests import Reply, request_answer, requests_of
from config.lib.errors import InvalidInput, NotFound
from registry.approval import Effect, Verdict
from registry.errors import InvalidArguments
from registry.executors import base
from registry.executors.base import Output
from registry.models import Invocation
from tests import factories
from tests.chat.conftest import finished, waiting
from tests.fakes.model_server import MODEL, Call

pytestmark = [pytest.mark.sandbox, pytest.mark.django_db(transaction=True)]
SECRET = "canary-secret-program-51"

LOOP = """
done = []
for n in (1, 2, 3, 4):
    try:
        tool = "calculator" if n == 3 else "count_text"
        given = {"expression": "17*23"} if n == 3 else {"text": "a " * n}
        done.append(await tool_call(tool, **given))
    except ToolCallError as error:
        done.append([error.code, str(error)])
done
"""
BESIDE = """
import asyncio
got = await asyncio.gather(*(tool_call("calculator", expression=e) for e in ("1+1", "2+2")))
[each["result"] for each in got]
"""


@pytest.fixture
def asking(monkeypatch):
    """Ask before every call of the calculator; return the effects by name, to be changed."""
    effects = {"calculator": Effect.ASK}

    def policy(spec):
        return Verdict(effect=effects.get(spec.wire_name, Effect.ALLOW), reason="A rule.")

    real = preparing.agent_context
    monkeypatch.setattr(
        preparing, "agent_context", lambda *args, **more: real(*args, **more).derive(policy=policy)
    )
    return effects


@pytest.fixture
def conversation(alice, sandbox_service, asking):
    tools = [factories.make_builtin(name) for name in ("calculator", "count_text")]
    factories.make_run_code()
    agent = factories.make_agent(
        alice, *tools, model=MODEL, code_execution=True, discovery_mode="linked"
    )
    return factories.make_conversation(alice, agent)


@pytest.fixture
def lacking(alice, sandbox_service, monkeypatch):
    """A conversation whose tool needs a key, and what each call of it was given."""
    package = factories.make_package(env=[{"name": "EXA_API_KEY"}])
    tool = factories.make_tool(package=package, wire_name="search_web")
    factories.make_run_code()
    agent = factories.make_agent(
        alice, tool, model=MODEL, code_execution=True, discovery_mode="linked"
    )
    seen = []
    real = base.executor_for

    class Echoing:
        def execute(self, spec, arguments, context):
            key = context.env(["EXA_API_KEY"])["EXA_API_KEY"]
            seen.append(key)
            return Output(value={"echo": f"found with {key}"})

    def executor(kind):
        return Echoing() if kind == tool.kind else real(kind)

    monkeypatch.setattr("registry.execution.executor_for", executor)
    return factories.make_conversation(alice, agent), seen


def run(conversation, model, code, then="Done."):
    model.calls(Call("run_code", {"code": code}, "prog"))
    turn = services.message_send(conversation, content="Run it")
    asked = waiting(turn)
    model.enqueue(then)
    return turn, asked


def result_of(turn):
    return turn.messages.get(role=Role.TOOL).result


def value_of(turn):
    result = result_of(turn)
    assert result["status"] == "succeeded", result
    return result["output"]["result"]


def calls_made():
    rows = Invocation.objects.exclude(parent_id=None).order_by("created_at")
    return [(row.tool.wire_name, row.decision) for row in rows]


def test_a_loop_waits_at_its_third_call_and_goes_on_when_it_is_approved(conversation, model, alice):
    turn, (request,) = run(conversation, model, LOOP)
    assert (request.kind, request.call_id, request.tool_name) == ("approval", "prog", "calculator")
    assert request.inner_call
    assert request.asked["arguments"] == {"expression": "17*23"}
    assert request.asked["schema"]["properties"]["expression"]
    assert request.asked["title"] == "Calculator"
    told = turn.events.get(name="input.required").data
    assert told["inner_call"] == request.inner_call
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert [each.get("result", each.get("count")) for each in value_of(turn)][2] == 391
    assert calls_made() == [
        *(("count_text", "allowed"), ("count_text", "allowed")),
        *(("calculator", "approved"), ("count_text", "allowed")),
    ]
    assert "391" in model.requests[-1]["messages"][-1]["content"]
    outer = Invocation.objects.get(tool__wire_name="run_code")
    assert {row.parent_id for row in Invocation.objects.exclude(parent_id=None)} == {outer.pk}


def test_edited_arguments_of_an_inner_call_are_called_and_the_program_stays_as_written(
    conversation, model, alice
):
    turn, (request,) = run(conversation, model, LOOP)
    before = turn.messages.exclude(tool_calls=[]).get().tool_calls
    with pytest.raises(InvalidArguments):
        request_answer(alice, request.pk, Reply(decision="approve", arguments={"expression": 5}))
    edited = Reply(decision="approve", arguments='{"expression": "2+2"}')
    request_answer(alice, request.pk, edited)
    assert finished(turn).status == TurnStatus.COMPLETED
    assert value_of(turn)[2]["result"] == 4
    assert turn.messages.exclude(tool_calls=[]).get().tool_calls == before
    made = Invocation.objects.get(tool__wire_name="calculator")
    assert made.arguments == {"expression": "2+2"}


def test_a_denied_inner_call_is_told_with_the_note_and_written_down(conversation, model, alice):
    turn, (request,) = run(conversation, model, LOOP)
    request_answer(alice, request.pk, Reply(decision="deny", note="Not today."))
    assert finished(turn).status == TurnStatus.COMPLETED
    code, words = value_of(turn)[2]
    assert code == "approval_denied"
    assert "Not today." in words
    denied = Invocation.objects.get(tool__wire_name="calculator")
    assert (denied.decision, denied.outcome) == ("denied", "failed")
    assert denied.user == alice
    assert denied.turn_id == turn.pk


def test_what_is_not_to_be_asked_again_is_not_asked_again_in_the_same_program(
    conversation, model, alice
):
    code = "[(await tool_call('calculator', expression=f'{n}+1'))['result'] for n in range(3)]"
    turn, (request,) = run(conversation, model, code)
    request_answer(alice, request.pk, Reply(decision="approve", remember=True))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert value_of(turn) == [1, 2, 3]
    assert InputRequest.objects.count() == 1


def test_a_program_may_wait_again_and_again(conversation, model, alice):
    code = "[(await tool_call('calculator', expression=f'{n}+1'))['result'] for n in range(3)]"
    turn, asked = run(conversation, model, code)
    for n in range(3):
        (request,) = asked
        assert request.asked["arguments"] == {"expression": f"{n}+1"}
        request_answer(alice, request.pk, Reply(decision="approve"))
        asked = waiting(turn) if n < 2 else []
    assert finished(turn).status == TurnStatus.COMPLETED
    assert value_of(turn) == [1, 2, 3]
    assert len(calls_made()) == 3


def test_two_calls_side_by_side_are_both_asked_about_before_the_program_goes_on(
    conversation, model, alice
):
    turn, (first, second) = run(conversation, model, BESIDE)
    request_answer(alice, first.pk, Reply(decision="approve"))
    turn.refresh_from_db()
    assert turn.status == TurnStatus.WAITING
    assert requests_of(conversation) == [second]
    request_answer(alice, second.pk, Reply(decision="approve", arguments={"expression": "5+5"}))
    assert finished(turn).status == TurnStatus.COMPLETED
    # they are asked about in the order in which they were called
    assert value_of(turn) == [2, 10]


def test_of_two_people_answering_an_inner_call_at_once_one_counts(conversation, model, alice, bob):
    turn, (request,) = run(conversation, model, LOOP)
    with pytest.raises(NotFound):
        request_answer(bob, request.pk, Reply(decision="approve"))
    outcomes = []

    def answer():
        try:
            request_answer(alice, request.pk, Reply(decision="approve"))
            outcomes.append("taken")
        except RequestAnswered as error:
            outcomes.append(error.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=answer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["request_answered"] * 3 + ["taken"]
    assert finished(turn).status == TurnStatus.COMPLETED
    assert calls_made().count(("calculator", "approved")) == 1


def test_a_key_that_a_program_lacks_is_asked_for_and_stands_nowhere(lacking, model, alice, caplog):
    conversation, seen = lacking
    code = "[(await tool_call('search_web', text=t))['echo'] for t in ('a', 'b')]"
    turn, (request,) = run(conversation, model, code)
    assert (request.kind, request.asked["names"]) == ("credential", ["EXA_API_KEY"])
    with pytest.raises(InvalidInput, match="not set"):
        request_answer(alice, request.pk, Reply(decision="set"))
    request_answer(alice, request.pk, Reply(decision="set", values={"EXA_API_KEY": SECRET}))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert seen == [SECRET, SECRET]
    assert value_of(turn) == ["found with ••••••"] * 2
    everything = [
        list(turn.events.values()),
        list(turn.messages.values()),
        list(InputRequest.objects.values()),
        list(ProgramCall.objects.values()),
        list(ModelStep.objects.values()),
        list(Invocation.objects.values()),
        model.requests,
        caplog.text,
    ]
    assert SECRET not in str(everything)


def test_a_key_that_is_not_given_is_told_to_the_program(lacking, model, alice):
    conversation, seen = lacking
    code = """
try:
    await tool_call("search_web", text="x")
except ToolCallError as error:
    code = error.code
code
"""
    turn, (request,) = run(conversation, model, code)
    request_answer(alice, request.pk, Reply(decision="skip"))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert value_of(turn) == "missing_credential"
    assert seen == []


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (Reply(decision="answer", text="Oslo"), ["Oslo", 2]),
        (Reply(decision="skip"), [None, 2]),
    ],
)
def test_a_program_asks_the_person(conversation, model, alice, asking, reply, value):
    asking["calculator"] = Effect.ALLOW
    code = """
city = await tool_call("ask_user", question="Which city?", options=["Rome", "Oslo"])
[city, (await tool_call("calculator", expression="1+1"))["result"]]
"""
    turn, (request,) = run(conversation, model, code)
    assert request.kind == "question"
    assert request.asked == {
        "question": "Which city?",
        "options": ["Rome", "Oslo"],
        "title": "Question",
    }
    request_answer(alice, request.pk, reply)
    assert finished(turn).status == TurnStatus.COMPLETED
    assert value_of(turn) == value


def test_the_running_of_code_is_offered_with_the_question_it_may_ask(conversation, model, say):
    model.enqueue("Hello.")
    say(conversation, "Hello")
    tools = {each["function"]["name"]: each["function"] for each in model.requests[0]["tools"]}
    assert "ask_user" in tools["run_code"]["description"]


def test_a_program_that_is_stopped_while_it_waits_is_over_and_what_follows_knows(
    conversation, model, alice
):
    turn, (request,) = run(conversation, model, LOOP)
    services.turn_stop(turn)
    assert finished(turn).status == TurnStatus.STOPPED
    with pytest.raises(RequestAnswered):
        request_answer(alice, request.pk, Reply(decision="approve"))
    turn_continue(turn)
    assert finished(turn).status == TurnStatus.COMPLETED
    assert result_of(turn)["error"]["code"] == "call_interrupted"
    assert calls_made() == [("count_text", "allowed")] * 2, "nothing was called again"


def test_another_process_runs_the_program_on(conversation, model, alice, monkeypatch):
    from agents.models import AgentTool

    AgentTool.objects.filter(tool__wire_name="calculator").update(approval="ask")
    turn, (request,) = run(conversation, model, LOOP)
    monkeypatch.setattr("chat.requests.turn_start", lambda turn_id: None)
    request_answer(alice, request.pk, Reply(decision="approve"))
    turn.refresh_from_db()
    assert turn.status == TurnStatus.QUEUED
    elsewhere(turn)
    turn.refresh_from_db()
    assert turn.status == TurnStatus.COMPLETED, turn.error
    assert value_of(turn)[2]["result"] == 391
    assert len(calls_made()) == 4


def test_a_process_that_dies_in_a_resumed_program_has_no_approved_call_made_twice(
    conversation, model, alice, monkeypatch
):
    code = """
first = await tool_call("calculator", expression="1+1")
second = await tool_call("calculator", expression="2+2")
[first["result"], second["result"]]
"""
    turn, (request,) = run(conversation, model, code)
    # the process dies behind the approved call, before the next one can wait
    from registry.executors import pausing

    real = pausing.PausableCalls.end
    held, go = threading.Event(), threading.Event()

    def dying(self, call):
        real(self, call)
        if not go.is_set():
            held.set()
            go.wait(120)

    monkeypatch.setattr(pausing.PausableCalls, "end", dying)
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert held.wait(60)
    kept = ProgramCall.objects.exclude(key="start").get()
    assert kept.outcome["output"]["result"] == 2
    turns.turns_interrupt()
    turn.refresh_from_db()
    assert turn.error["code"] == "turn_interrupted"
    monkeypatch.setattr(pausing.PausableCalls, "end", real)
    turn_continue(turn)
    (second,) = waiting(turn)
    assert second.asked["arguments"] == {"expression": "2+2"}
    request_answer(alice, second.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert value_of(turn) == [2, 4]
    assert calls_made() == [("calculator", "approved")] * 2
    go.set()  # only now: a process that died would not go on beside the one that took over


def elsewhere(turn):
    """Run a queued turn in a process of its own."""
    name = connection.settings_dict["NAME"]
    program = (
        "import asyncio, sys, uuid, django; django.setup();"
        f"from django.db import connections; connections['default'].settings_dict['NAME'] = "
        f"{name!r};"
        "from chat.turns import run_turn; asyncio.run(run_turn(uuid.UUID(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(turn.pk)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_program_that_was_approved_asks_about_its_calls_and_is_not_asked_about_again(
    conversation, model, alice, asking
):
    asking["run_code"] = Effect.ASK
    turn, (outer,) = run(conversation, model, LOOP)
    assert (outer.tool_name, outer.inner_call) == ("run_code", "")
    assert not Invocation.objects.exists()
    request_answer(alice, outer.pk, Reply(decision="approve"))
    (inner,) = waiting(turn)
    assert inner.tool_name == "calculator", "who approves a program has not seen what it calls"
    request_answer(alice, inner.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert value_of(turn)[2]["result"] == 391
    assert Invocation.objects.get(tool__wire_name="run_code").decision == "approved"
