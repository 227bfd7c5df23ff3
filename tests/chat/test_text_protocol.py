"""Models without tools: told in words, and their calls read from the text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.text_protocol import Reader, told
from tests.chat.asked import CALCULATOR, MESSAGES, ask
from tests.fakes.model_server import Reply

SUM = '{"name": "calculator", "arguments": {"expression": "17*23"}}'
BLOCK = f"```tool_call\n{SUM}\n```"
CALL = ("calculator", '{"expression": "17*23"}')


def read(text: str, *, size: int = 3) -> tuple[str, list[tuple[str, str]]]:
    """Read a text that comes in pieces; return the words passed on and the calls."""
    reader = Reader()
    words = [reader.take(text[start : start + size]) for start in range(0, len(text), size)]
    words.append(reader.rest())
    return "".join(words), [(call.name, call.arguments) for call in reader.calls()]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_block_is_a_call_and_never_shown(size):
    assert read(f"Let me see.\n\n{BLOCK}", size=size) == ("Let me see.", [CALL])


def test_several_blocks_are_several_calls():
    assert read(f"{BLOCK}\n\n{BLOCK}") == ("", [CALL, CALL])


def test_a_list_in_a_block_is_several_calls():
    assert read(f"```tool_calls\n[{SUM}, {SUM}]\n```") == ("", [CALL, CALL])


@pytest.mark.parametrize(
    "text",
    [f"```tool_call\n{SUM}", f"```tool_call {SUM}```", f"  ```tool_call\n{SUM}\n  ```\n"],
    ids=["no end", "one line", "indented"],
)
def test_a_block_that_is_written_carelessly_is_read(text):
    assert read(text) == ("", [CALL])


def test_fences_inside_of_arguments_do_not_end_a_block():
    arguments = {"expression": "```python\n1\n```"}
    block = json.dumps({"name": "calculator", "arguments": arguments})
    words, calls = read(f"```tool_call\n{block}\n```")
    assert (words, json.loads(calls[0][1])) == ("", arguments)


def test_what_stands_behind_a_block_is_not_passed_on():
    assert read(f"Wait.\n{BLOCK}\nThe result is 400.") == ("Wait.", [CALL])


def test_other_code_is_words():
    text = "Try this:\n```python\nprint(1)\n```\nor write ```tool_call in your text."
    assert read(text) == (text, [])


@given(st.text(alphabet="a`\n tol_c", max_size=60), st.integers(1, 9))
def test_words_come_through_whatever_the_pieces(text, size):
    if "```tool_call" not in text:
        assert read(text, size=size) == (text, [])


def test_a_broken_block_is_a_call_with_broken_arguments():
    words, calls = read('```tool_call\n{"name": "calculator", "arguments": {"expr\n```')
    ((name, arguments),) = calls
    assert (words, name) == ("", "calculator")
    assert '"expr' in arguments


def test_a_block_without_a_name_is_a_call_of_nothing():
    assert read('```tool_call\n{"tool": 1}\n```')[1][0][0] == "unnamed_tool"


def test_results_are_told_in_words_side_by_side():
    calls = [
        {"id": name, "type": "function", "function": {"name": "calculator", "arguments": "{}"}}
        for name in ("a", "b")
    ]
    messages = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    said = told(messages, [CALCULATOR], answer_only=False)
    assert [message["role"] for message in said] == ["system", "user", "assistant", "user"]
    assert said[-1]["content"] == "[Result of calculator]\n1\n\n[Result of calculator]\n2"
    assert said[2]["content"].count("```tool_call") == 2
    assert '"name": "calculator"' in said[0]["content"]
    assert all(set(message) == {"role", "content"} for message in said)


def test_the_last_request_of_a_turn_offers_no_tools():
    said = told(MESSAGES, [CALCULATOR], answer_only=True)
    assert "calculator" not in said[0]["content"]
    assert "answer in words" in said[0]["content"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "registry.example/gemma does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice'),
        (404, "No endpoints found that support tool use."),
        (400, "Function calling is not supported with this model"),
        (400, "`tools` is not supported with this model"),
        (422, "Unsupported parameter: 'tools'"),
    ],
)
def test_a_model_that_refuses_tools_is_told_them_in_words_for_the_rest_of_the_turn(
    model, status, words
):
    model.refuses(status, words)
    model.enqueue(f"Let me see.\n{BLOCK}", "391.")
    asked = ask(times=2)
    assert asked.error is None
    assert asked.words == "Let me see.391."
    assert asked.calls == [CALL]
    assert ["tools" in request for request in model.requests] == [True, False, False]
    assert [step.protocol for step in asked.steps] == ["text", "text"]
    assert "calculator" in model.requests[1]["messages"][0]["content"]


def test_an_agent_may_be_set_to_the_text_protocol(model):
    model.enqueue(BLOCK)
    assert ask(protocol="text").calls == [CALL]
    assert len(model.requests) == 1


def test_an_agent_that_is_set_to_native_calls_gets_a_clear_refusal(model):
    model.refuses(400, "this model does not support tools")
    asked = ask(protocol="native")
    assert asked.error is not None
    assert asked.error.code == "model_refused_tools"
    assert "text" in asked.error.hint


def test_a_model_that_is_known_to_take_no_tools_is_not_sent_any(model):
    model.enqueue(BLOCK)
    asked = ask("openai/gpt-5-chat")
    assert asked.calls == [CALL]
    assert ["tools" in request for request in model.requests] == [False]


def test_usage_is_counted_as_ever(model):
    model.enqueue(Reply(BLOCK))
    usage = ask(protocol="text").usage
    assert usage is not None
    assert usage.input_tokens == 11
