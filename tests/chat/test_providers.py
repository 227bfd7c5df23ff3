"""The ways in which providers stream calls, count tokens and end an answer."""

import pytest

from chat.llm import ToolCallReady
from tests.chat.asked import ask
from tests.fakes.model_server import Call, Reply


def piece(*, index: int = 0, call: str | None = None, name=None, arguments=None) -> dict:
    """Return a chunk with one piece of a call."""
    function = {"name": name, "arguments": arguments}
    told = {"index": index, "id": call, "type": "function", "function": function}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [told]}, "finish_reason": None}]}


def end(reason: str = "tool_calls") -> dict:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def said(**delta: str) -> dict:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


A, B = '{"expression": "1+1"}', '{"expression": "2+2"}'


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param(
            (
                piece(call="a", name="calculator", arguments=A),
                piece(call="b", name="calculator", arguments=B),
            ),
            id="index always 0, told apart by id",
        ),
        pytest.param(
            (piece(name="calculator", arguments=A), piece(name="calculator", arguments=B)),
            id="index always 0 and no ids, whole calls",
        ),
        pytest.param(
            (
                piece(index=0, name="calculator", arguments=""),
                piece(index=1, name="calculator", arguments=""),
                piece(index=0, arguments=A[:9]),
                piece(index=1, arguments=B[:9]),
                piece(index=1, arguments=B[9:]),
                piece(index=0, arguments=A[9:]),
            ),
            id="side by side",
        ),
        pytest.param(
            (
                piece(index=0, call="a", name="calculator", arguments=A[:5]),
                piece(index=0, call="a", name="calculator", arguments=A[5:]),
                piece(index=1, call="b", name="calculator", arguments=B),
            ),
            id="id and name with every piece",
        ),
    ],
)
def test_calls_are_put_together_from_whatever_pieces(model, chunks):
    model.enqueue(Reply(raw=(*chunks, end())))
    asked = ask()
    assert asked.calls == [("calculator", A), ("calculator", B)]
    ids = [call.id for call in asked.of(ToolCallReady)]
    assert len(set(ids)) == 2
    assert all(ids)


@pytest.mark.parametrize("name", ["", None])
def test_a_call_of_nothing_is_passed_on_under_a_name_that_providers_take_back(model, name):
    model.enqueue(Reply(raw=(piece(call="a", name=name, arguments="{}"), end())))
    assert ask().calls == [("unnamed_tool", "{}")]


def test_a_name_that_providers_would_not_take_back_is_made_one(model):
    model.enqueue(Reply(raw=(piece(call="a", name="functions.calculator", arguments="{}"), end())))
    assert ask().calls == [("functions_calculator", "{}")]


def test_what_a_model_thinks_aloud_is_not_its_answer(model):
    model.enqueue(
        Reply(
            raw=(
                said(reasoning_content="The user wants a sum."),
                said(reasoning_content="So."),
                said(content="391."),
                end("stop"),
            )
        )
    )
    asked = ask()
    assert asked.words == "391."
    assert asked.error is None


def test_tokens_that_were_read_before_are_counted_apart(model):
    model.enqueue(Reply("Yes.", cached=8))
    usage = ask().usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (11, 7, 8)


def test_usage_in_the_chunk_that_ends_the_answer_is_counted(model):
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    model.enqueue(Reply(raw=(said(content="Yes."), {**end("stop"), "usage": usage})))
    usage_told = ask().usage
    assert usage_told is not None
    assert (usage_told.input_tokens, usage_told.output_tokens) == (3, 2)


def test_a_provider_that_counts_nothing_breaks_nothing(model):
    model.enqueue(Reply("Yes.", usage=None))
    asked = ask()
    assert (asked.error, asked.words) == (None, "Yes.")


def test_an_answer_that_the_provider_cuts_off_is_told_and_counted(model):
    model.enqueue(Reply("It was a dark and", ended="length"))
    asked = ask()
    assert asked.error is not None
    assert asked.error.code == "answer_cut_off"
    assert "go on" in asked.error.hint
    assert asked.words == "It was a dark and"
    assert asked.usage is not None
    assert asked.steps[0].usage == asked.usage


def test_a_call_that_was_cut_off_is_not_run(model):
    model.enqueue(Reply(calls=(Call("calculator", '{"expression": "1+'),), ended="length"))
    asked = ask()
    assert asked.calls == []
    assert asked.error is not None
    assert asked.error.code == "answer_cut_off"


def test_an_answer_that_is_filtered_is_told_so(model):
    model.enqueue(Reply("Well, first you", ended="content_filter"))
    asked = ask()
    assert asked.error is not None
    assert asked.error.code == "answer_filtered"
    assert asked.error.hint


def test_a_request_that_is_filtered_is_told_so(model):
    model.refuses(
        400,
        "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy.",
        "content_filter",
    )
    asked = ask()
    assert asked.error is not None
    assert asked.error.code == "answer_filtered"
