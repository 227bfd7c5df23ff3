"""What is left out of a conversation that is too long, and what never is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.errors import ContextTooLong
from chat.fitting import fit, texts_of


def count(message: dict) -> int:
    """Count a token for each character."""
    return sum(map(len, texts_of(message)))


def turn(number: int, *, steps: int = 1, result: str = "r" * 500) -> list[dict]:
    told: list[dict] = [{"role": "user", "content": f"question {number}"}]
    for step in range(steps):
        name = f"c{number}-{step}"
        call = {"id": name, "type": "function"}
        call["function"] = {"name": "calculator", "arguments": "{}"}
        told.append({"role": "assistant", "content": None, "tool_calls": [call]})
        told.append({"role": "tool", "tool_call_id": name, "content": result})
    return [*told, {"role": "assistant", "content": f"answer {number}"}]


SYSTEM = {"role": "system", "content": "You help."}
LAST = {"role": "user", "content": "the last message"}


def conversation(turns: int, **options: object) -> list[dict]:
    told = [turn(number, **options) for number in range(turns)]  # type: ignore[arg-type]
    return [SYSTEM, *(message for messages in told for message in messages), LAST]


def test_what_fits_is_left_as_it_is():
    messages = conversation(3)
    fitted = fit(messages, limit=10_000, count=count)
    assert (fitted.messages, fitted.compaction) == (messages, None)


def test_results_older_than_the_last_two_steps_become_a_line_each():
    fitted = fit(conversation(5), limit=2_000, count=count)
    results = [m["content"] for m in fitted.messages if m["role"] == "tool"]
    line = "[The result of calculator, 500 bytes, was left out to make room.]"
    assert results == [line, line, line, "r" * 500, "r" * 500]
    assert fitted.compaction is not None
    assert fitted.compaction["rule"] == "results"
    assert fitted.compaction["dropped_results"] == 3
    assert fitted.compaction["dropped_turns"] == 0
    assert fitted.compaction["tokens_after"] == sum(map(count, fitted.messages))


def test_the_line_names_the_artifact_that_has_the_result():
    note = "The output has 9 bytes and is kept as the artifact a.json, version 2; only its start"
    result = json.dumps({"status": "succeeded", "note": note, "preview": "x" * 400})
    fitted = fit(conversation(3, result=result), limit=1_400, count=count)
    assert "all of it is the artifact a.json, version 2.]" in fitted.messages[3]["content"]


def test_then_whole_turns_are_left_out_from_the_start_with_a_note_in_their_place():
    fitted = fit(conversation(5), limit=1_300, count=count)
    assert fitted.compaction is not None
    assert fitted.compaction["rule"] == "turns"
    assert fitted.compaction["dropped_turns"] == 2
    head, first = fitted.messages[:2]
    assert head["content"] == (
        "You help.\n\n[The first 2 turns of this conversation were left out.]"
    )
    assert first == {"role": "user", "content": "question 2"}
    assert fitted.messages[-1] == LAST


def test_the_current_step_stays_even_when_all_else_goes():
    now = turn(9, steps=2)[:-1]
    fitted = fit([SYSTEM, *turn(0), *now], limit=1_120, count=count)
    assert fitted.messages[1:] == now


def test_what_has_to_stay_and_does_not_fit_is_refused_in_clear_words():
    with pytest.raises(ContextTooLong, match="there is room for 100") as caught:
        fit([SYSTEM, {"role": "user", "content": "w" * 500}], limit=100, count=count)
    assert caught.value.code == "context_too_long"
    assert caught.value.hint


@given(st.integers(0, 8), st.integers(0, 3), st.integers(0, 700), st.integers(50, 4000))
def test_it_fits_or_is_refused_and_every_result_keeps_its_call(turns, steps, size, limit):
    messages = conversation(turns, steps=steps, result="r" * size)
    try:
        fitted = fit(messages, limit=limit, count=count)
    except ContextTooLong:
        return
    assert sum(map(count, fitted.messages)) <= limit
    assert fitted.messages[-1] == LAST
    called: set[str] = set()
    for message in fitted.messages:
        called |= {call["id"] for call in message.get("tool_calls") or ()}
        assert message["role"] != "tool" or message["tool_call_id"] in called
