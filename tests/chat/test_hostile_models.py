"""Models that misbehave: every turn has an end that is told, and the next message is answered."""

import json
import time

import pytest

from chat import services
from chat.models import Conversation, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from registry.models import Invocation
from tests import factories
from tests.chat.conftest import finished
from tests.fakes.model_server import MODEL, Call, Reply

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(alice) -> Conversation:
    """Alice's conversation with an agent that has the calculator linked."""
    calculator = factories.make_builtin("calculator")
    agent = factories.make_agent(alice, calculator, model=MODEL, discovery_mode="linked")
    return factories.make_conversation(alice, agent)


@pytest.fixture
def goes_on(conversation, model, say):
    """Return a function that proves that the conversation takes the next message."""

    def answered() -> None:
        model._script.clear()
        model.enqueue("Here I am.")
        turn = say(conversation, "Are you there?")
        assert turn.status == TurnStatus.COMPLETED, turn.error

    return answered


def results_of(turn: Turn) -> list[dict]:
    rows = turn.messages.filter(role=Role.TOOL).order_by("position")
    return [row.result for row in rows]


def words_of(turn: Turn) -> str:
    row = turn.messages.filter(role=Role.ASSISTANT).order_by("position").last()
    return row.content if row else ""


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{"expression": "1+', id="broken off"),
        pytest.param("[" * 50_000, id="50,000 open brackets"),
        pytest.param('{"a":' * 20_000 + "1" + "}" * 20_000, id="100 kB of nested objects"),
        pytest.param('{"expression": "1+1", "expression": ', id="a key without its value"),
        pytest.param('{"expression": NaN}', id="not a number"),
        pytest.param('{"expression": 1e999}', id="infinite"),
        pytest.param('{"expression": ' + "9" * 5_000 + "}", id="5,000 digits"),
        pytest.param("\x00\x01\x02", id="control signs"),
        pytest.param('"1+1"', id="a text"),
    ],
)
def test_arguments_that_are_none_are_told_and_the_third_time_ends_the_turn(
    conversation, model, say, goes_on, arguments
):
    for _ in range(3):
        model.enqueue(Reply(calls=(Call("calculator", arguments),), piece=4_000))
    turn = say(conversation, "One and one")
    assert turn.status == TurnStatus.FAILED
    codes = {result["error"]["code"] for result in results_of(turn)}
    assert len(results_of(turn)) == 3, "every call has its answer"
    assert codes <= {"invalid_arguments", "input_rejected", "call_repeated"}, codes
    assert turn.error["message"]
    assert turn.error["hint"]
    goes_on()


@pytest.mark.parametrize("sign", ["\\u0000", "\\ud800", "\x00"])
def test_signs_that_no_row_holds_break_no_turn(conversation, model, say, goes_on, sign):
    model.calls(Call("calculator", f'{{"expression": "{sign}"}}'))
    model.enqueue("No.")
    turn = say(conversation, "One and one")
    assert turn.status == TurnStatus.COMPLETED, turn.error
    assert results_of(turn)[0]["status"] == "failed"
    goes_on()


def test_hundreds_of_calls_in_one_message_all_have_their_answer(conversation, model, say, goes_on):
    calls = [Call("calculator", {"expression": f"{n}+1"}) for n in range(400)]
    model.enqueue(Reply(calls=tuple(calls), piece=100))
    model.enqueue("Done.")
    turn = say(conversation, "Count")
    assert turn.status == TurnStatus.COMPLETED, turn.error
    results = results_of(turn)
    assert len(results) == 400
    told = [row for row in model.requests[1]["messages"] if row["role"] == "tool"]
    assert len(told) == 400
    goes_on()


@pytest.mark.parametrize(
    ("name", "as_told"),
    [
        ("../../etc/passwd", "______etc_passwd"),
        ("Ünïcode 🦊", "_n_code__"),
        ("x" * 5_000, "x" * 64),
        ("a\x00b\nc", "a_b_c"),
        ("<script>alert(1)</script>", "_script_alert_1___script_"),
        ("{{ 7|add:7 }}", "___7_add_7___"),
    ],
)
def test_odd_names_of_tools_are_answered_as_unknown(
    conversation, model, say, goes_on, name, as_told
):
    model.enqueue(Reply(calls=(Call(name, {}),)))
    model.enqueue("I cannot.")
    turn = say(conversation, "Do it")
    assert turn.status == TurnStatus.COMPLETED, turn.error
    assert results_of(turn)[0]["error"]["code"] == "unknown_tool"
    asked = model.requests[1]["messages"][-2]["tool_calls"][0]["function"]["name"]
    assert asked == as_told
    goes_on()


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10**30, "completion_tokens": 10**30, "total_tokens": 2 * 10**30},
        {"prompt_tokens": -5, "completion_tokens": -7, "total_tokens": -12},
        {"prompt_tokens": 2**63, "completion_tokens": 1, "total_tokens": 1},
        {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
        {},
    ],
    ids=str,
)
def test_whatever_a_provider_counts_the_answer_is_kept(conversation, model, say, goes_on, usage):
    model.enqueue(Reply("It is 2.", usage=usage))
    turn = say(conversation, "One and one")
    assert turn.status == TurnStatus.COMPLETED, turn.error
    assert words_of(turn) == "It is 2."
    for count in turn.usage.values():
        assert 0 <= count < 2**53, turn.usage
    goes_on()


@pytest.mark.parametrize("count", [1.5, "many", [1], {}], ids=str)
def test_counts_that_are_no_numbers_end_the_turn_in_words_and_keep_what_was_said(
    conversation, model, say, goes_on, count
):
    model.enqueue(Reply("It is 2.", usage={"prompt_tokens": count, "completion_tokens": 1}))
    turn = say(conversation, "One and one")
    assert words_of(turn) == "It is 2."
    assert turn.error["code"] == "model_interrupted"
    goes_on()


def line(delta: dict) -> bytes:
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": None}]
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"data: \xff\xfe\xfa\n\n", id="invalid UTF-8"),
        pytest.param(
            line({"content": "Well"}).replace(b"Well", b"W\xff\xfel"), id="invalid UTF-8 in words"
        ),
        pytest.param(line({"content": "Well"}) + b"data: {broken\n\n", id="a broken chunk"),
        pytest.param(b"<html>502 Bad Gateway</html>", id="a page"),
        pytest.param(b"data: null\n\ndata: [DONE]\n\n", id="null"),
        pytest.param(b'data: {"choices": null}\n\ndata: [DONE]\n\n', id="no choices"),
        pytest.param(b"data: [DONE]\n\n", id="nothing"),
        pytest.param(b"\n", id="an empty line"),
        pytest.param(b"data: " + b"[" * 60_000 + b"\n\n", id="deep brackets"),
        pytest.param(
            line({"tool_calls": [{"index": -4, "function": None}]}), id="a call of nothing"
        ),
    ],
)
def test_a_stream_that_is_none_ends_in_words(conversation, model, say, goes_on, sent):
    for _ in range(3):
        model.enqueue(Reply(sent=sent))
    turn = say(conversation, "Hello")
    assert turn.status == TurnStatus.FAILED
    assert turn.error["code"].startswith(("model_", "answer_")), turn.error
    assert turn.error["hint"]
    assert "Traceback" not in json.dumps(turn.error)
    goes_on()


def test_an_empty_answer_is_asked_for_again(conversation, model, say):
    model.enqueue("", "Here.")
    turn = say(conversation, "Hello")
    assert turn.status == TurnStatus.COMPLETED
    assert words_of(turn) == "Here."
    told = dict(turn.events.values_list("name", "data"))["model.retried"]
    assert told["error"] == "answer_empty"


def test_five_megabytes_of_words_are_kept_or_refused_in_words(conversation, model, say, goes_on):
    story = "".join(f"Once upon a time {n} " for n in range(250_000))
    model.enqueue(Reply(story, piece=5_000))
    before = time.process_time()
    turn = say(conversation, "Write a lot")
    assert time.process_time() - before < 20, "the work grows with the square of the words"
    assert turn.error["code"] == "answer_too_long"
    assert words_of(turn).startswith("Once upon a time 0 Once")
    goes_on()


def test_a_model_that_says_the_same_for_ever_is_ended(conversation, model, say, goes_on):
    model.enqueue(Reply("and on and on " * 10, endless=True, pause=0))
    turn = say(conversation, "Never end")
    assert turn.error["code"] in {"model_interrupted", "answer_too_long"}
    assert words_of(turn).startswith("and on and on")
    goes_on()


def test_an_endless_answer_that_is_slow_meets_the_time_limit(
    conversation, model, say, goes_on, settings
):
    settings.MODEL_TOTAL_SECONDS = 3
    model.enqueue(Reply("and on ", endless=True, pause=0.1))  # LiteLLM ends it at 100 alike
    turn = say(conversation, "Never end")
    assert turn.error["code"] == "model_timeout"
    assert words_of(turn).startswith("and on and on")
    goes_on()


def test_arguments_without_end_are_given_up(conversation, model, say, goes_on):
    call = Call("calculator", '{"expression": "' + "1+" * 1_000_000)
    model.enqueue(Reply(calls=(call,), piece=10_000))
    turn = say(conversation, "Count")
    assert turn.error["code"] == "answer_too_long"
    assert not Invocation.objects.exists()
    goes_on()


def test_when_every_model_of_the_chain_fails_the_last_ones_words_are_told(
    conversation, model, goes_on
):
    conversation.agent.fallback_models = ["openai/second", "openai/third"]
    conversation.agent.save()
    for _ in range(9):
        model.refuses(503, "Overloaded.")
    turn = finished(services.message_send(conversation, content="Hello"))
    assert turn.status == TurnStatus.FAILED
    assert turn.error["hint"]
    names = list(turn.events.order_by("number").values_list("name", flat=True))
    assert names[-1] == "turn.failed"
    assert {request["model"] for request in model.requests} == {"scripted", "second", "third"}
    goes_on()
