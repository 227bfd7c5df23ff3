"""Retries, fallbacks, timeouts and the length of what is sent, through LiteLLM's HTTP path."""

import threading
import time

import pytest
from django.conf import settings

from chat.llm import Compacted, Retried, Switched, ToolCallDraft
from tests.chat.asked import MESSAGES, ask
from tests.fakes.model_server import MODEL, Call, Reply

OTHER = "openai/other"


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "model_rate_limited"), (500, "model_unavailable"), (503, "model_unavailable")],
)
def test_a_busy_provider_is_asked_again_and_the_page_is_told(model, status, code):
    model.refuses(status)
    model.enqueue("Here I am.")
    asked = ask()
    assert asked.error is None
    assert asked.words == "Here I am."
    (retried,) = asked.of(Retried)
    assert (retried.model, retried.error) == (MODEL, code)
    assert retried.waits_ms >= 10
    first, second = asked.steps[0].attempts
    assert first == {"model": MODEL, "waited_ms": 0, "error": code}
    assert second == {"model": MODEL, "waited_ms": retried.waits_ms}


def test_it_is_asked_three_times_at_the_most_with_growing_waits(model):
    model.refuses(429, times=5)
    asked = ask()
    assert asked.error.code == "model_rate_limited"
    assert len(model.requests) == 3
    first, second = asked.of(Retried)
    assert 10 <= first.waits_ms <= 20
    assert 20 <= second.waits_ms <= 40
    assert asked.steps[0].error["code"] == "model_rate_limited"


def test_the_wait_that_the_provider_asks_for_is_kept(model):
    model.refuses(429, retry_after="1")
    model.enqueue("Now.")
    began = time.monotonic()
    asked = ask()
    assert asked.of(Retried)[0].waits_ms == 1000
    assert time.monotonic() - began >= 1


def test_a_provider_that_asks_for_a_longer_wait_than_the_bound_is_not_asked_again(model):
    model.refuses(429, retry_after="3600")
    assert ask().error.code == "model_rate_limited"
    assert len(model.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_that_will_stay_is_not_tried_again(model, status):
    model.refuses(status)
    assert ask().error is not None
    assert len(model.requests) == 1


def test_a_model_that_dies_before_its_first_word_is_asked_again(model):
    model.enqueue(Reply(raw=({"choices": [{"index": 0, "delta": {"content": ""}}]},), dies=True))
    model.enqueue("Back.")
    asked = ask()
    assert asked.words == "Back."
    assert [attempt.get("error") for attempt in asked.steps[0].attempts] == [
        "model_interrupted",
        None,
    ]


def test_a_model_that_dies_in_mid_sentence_is_not_asked_again(model):
    model.enqueue(Reply("I was about to say", dies=True), "Never sent.")
    asked = ask(MODEL, OTHER)
    assert asked.error.code == "model_interrupted"
    assert asked.words.startswith("I was")
    assert len(model.requests) == 1


def test_a_model_that_dies_inside_a_call_is_asked_again(model):
    model.enqueue(Reply(calls=(Call("calculator", {"expression": "1+1"}),), dies=True))
    model.calls(Call("calculator", {"expression": "1+1"}))
    asked = ask()
    assert asked.calls == [("calculator", '{"expression": "1+1"}')]


@pytest.mark.parametrize(
    ("status", "code", "tries"),
    [
        (401, "model_unauthorised", 1),
        (404, "model_unknown", 1),
        (429, "model_rate_limited", 3),
        (500, "model_unavailable", 3),
    ],
)
def test_the_next_model_is_asked_when_one_fails_for_good(model, status, code, tries):
    model.refuses(status, times=tries)
    model.enqueue("I step in.")
    asked = ask(MODEL, OTHER)
    assert asked.words == "I step in."
    assert asked.of(Switched) == [Switched(MODEL, OTHER, code)]
    assert asked.steps[0].model == OTHER
    assert model.requests[-1]["model"] == "other"


def test_the_model_that_answered_stays_for_the_rest_of_the_turn(model):
    model.refuses(401)
    model.enqueue("One.", "Two.")
    asked = ask(MODEL, OTHER, times=2)
    assert [step.model for step in asked.steps] == [OTHER, OTHER]
    assert [request["model"] for request in model.requests] == ["scripted", "other", "other"]


def test_the_price_is_that_of_the_model_that_answered(model):
    model.refuses(401)
    model.enqueue("Dear.")
    asked = ask(MODEL, "openai/gpt-4o")
    # 11 and 7 tokens at 2.50 and 10 dollars for a million
    assert float(asked.usage.cost) == pytest.approx(0.0000975, abs=0.000001)


def test_a_refused_request_is_not_sent_to_another_model(model):
    model.refuses(400)
    assert ask(MODEL, OTHER).error.code == "model_refused_request"
    assert len(model.requests) == 1


def test_a_model_that_does_not_begin_in_time_is_given_up(model, monkeypatch):
    monkeypatch.setattr(settings, "MODEL_FIRST_TOKEN_SECONDS", 0.4)
    monkeypatch.setattr(settings, "MODEL_TRIES", 1)
    model.enqueue(Reply("Too late", late=600))
    asked = ask()
    assert asked.error.code == "model_timeout"
    assert asked.steps[0].elapsed_ms() < 600_000


def test_a_model_that_falls_silent_is_given_up_and_its_words_are_kept(model, monkeypatch):
    monkeypatch.setattr(settings, "MODEL_CHUNK_SECONDS", 0.4)
    hold = threading.Event()
    model.enqueue(Reply("Wait for", hold=hold), "Never sent.")
    asked = ask()
    hold.set()
    assert asked.error.code == "model_timeout"
    assert asked.words == "Wait fo"
    assert len(model.requests) == 1


def test_an_answer_that_never_ends_is_given_up(model, monkeypatch):
    monkeypatch.setattr(settings, "MODEL_TOTAL_SECONDS", 3)
    model.enqueue(Reply("and on ", endless=True, pause=0.1))  # LiteLLM ends it at 100 alike
    asked = ask()
    assert asked.error.code == "model_timeout"
    assert asked.words.startswith("and on and on")


def test_a_late_first_word_is_tried_again(model, monkeypatch):
    def wait(seconds: float) -> None:
        monkeypatch.setattr(settings, "MODEL_FIRST_TOKEN_SECONDS", seconds)

    wait(0.4)
    model.enqueue(Reply("Too late", late=600), "In time.")
    asked = ask(hear=lambda event: wait(120) if isinstance(event, Retried) else None)
    assert asked.words == "In time."
    assert asked.of(Retried)[0].error == "model_timeout"


def test_a_long_call_is_told_while_it_is_written(model):
    model.enqueue(
        Reply(calls=(Call("calculator", {"expression": "1+" * 40}, "call_a"),), pause=0.06)
    )
    asked = ask()
    drafts = asked.of(ToolCallDraft)
    assert {(draft.id, draft.name) for draft in drafts} == {("call_a", "calculator")}
    sizes = [draft.size for draft in drafts]
    assert sizes == sorted(sizes)
    assert 1 < len(sizes) <= 4, "not for every piece"


def _history(turns: int, *, size: int) -> list[dict]:
    told: list[dict] = [{"role": "system", "content": "You help."}]
    for number in range(turns):
        call = {"id": f"c{number}", "type": "function"}
        call["function"] = {"name": "calculator", "arguments": "{}"}
        told += [
            {"role": "user", "content": f"question {number} " + "x y " * size},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "3.14 " * size},
            {"role": "assistant", "content": "Done."},
        ]
    return [*told, MESSAGES[1]]


def test_a_conversation_that_is_too_long_is_fitted_before_it_is_sent(model, monkeypatch):
    monkeypatch.setattr(settings, "MODEL_CONTEXT_TOKENS", 4000)
    model.enqueue("Still here.")
    asked = ask(messages=_history(8, size=100))
    (compacted,) = asked.of(Compacted)
    assert compacted.told == asked.steps[0].compaction
    assert compacted.told["tokens_after"] <= 3000 < compacted.told["tokens_before"]
    sent = model.requests[0]["messages"]
    assert sent[-1] == MESSAGES[1]
    assert [message["role"] for message in sent] == [m["role"] for m in asked.steps[0].sent]


def test_it_is_told_once_that_the_same_is_left_out_again(model, monkeypatch):
    monkeypatch.setattr(settings, "MODEL_CONTEXT_TOKENS", 4000)
    model.enqueue("One.", "Two.")
    asked = ask(messages=_history(8, size=100), times=2)
    assert len(asked.of(Compacted)) == 1
    assert all(step.compaction for step in asked.steps)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This model's maximum context length is 8 tokens."),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "The request exceeds the available context size."),
        (413, "Request Entity Too Large"),
    ],
)
def test_a_provider_that_finds_it_too_long_gets_less_twice_at_the_most(model, status, words):
    model.refuses(status, words, times=3)
    asked = ask(messages=_history(8, size=100))
    assert asked.error.code == "context_too_long"
    sizes = [len(str(request["messages"])) for request in model.requests]
    assert len(sizes) == 3
    assert sizes[0] > sizes[1] > sizes[2]


def test_a_provider_that_finds_it_too_long_answers_what_is_left(model):
    model.refuses(400, "maximum context length is 8 tokens", "context_length_exceeded")
    model.enqueue("That will do.")
    asked = ask(messages=_history(8, size=100))
    assert asked.words == "That will do."
    before, after = (asked.steps[0].compaction[key] for key in ("tokens_before", "tokens_after"))
    assert after <= before * 0.75


def test_a_last_message_that_no_model_could_read_is_not_sent(model, monkeypatch):
    monkeypatch.setattr(settings, "MODEL_CONTEXT_TOKENS", 1000)
    asked = ask(messages=[MESSAGES[0], {"role": "user", "content": "word " * 5000}])
    assert asked.error.code == "context_too_long"
    assert asked.error.hint
    assert model.requests == []
    assert len(asked.steps) == 1, "the owner can see what was to be sent"


def test_a_refusal_of_tools_in_a_request_with_tools_only_is_taken_for_one(model):
    model.refuses(400, "this model does not support tools")
    assert ask(tools=()).error.code == "model_refused_request"
