"""Sequences that a model calls: what a person is asked is asked before the first step."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Q
from django.utils import timezone

from chat import preparing, services, tasks, turns
from chat.continuing import turn_continue
from chat.endings import turn_interrupt
from chat.errors import RequestAnswered
from chat.models import InputRequest, TurnEvent
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.requests import Reply, request_answer
from chat.requests_shown import ask_of_event, ask_of_row
from config.lib.errors import InvalidInput, NotFound
from registry.approval import Effect, Verdict
from registry.models import Invocation
from sequences import requests as run_requests
from sequences import running
from sequences.models import Run, RunRequest, RunStep
from sequences.states import run_cancel, run_claim, run_pause
from tests import factories
from tests.chat.conftest import finished, waiting
from tests.fakes.model_server import MODEL, Call
from tests.live import eventually
from tests.sequences.workshop import sequence_of, step

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "canary-secret-sequence-77"


@pytest.fixture
def worker() -> Iterator[None]:
    """Run what is queued, in a thread that stands for the worker's process."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            for run in Run.objects.filter(status="queued", parent_step=None):
                running.execute(run.pk)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.fixture
def asking(monkeypatch):
    effects = {"calculator": Effect.ASK}

    def policy(spec):
        return Verdict(effect=effects.get(spec.wire_name, Effect.ALLOW), reason="The rule “sums”.")

    real = preparing.agent_context
    monkeypatch.setattr(
        preparing, "agent_context", lambda *args, **more: real(*args, **more).derive(policy=policy)
    )
    return effects


def counting():
    tool = factories.make_builtin("count_text")
    mapped = {"text": {"source": "initialInput", "key": "text"}}
    return step(tool, inputMapping=mapped, storeOutputAs="counted")


def calculating():
    mapped = {"expression": {"source": "initialInput", "key": "text"}}
    return step(factories.make_builtin("calculator"), inputMapping=mapped, storeOutputAs="sum")


SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def conversation_with(alice, *steps):
    sequence = sequence_of(alice, *steps, wire_name="count_and_add", input_schema=SCHEMA)
    agent = factories.make_agent(alice, sequence, model=MODEL, discovery_mode="linked")
    return factories.make_conversation(alice, agent)


def ask(conversation, model, *then):
    model.calls(Call("count_and_add", {"text": "1+1"}, "seq"))
    model.enqueue(*then)
    turn = services.message_send(conversation, content="Do it.")
    return turn, waiting(turn)


def result_of(turn):
    return turn.messages.get(role=Role.TOOL).result


def test_a_sequence_asks_before_it_starts_and_names_the_tools(alice, model, asking, worker):
    conversation = conversation_with(alice, counting(), calculating())
    turn, (request,) = ask(conversation, model, "Done.")
    assert (request.kind, request.tool_name) == ("approval", "count_and_add")
    assert request.asked["reason"] == "It calls calculator. The rule “sums”."
    assert not Run.objects.exists(), "no step was run"
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["status"] == "succeeded", result_of(turn)
    assert Run.objects.get().status == "succeeded"
    decisions = Invocation.objects.values_list("tool__wire_name", "decision")
    assert dict(decisions)["count_and_add"] == "approved"


def test_a_denied_sequence_does_not_start(alice, model, asking, worker):
    turn, (request,) = ask(conversation_with(alice, calculating()), model, "No.")
    request_answer(alice, request.pk, Reply(decision="deny", note="Not now."))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert result_of(turn)["error"]["code"] == "approval_denied"
    assert not Run.objects.exists()


def test_a_sequence_that_is_not_to_be_asked_about_again_is_not(alice, model, asking, worker):
    conversation = conversation_with(alice, calculating())
    turn, (request,) = ask(conversation, model, "Done.")
    request_answer(alice, request.pk, Reply(decision="approve", remember=True))
    finished(turn)
    model.calls(Call("count_and_add", {"text": "2+2"}, "again"))
    model.enqueue("Done.")
    again = finished(services.message_send(conversation, content="And again."))
    assert again.status == TurnStatus.COMPLETED, again.error
    assert result_of(again)["status"] == "succeeded"
    assert InputRequest.objects.count() == 1


@pytest.fixture
def lacking(alice):
    """A sequence that counts, and then calls a tool whose key nobody set."""
    package = factories.make_package(env=[{"name": "EXA_API_KEY"}])
    tool = factories.make_tool(package=package, wire_name="search_web")
    mapped = {"text": {"source": "initialInput", "key": "text"}}
    return conversation_with(alice, counting(), step(tool, inputMapping=mapped))


def test_what_a_step_lacks_is_asked_for_before_the_first_step(
    lacking, alice, model, worker, monkeypatch
):
    from registry.executors import base
    from registry.executors.base import Output
    from registry.models.tool import ToolKind

    received = []
    real = base.executor_for

    class Keeping:
        def execute(self, spec, arguments, context):
            received.append(dict(context.env(["EXA_API_KEY"])))
            return Output(value=f"found with {received[-1]['EXA_API_KEY']}")

    monkeypatch.setattr(
        "registry.execution.executor_for",
        lambda kind: Keeping() if kind == ToolKind.NPM else real(kind),
    )
    turn, (request,) = ask(lacking, model, "Done.")
    assert (request.kind, request.asked["names"]) == ("credential", ["EXA_API_KEY"])
    assert not Run.objects.exists(), "no step was run, so none is run twice"
    request_answer(alice, request.pk, Reply(decision="set", values={"EXA_API_KEY": SECRET}))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["status"] == "succeeded", result_of(turn)
    assert received == [{"EXA_API_KEY": SECRET}]
    assert list(RunStep.objects.values_list("tool_name", flat=True).order_by("number")) == [
        "count_text",
        "search_web",
    ]
    everything = [
        list(turn.events.values()),
        list(turn.messages.values()),
        list(InputRequest.objects.values()),
        list(Invocation.objects.values()),
        list(Run.objects.values()),
        list(RunStep.objects.values()),
        model.requests,
    ]
    assert SECRET not in str(everything)


def test_a_sequence_whose_key_is_not_given_does_not_start(lacking, alice, model, worker):
    turn, (request,) = ask(lacking, model, "Too bad.")
    request_answer(alice, request.pk, Reply(decision="skip"))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert result_of(turn)["error"]["code"] == "missing_credential"
    assert not Run.objects.exists()


# --- Runs that wait in the middle ---

FORM = {
    "type": "object",
    "properties": {"budget": {"type": "integer", "title": "Budget", "default": 100}},
    "required": ["budget"],
}


def approving(**fields):
    approval = {"title": "Send it?", "message": "It says {{ initial.text }}.", **fields}
    return {"approval": approval, "storeOutputAs": "said"}


def called(alice, model, *steps):
    """Have the model call a sequence that asks in the middle; return the turn and what it asks."""
    return ask(conversation_with(alice, *steps), model, "Done.")


def test_what_a_run_asks_is_asked_on_its_card_and_the_call_goes_on(alice, model, worker):
    turn, (request,) = called(alice, model, counting(), approving(), calculating())
    run = Run.objects.get()
    assert (run.status, run.turn_id, run.call_id) == ("waiting", turn.pk, request.call_id)
    assert (request.kind, request.asked["title"]) == ("approval", "Send it?")
    assert request.asked["reason"] == "It says 1+1."
    request_answer(alice, request.pk, Reply(decision="approve", note="Gladly."))
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert result_of(turn)["status"] == "succeeded", result_of(turn)
    assert Run.objects.get().status == "succeeded", "there is one run"
    said = RunStep.objects.get(number=2).output
    assert (said["approved"], said["by"], said["note"]) == (True, "alice", "Gladly.")


def test_the_values_of_its_form_are_checked_and_taken(alice, model, worker):
    turn, (request,) = called(alice, model, approving(inputSchema=FORM))
    assert request.asked["arguments"] == {"budget": 100}
    with pytest.raises(InvalidInput, match="budget"):
        request_answer(alice, request.pk, Reply(decision="approve", arguments={"budget": "x"}))
    request_answer(alice, request.pk, Reply(decision="approve", arguments={"budget": 7}))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert RunStep.objects.get().output["values"] == {"budget": 7}


def test_a_refusal_ends_the_run_and_the_model_is_told(alice, model, worker):
    turn, (request,) = called(alice, model, approving(), calculating())
    request_answer(alice, request.pk, Reply(decision="deny", note="Not now."))
    assert finished(turn).status == TurnStatus.COMPLETED
    failed = result_of(turn)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "tool_failed")
    assert "refused: Not now." in failed["error"]["message"]
    assert Run.objects.get().status == "failed"


def test_two_questions_of_one_run_are_asked_one_after_the_other(alice, model, worker):
    turn, (first,) = called(
        alice, model, approving(), {**approving(title="Sure?"), "storeOutputAs": "sure"}
    )
    request_answer(alice, first.pk, Reply(decision="approve"))
    second = eventually(lambda: InputRequest.objects.filter(answered_at=None).first())
    assert second.asked["title"] == "Sure?"
    request_answer(alice, second.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert Run.objects.get().status == "succeeded"


def test_a_question_inside_of_a_sequence_in_a_sequence_is_asked_too(alice, model, worker):
    inner = sequence_of(alice, approving(title="Deep?"), wire_name="inner")
    mapped = {"text": {"source": "initialInput", "key": "text"}}
    turn, (request,) = called(alice, model, step(inner, inputMapping=mapped))
    assert request.asked["title"] == "Deep?"
    request_answer(alice, request.pk, Reply(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert set(Run.objects.values_list("status", flat=True)) == {"succeeded"}


def test_an_answer_on_the_page_of_the_run_lets_the_turn_go_on(alice, model, worker):
    turn, (request,) = called(alice, model, approving())
    run_requests.request_answer(RunRequest.objects.get(), user=alice, approved=True)
    assert finished(turn).status == TurnStatus.COMPLETED
    request.refresh_from_db()
    assert request.answer == {"decision": "done"}
    assert Run.objects.get().status == "succeeded"


def test_an_answer_that_came_before_the_turn_waited_is_found(alice, model, worker, monkeypatch):
    real = turns.turn_wait

    def answered_first(*args):
        run_requests.request_answer(RunRequest.objects.get(), user=alice, approved=True)
        return real(*args)

    monkeypatch.setattr(turns, "turn_wait", answered_first)
    model.calls(Call("count_and_add", {"text": "1+1"}, "seq"))
    model.enqueue("Done.")
    turn = services.message_send(conversation_with(alice, approving()), content="Do it.")
    assert finished(turn).status == TurnStatus.COMPLETED
    assert Run.objects.get().status == "succeeded"


def test_the_beat_finds_an_answer_that_nobody_told_of(alice, model, worker, monkeypatch):
    monkeypatch.setattr("sequences.states.run_moved.send", lambda **_: None)
    turn, _ = called(alice, model, approving())
    run_requests.request_answer(RunRequest.objects.get(), user=alice, approved=True)
    tasks.close_stale_turns()
    assert finished(turn).status == TurnStatus.COMPLETED


def test_a_second_answer_is_refused(alice, model, worker):
    turn, (request,) = called(alice, model, approving())
    request_answer(alice, request.pk, Reply(decision="approve"))
    with pytest.raises(RequestAnswered):
        request_answer(alice, request.pk, Reply(decision="deny"))
    finished(turn)


def test_a_turn_that_is_stopped_cancels_the_run_that_waits_for_it(alice, model, worker):
    turn, _ = called(alice, model, approving())
    turns.turn_stop(turn.pk)
    assert finished(turn).status == TurnStatus.STOPPED
    assert eventually(lambda: Run.objects.filter(status="cancelled").first())
    assert RunRequest.objects.get().approved is None


def test_a_run_that_is_cancelled_on_its_page_ends_the_call(alice, model, worker):
    turn, _ = called(alice, model, approving())
    run_cancel(Run.objects.get())
    assert finished(turn).status == TurnStatus.COMPLETED
    assert result_of(turn)["error"]["code"] == "cancelled"


def test_an_expired_question_ends_the_call(alice, model, worker):
    turn, _ = called(alice, model, approving(expiresAfterSeconds=60))
    run_requests.requests_expire(timezone.now() + timedelta(minutes=2))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert "in time" in result_of(turn)["error"]["message"]


def test_a_step_in_doubt_ends_the_call_and_leaves_the_run(alice, model):
    conversation = conversation_with(alice, calculating())
    model.calls(Call("count_and_add", {"text": "1+1"}, "seq"))
    model.enqueue("It waits.")
    turn = services.message_send(conversation, content="Do it.")
    run = eventually(Run.objects.first)
    lost = run_claim(run.pk)
    RunStep.objects.create(
        run=lost, number=1, status="in_doubt", lease=lost.lease, started_at=timezone.now()
    )
    run_pause(lost, "attention")
    assert finished(turn).status == TurnStatus.COMPLETED
    failed = result_of(turn)
    assert failed["error"]["code"] == "run_in_doubt"
    assert "was not cancelled" in failed["error"]["message"]
    assert failed["details"]["run_id"] == str(run.pk)
    run.refresh_from_db()
    assert run.status == "attention"


class ProcessGoneError(BaseException):
    """Ends a thread where it is, as the end of its process does: it writes nothing more."""


def test_a_turn_whose_process_died_follows_the_run_that_its_call_began(alice, model, monkeypatch):
    """The run went on without it, and is not begun again."""
    died = threading.Event()

    def die(*_):
        died.set()
        raise ProcessGoneError

    conversation = conversation_with(alice, calculating())
    model.calls(Call("count_and_add", {"text": "1+1"}, "seq"))
    with monkeypatch.context() as patched:
        patched.setattr("sequences.executor.wait", die)
        turn = services.message_send(conversation, content="Do it.")
        eventually(died.is_set, what="the end of the call's thread")
    run = Run.objects.get()
    turn_interrupt(turn.pk, Q())
    running.execute(run.pk)
    eventually(lambda: turn.pk not in turns._running)
    model.enqueue("It is two.")
    turn.refresh_from_db()
    turn_continue(turn)
    assert finished(turn).status == TurnStatus.COMPLETED
    assert result_of(turn)["status"] == "succeeded", result_of(turn)
    assert Run.objects.count() == 1


def test_somebody_else_cannot_answer_what_a_run_asks(alice, bob, model, worker):
    turn, (request,) = called(alice, model, approving())
    with pytest.raises(NotFound):
        request_answer(bob, request.pk, Reply(decision="approve"))
    assert Run.objects.get().status == "waiting"
    turns.turn_stop(turn.pk)
    finished(turn)


def test_the_card_says_the_same_from_its_event_and_from_its_row(alice, model, worker):
    """Whoever watches sees it by the event, and whoever comes later by the row."""
    _, (request,) = called(alice, model, approving(inputSchema=FORM))
    told = TurnEvent.objects.get(name="input.required").data
    live, kept = ask_of_event(told), ask_of_row(request)
    assert live.asked == kept.asked
    assert (live.asks_for_run, live.asked["title"]) == (True, "Send it?")
    assert live.asked["run"] == str(Run.objects.get().pk)
