"""Turns that go on: in another process, after a failure, after a stop, within their limits."""

import os
import subprocess
import sys
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from chat import services, turns
from chat.continuing import turn_continue
from chat.errors import TurnNotContinuable, TurnOpen
from chat.habits import Habits, is_malformed
from chat.llm import ToolCallReady
from chat.models import Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.requests import Reply, request_answer
from chat.tasks import close_stale_turns
from registry.executors.base import Output
from registry.models import Invocation
from tests import factories
from tests.chat.conftest import finished, waiting
from tests.factories import make_turn
from tests.fakes.model_server import MODEL, Call
from tests.fakes.model_server import Reply as Spoken
from tests.live import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(alice):
    agent = factories.make_agent(alice, factories.make_builtin("calculator"), model=MODEL)
    return factories.make_conversation(alice, agent)


def results_of(turn):
    return [row.result for row in turn.messages.filter(role=Role.TOOL).order_by("position")]


def names_of(turn):
    rows = turn.events.order_by("number").values_list("name", flat=True)
    return [name for name in rows if name != "text.delta"]


def asked(conversation, model, content="Ask me"):
    model.calls(Call("ask_user", {"question": "Which?"}, "q"), text="Hm. ")
    turn = services.message_send(conversation, content=content)
    return turn, waiting(turn)[0]


def test_an_answer_hours_later_is_carried_out_by_another_process(
    conversation, model, alice, monkeypatch
):
    turn, request = asked(conversation, model)
    long_ago = timezone.now() - timedelta(hours=9)
    Turn.objects.filter(pk=turn.pk).update(created_at=long_ago)
    assert close_stale_turns() == 0, "a turn that waits has no process, and needs none"
    monkeypatch.setattr("chat.requests.turn_start", lambda turn_id: None)
    request_answer(alice, request.pk, Reply(decision="answer", text="The blue one"))
    turn.refresh_from_db()
    assert turn.status == TurnStatus.QUEUED
    assert close_stale_turns() == 0
    model.enqueue("Blue it is.")
    program = (
        "import asyncio, sys, uuid, django; django.setup();"
        f"from django.db import connections; connections['default'].settings_dict['NAME'] = "
        f"{connection.settings_dict['NAME']!r};"
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
    turn.refresh_from_db()
    assert turn.status == TurnStatus.COMPLETED, turn.error
    assert results_of(turn)[0]["output"] == "The blue one"
    told = model.requests[-1]["messages"]
    assert [message["role"] for message in told] == ["system", "user", "assistant", "tool"]
    assert told[2]["content"] == "Hm. "
    positions = list(turn.messages.order_by("position").values_list("position", flat=True))
    assert positions == [0, 1, 2, 3]
    assert turn.usage == {"input_tokens": 22, "output_tokens": 14}


def test_tools_that_a_search_found_are_there_when_the_turn_goes_on(alice, model):
    factories.make_builtin("calculator")
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    model.calls(Call("search_tools", {"names": ["calculator"]}))
    turn, request = asked(conversation, model, "hello")
    model.calls(Call("calculator", {"expression": "6*7"}))
    model.enqueue("42.")
    request_answer(alice, request.pk, Reply(decision="answer", text="Go on"))
    finished(turn)
    assert results_of(turn)[-1]["output"]["result"] == 42
    assert names_of(turn).count("turn.started") == 1


def test_the_steps_of_a_turn_are_counted_over_its_waits(conversation, model, alice):
    conversation.agent.max_steps = 2
    conversation.agent.save()
    turn, request = asked(conversation, model)
    model.enqueue("Done.")
    request_answer(alice, request.pk, Reply(decision="answer", text="x"))
    assert finished(turn).status == TurnStatus.COMPLETED
    assert [r.get("tool_choice") for r in model.requests] == ["auto", "none"]


def test_a_turn_that_the_model_broke_off_goes_on_behind_its_words(conversation, model):
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.enqueue(Spoken("I was about to say", dies=True))
    turn = finished(services.message_send(conversation, content="One and one?"))
    assert turn.error["code"] == "model_interrupted"
    model.enqueue("that it is two.")
    turn_continue(turn)
    assert finished(turn).status == TurnStatus.COMPLETED
    assert turn.error is None
    said = turn.messages.filter(role=Role.ASSISTANT).order_by("position")
    assert [row.content.split(" ")[0] for row in said] == ["", "I", "that"]
    told = model.requests[-1]["messages"]
    assert told[-1]["role"] == "user"
    assert "broke off" in told[-1]["content"]
    assert Invocation.objects.count() == 1, "what was done is not done again"
    assert names_of(turn)[-3:] == ["turn.failed", "turn.resumed", "turn.completed"]
    usage = conversation.agent.usage.get() if hasattr(conversation.agent, "usage") else None
    assert usage is None or usage.turns == 1


def test_a_stopped_turn_can_be_continued(conversation, model):
    hold = threading.Event()
    model.enqueue(Spoken("Once upon a time there was", hold=hold))
    turn = services.message_send(conversation, content="Tell a story")
    eventually(lambda: turn.events.filter(name="text.delta").exists(), what="the first words")
    services.turn_stop(turn)
    finished(turn)
    hold.set()
    model.enqueue("a king.")
    assert turn_continue(turn).status in {TurnStatus.QUEUED, TurnStatus.RUNNING}
    assert finished(turn).status == TurnStatus.COMPLETED
    assert turn.messages.order_by("-position").first().content == "a king."


def test_a_turn_whose_process_was_killed_is_closed_by_the_worker_and_can_be_continued(
    conversation, model
):
    lost = make_turn(conversation, model=MODEL, status=TurnStatus.RUNNING, found={"tools": []})
    lost.messages.create(position=0, role=Role.USER, content="Go")
    call = {"id": "cut", "name": "calculator", "arguments": "{}"}
    lost.messages.create(position=1, role=Role.ASSISTANT, tool_calls=[call])
    for number, (name, data) in enumerate(
        [("turn.started", {}), ("tool.call", {}), ("text.delta", {"text": "So far"})], 1
    ):
        lost.events.create(number=number, name=name, data=data)
    Turn.objects.filter(pk=lost.pk).update(heartbeat_at=timezone.now() - timedelta(seconds=31))
    assert close_stale_turns() == 1
    lost.refresh_from_db()
    assert lost.error["code"] == "turn_interrupted"
    assert lost.messages.order_by("-position").first().content == "So far"
    model.enqueue("and further.")
    turn_continue(lost)
    assert finished(lost).status == TurnStatus.COMPLETED
    record = results_of(lost)[0]
    assert record["error"]["code"] == "call_interrupted"
    assert "may have taken effect" in record["error"]["message"]
    roles = [message["role"] for message in model.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_a_call_that_waited_when_the_turn_was_stopped_is_told_as_not_made(conversation, model):
    turn, _ = asked(conversation, model)
    services.turn_stop(turn)
    model.enqueue("Then not.")
    turn_continue(turn)
    finished(turn)
    assert results_of(turn)[0]["error"]["code"] == "call_not_made"


def test_only_the_last_turn_is_continued_and_only_when_it_broke_off(conversation, model, say):
    model.refuses(500)
    first = say(conversation, "One")
    model.enqueue("Two.")
    second = say(conversation, "Two")
    with pytest.raises(TurnNotContinuable, match="went on after this turn") as caught:
        turn_continue(first)
    assert caught.value.status == 409
    with pytest.raises(TurnNotContinuable, match="came to its answer"):
        turn_continue(second)
    make_turn(conversation, model=MODEL)
    with pytest.raises(TurnOpen):
        turn_continue(second)


def test_the_process_that_ends_closes_what_it_runs(conversation, model):
    hold = threading.Event()
    model.enqueue(Spoken("Half a sentence", hold=hold))
    turn = services.message_send(conversation, content="Say")
    eventually(lambda: turn.events.filter(name="text.delta").exists(), what="the first words")
    turns.turns_interrupt()
    turn.refresh_from_db()
    assert turn.error["code"] == "turn_interrupted"
    hold.set()
    eventually(lambda: turn.pk not in turns._running, what="the end of its work")


def test_the_same_call_is_made_twice_then_answered_with_a_note_then_the_turn_ends(
    conversation, model, say
):
    for _ in range(6):
        model.calls(Call("calculator", {"expression": "1+1"}))
    turn = say(conversation, "Loop")
    assert turn.error["code"] == "model_loops"
    assert Invocation.objects.count() == 2
    results = results_of(turn)
    assert [result["status"] for result in results] == ["succeeded"] * 2 + ["failed"] * 4
    assert results[2]["error"]["code"] == "call_repeated"
    assert '"result": 2' in results[5]["error"]["message"], "the result is quoted, not the note"
    model.enqueue("Sorry, 2.")
    turn_continue(turn)
    assert finished(turn).status == TurnStatus.COMPLETED


def test_arguments_that_do_not_fit_the_schema_end_the_turn_at_the_third_try(
    conversation, model, say
):
    for arguments in ({}, {"expression": 1}, {"wrong": "x"}):
        model.calls(Call("calculator", arguments))
    turn = say(conversation, "Broken")
    assert turn.error["code"] == "malformed_calls"
    assert [result["error"]["code"] for result in results_of(turn)] == ["invalid_arguments"] * 3
    assert not Invocation.objects.filter(outcome="succeeded").exists()


def test_one_call_that_fits_lets_the_tries_count_anew(conversation, model, say):
    for arguments in ({}, {}, {"expression": "1+1"}, {}, {}):
        model.calls(Call("calculator", arguments))
    model.enqueue("Two.")
    assert say(conversation, "Try").status == TurnStatus.COMPLETED


def test_several_bad_calls_in_one_message_are_one_try(conversation, model, say):
    model.calls(*(Call("calculator", "[1", f"c{n}") for n in range(3)))
    model.enqueue("I give up.")
    assert say(conversation, "Try").status == TurnStatus.COMPLETED


def test_an_answer_of_fifty_megabytes_ends_as_the_tools_error(
    conversation, model, say, monkeypatch
):
    class Huge:
        def execute(self, spec, arguments, context):
            return Output(value="x" * 50_000_000)

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Huge())
    model.calls(Call("calculator", {"expression": "1"}))
    model.enqueue("Too much.")
    turn = say(conversation, "All of it")
    assert turn.status == TurnStatus.COMPLETED
    assert results_of(turn)[0]["error"]["code"] == "output_rejected"
    assert len(str(model.requests[-1])) < 20_000


def test_what_is_no_answer_of_ours_is_not_malformed():
    assert not is_malformed("invalid_arguments, it said")
    assert not is_malformed('{"status": "succeeded", "output": "invalid_arguments"}')


def test_the_same_call_is_known_however_it_is_written():
    habits = Habits([[(ToolCallReady("a", "t", '{"a":1, "b":2}'), "one")]])
    assert not habits.repeated(ToolCallReady("b", "t", '{"b": 2, "a": 1}'))
    assert "Its result was: one" in habits.repeated(ToolCallReady("c", "t", '{"a":1,"b":2}'))
    assert not habits.repeated(ToolCallReady("d", "t", '{"a": 2}'))
    for _ in range(2):
        habits.repeated(ToolCallReady("e", "t", "{"))
    assert "under way" in habits.repeated(ToolCallReady("e", "t", "{"))
