"""The intent of a message is what it asks for, without what it shall be done to."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.intent import MAX_LENGTH, extract_intent, recent_context


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        (
            "Convert `<h1>Hi</h1><p>One <strong>two</strong></p>` to markdown",
            "Convert HTML to markdown",
        ),
        ("Convert <h1>Hi</h1><p>One</p> to markdown", "Convert HTML to markdown"),
        ("Count the words in “the quick brown fox jumps”", "Count the words in"),
        ('Find the "weather" tool', "Find the weather tool"),
        ("Summarise https://example.com/a?b=1 please", "Summarise URL please"),
        ("format this:\n```json\n[1]\n```\nnow", "format this: json now"),
        ("explain\n```\nx = 1\n```", "explain code"),
        ("explain\n```\n<p>never closed", "explain HTML"),
        ('Validate {"a": 1} for me', "Validate JSON for me"),
        ('check `{"a": 1}` and `http://x.io`', "check JSON and URL"),
        ("what is `17 * 23`?", "what is 17 * 23 ?"),
        ("What is 17 * 23?", "What is 17 * 23?"),
        ("encode as `base64`", "encode as base64"),
        ("write to bob@example.com", "write to email address"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("I don't know what's up", "I don't know what's up"),
        ('"only a long quote of words"', '"only a long quote of words"'),
        ("   ", ""),
    ],
)
def test_the_payload_gives_way_to_its_kind(message, intent):
    assert extract_intent(message) == intent


@given(st.text(max_size=300))
def test_only_a_blank_message_has_no_intent(message):
    intent = extract_intent(message)
    assert bool(intent) == bool(message.strip())
    assert len(intent) <= MAX_LENGTH


@pytest.mark.parametrize(
    "message",
    [
        "<" * 10**5,
        "<a " * 40000,
        "`" * 10**5,
        '{"' * 50000,
        "'a" * 50000,
        "a@a." * 25000,
        "[" * 10**5,
        "<a>b" * 25000,
        "{" + " " * 10**5,
        "http://" * 20000,
    ],
)
def test_a_long_message_takes_no_long_time(message):
    started = time.thread_time()  # what others do on this machine does not count
    extract_intent(message)
    assert time.thread_time() - started < 2


def test_recent_context_is_what_the_person_said_before():
    messages = [
        {"role": "user", "content": "zero"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "image"}, 3]},
        {"role": "user", "content": None},
        {"role": "user", "content": "three `<b>x</b>`"},
        {"role": "user", "content": "the query"},
    ]
    assert recent_context(messages) == ["one", "two", "three HTML"]
    assert recent_context(messages, limit=1) == ["three HTML"]
    assert recent_context(messages, limit=0) == []
    assert recent_context([]) == []
