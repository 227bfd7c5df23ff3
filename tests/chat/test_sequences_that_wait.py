"""Sequences that a model calls: what a person is asked is asked before the first step."""

import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from chat import preparing, services
from chat.models import InputRequest
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.requests import Reply, request_answer
from registry.approval import Effect, Verdict
from registry.models import Invocation
from sequences import running
from sequences.models import Run, RunStep
from tests import factories
from tests.chat.conftest import finished, waiting
from tests.fakes.model_server import MODEL, Call
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
