"""A turn from the message to its last event, with the scripted model."""

import threading
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import OperationalError
from django.utils import timezone

from chat import services, turns
from chat.endings import turns_close_stale
from chat.errors import TurnOpen
from chat.models import Conversation, Turn
from chat.models.message import Role
from chat.models.turn import OPEN, TurnStatus
from registry.models import Invocation
from tests import factories
from tests.chat.conftest import finished
from tests.factories import make_turn
from tests.fakes.model_server import MODEL, Call, Reply
from tests.live import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(alice) -> Conversation:
    """Alice's conversation with an agent that has the calculator linked."""
    calculator = factories.make_builtin("calculator")
    return factories.make_conversation(alice, factories.make_agent(alice, calculator, model=MODEL))


def events_of(turn: Turn) -> list[tuple[str, dict]]:
    return list(turn.events.order_by("number").values_list("name", "data"))


def results_of(turn: Turn) -> list[dict]:
    rows = turn.messages.filter(role=Role.TOOL).order_by("position")
    return [row.result for row in rows]


def test_a_linked_tool_is_called_and_its_result_goes_back_to_the_model(conversation, model, say):
    model.calls(Call("calculator", {"expression": "17*23"}, "call_a"), text="Let me see. ")
    model.enqueue("It is 391.")
    turn = say(conversation, "What is seventeen times twenty-three?")
    assert turn.status == TurnStatus.COMPLETED
    assert turn.usage == {"input_tokens": 22, "output_tokens": 14}
    assert [name for name, _ in events_of(turn) if name != "text.delta"] == [
        "turn.started",
        "tools.found",
        "tool.call",
        "tool.result",
        "turn.completed",
    ]
    result = results_of(turn)[0]
    assert result["status"] == "succeeded"
    assert result["output"]["result"] == 391
    told = model.requests[1]["messages"][-1]
    assert told["role"] == "tool"
    assert told["tool_call_id"] == "call_a"
    assert '"result": 391' in told["content"]
    words = "".join(data["text"] for name, data in events_of(turn) if name == "text.delta")
    assert words == "Let me see. It is 391."
    assert Invocation.objects.get(turn_id=turn.pk).caller == "chat"


def test_two_calls_in_one_step_keep_their_order(conversation, model, say):
    model.calls(
        Call("calculator", {"expression": "1+1"}), Call("calculator", {"expression": "2+2"})
    )
    model.enqueue("2 and 4.")
    turn = say(conversation, "Two sums")
    assert [result["output"]["result"] for result in results_of(turn)] == [2, 4]
    told = [m["content"] for m in model.requests[1]["messages"] if m["role"] == "tool"]
    assert ['"result": 2' in told[0], '"result": 4' in told[1]] == [True, True]


def test_calls_with_the_same_id_are_told_apart(conversation, model, say):
    model.calls(Call("calculator", {"expression": "1+1"}, "same"))
    model.calls(Call("calculator", {"expression": "2+2"}, "same"))
    model.enqueue("Done.")
    turn = say(conversation, "Twice")
    ids = [data["id"] for name, data in events_of(turn) if name == "tool.call"]
    assert len(set(ids)) == 2


def test_an_unknown_tool_is_answered_with_what_there_is(conversation, model, say):
    model.calls(Call("teleport", {}))
    model.enqueue("I cannot.")
    turn = say(conversation, "Beam me up")
    assert turn.status == TurnStatus.COMPLETED
    error = results_of(turn)[0]["error"]
    assert error["code"] == "unknown_tool"
    assert "calculator" in error["hint"]


def test_malformed_arguments_are_answered_and_can_be_mended(conversation, model, say):
    model.calls(Call("calculator", '{"expression": "1+'))
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.enqueue("2.")
    turn = say(conversation, "One and one")
    first, second = results_of(turn)
    assert first["error"]["code"] == "invalid_arguments"
    assert "not valid JSON" in first["error"]["message"]
    assert second["output"]["result"] == 2
    repeated = model.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert repeated == "{}", "providers refuse a history with broken JSON"


def test_three_malformed_calls_end_the_turn_in_clear_words(conversation, model, say):
    for _ in range(3):
        model.calls(Call("calculator", "[1, 2"))
    turn = say(conversation, "Broken")
    assert turn.status == TurnStatus.FAILED
    assert turn.error["code"] == "malformed_calls"
    assert len(results_of(turn)) == 3, "every call got an answer"


def test_a_model_that_only_calls_tools_meets_the_step_limit(conversation, model, say):
    for number in range(8):
        model.calls(Call("calculator", {"expression": str(number)}))
    turn = say(conversation, "Count for ever")
    assert turn.error["code"] == "step_limit"
    assert len(model.requests) == 8
    assert model.requests[-1]["tool_choice"] == "none"


def test_the_conversation_is_told_again_at_the_next_message(conversation, model, say):
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.enqueue("2.", "As I said.")
    say(conversation, "One and one")
    say(conversation, "Again?")
    roles = [message["role"] for message in model.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_a_stop_ends_the_turn_and_keeps_what_was_said(conversation, model):
    hold = threading.Event()
    model.enqueue(Reply("Once upon a time there was", hold=hold))
    turn = services.message_send(conversation, content="Tell a story")
    eventually(lambda: turn.events.filter(name="text.delta").exists(), what="the first words")
    services.turn_stop(turn)
    finished(turn)
    hold.set()
    assert turn.status == TurnStatus.STOPPED
    assert events_of(turn)[-1] == ("turn.completed", {"status": "stopped", "usage": turn.usage})
    assert turn.messages.get(role=Role.ASSISTANT).content.startswith("Once")


def test_a_message_is_refused_while_the_agent_answers(conversation, model):
    hold = threading.Event()
    model.enqueue(Reply("Wait for it", hold=hold))
    turn = services.message_send(conversation, content="First")
    with pytest.raises(TurnOpen, match="still answering") as caught:
        services.message_send(conversation, content="Second")
    assert caught.value.status == 409
    hold.set()
    assert finished(turn).status == TurnStatus.COMPLETED


def test_a_turn_whose_process_is_gone_is_closed_and_the_talk_goes_on(conversation, model, say):
    lost = make_turn(
        conversation=conversation,
        number=1,
        model=MODEL,
        status=TurnStatus.RUNNING,
        heartbeat_at=timezone.now() - timedelta(seconds=31),
    )
    model.enqueue("Here I am.")
    turn = say(conversation, "Still there?")
    lost.refresh_from_db()
    assert lost.error["code"] == "turn_interrupted"
    assert events_of(lost)[-1][0] == "turn.failed"
    assert turn.status == TurnStatus.COMPLETED


def test_a_turn_that_lives_is_not_closed(conversation):
    living = make_turn(
        conversation=conversation,
        number=1,
        model=MODEL,
        status=TurnStatus.RUNNING,
        heartbeat_at=timezone.now(),
    )
    turns_close_stale(conversation.pk)
    living.refresh_from_db()
    assert living.status in OPEN


def test_a_sign_of_life_that_the_database_did_not_take_stops_no_turn(
    conversation, model, monkeypatch
):
    hold, again, real = threading.Event(), threading.Event(), turns._beat
    problems = [OperationalError("No connection is free.")]

    def beat(turn_id: UUID) -> bool:
        if problems:
            raise problems.pop()
        again.set()
        return real(turn_id)

    monkeypatch.setattr(turns, "_beat", beat)
    monkeypatch.setattr(turns, "HEARTBEAT_SECONDS", 0.1)
    model.enqueue(Reply("Once upon a time there was", hold=hold))
    turn = services.message_send(conversation, content="Tell a story")
    assert again.wait(60), "it gives signs of life as before"
    hold.set()
    assert finished(turn).status == TurnStatus.COMPLETED


def test_a_call_that_was_cut_off_has_an_answer_in_the_history(conversation, model, say):
    lost = make_turn(conversation=conversation, number=1, model=MODEL, status=TurnStatus.RUNNING)
    lost.messages.create(position=0, role=Role.USER, content="Go")
    call = {"id": "cut", "name": "calculator", "arguments": "{}"}
    lost.messages.create(position=1, role=Role.ASSISTANT, tool_calls=[call])
    Turn.objects.filter(pk=lost.pk).update(status=TurnStatus.FAILED)
    model.enqueue("On we go.")
    say(conversation, "Go on")
    answers = [m for m in model.requests[0]["messages"] if m["role"] == "tool"]
    assert [answer["tool_call_id"] for answer in answers] == ["cut"]
    assert "interrupted" in answers[0]["content"]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "model_unauthorised"),
        (403, "model_unauthorised"),
        (404, "model_unknown"),
        (429, "model_rate_limited"),
        (400, "model_refused_request"),
        (500, "model_unavailable"),
    ],
)
def test_a_refusal_of_the_provider_is_told_without_the_key(conversation, model, say, status, code):
    model.refuses(status, "Incorrect API key provided: sk-scripted-secret-key.", times=3)
    turn = say(conversation, "Hello?")
    assert turn.status == TurnStatus.FAILED
    assert turn.error["code"] == code
    assert turn.error["hint"]
    assert "secret" not in str(turn.error)
    assert "secret" not in str(events_of(turn))


def test_a_conversation_that_is_too_long_for_the_model_is_told_so(conversation, model, say):
    model.refuses(
        400,
        "This model's maximum context length is 8 tokens.",
        code="context_length_exceeded",
    )
    assert say(conversation, "A long story").error["code"] == "context_too_long"


def test_a_model_that_dies_in_mid_sentence_is_told_so_and_its_words_are_kept(
    conversation, model, say
):
    model.enqueue(Reply("I was about to say", dies=True))
    turn = say(conversation, "What?")
    assert turn.error["code"] == "model_interrupted"
    assert turn.messages.get(role=Role.ASSISTANT).content.startswith("I was")


def test_a_provider_that_cannot_be_reached_is_told_so(conversation, model, monkeypatch, say):
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    assert say(conversation, "Hello?").error["code"] == "model_unreachable"


def test_a_model_that_nobody_knows_is_told_so(alice, say):
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model="nonsense"))
    turn = say(conversation, "Hello?")
    assert turn.error["code"] == "model_unknown"
    assert "OUTFITTER_MODEL" in turn.error["hint"]
