"""The demo model: what it calls for a message, and the words it tells a result in."""

import json

import pytest

from chat import demo
from chat.demo.model import reply_to
from chat.demo.telling import told
from chat.models.message import Role
from tests import factories

TEXT = {"type": "string"}


def tool(name, description, properties, required=()):
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = [
    tool("search_tools", "Find tools.", {"need": TEXT}, ["need"]),
    tool(
        "calculator",
        "Evaluate an arithmetic expression: add, multiply, percentages."
        "\nExamples: “What is 17 times 23?”",
        {"expression": TEXT},
        ["expression"],
    ),
    tool(
        "current_time",
        "Tell the current date and time, now, in any time zone or city."
        "\nExamples: “What time is it in Tokyo?”",
        {"timezone": {"type": "string", "default": "UTC"}},
    ),
    tool("word_count", "Count the words and characters of a text.", {"text": TEXT}, ["text"]),
    tool(
        "base64",
        "Encode or decode base64.",
        {"text": TEXT, "mode": {"type": "string", "enum": ["encode", "decode"]}},
        ["text"],
    ),
    tool(
        "convert_units",
        "Convert a quantity between units: length, mass.",
        {"value": {"type": "number"}, "from_unit": TEXT, "to_unit": TEXT},
        ["value", "from_unit", "to_unit"],
    ),
    tool(
        "html_to_markdown",
        "Convert HTML to Markdown.",
        {"html": TEXT, "keep_links": {"type": "boolean"}},
        ["html"],
    ),
    tool("fetch_page", "Read a web page.", {"url": {"type": "string", "format": "uri"}}, ["url"]),
    tool("count_and_shout", "Count words, then shout.", {"text": TEXT}, ["text"]),
    tool(
        "days_between",
        "Count the days between two dates.",
        {"start": {"type": "string", "format": "date"}, "end": {"type": "string"}},
        ["start", "end"],
    ),
    tool(
        "sum_list",
        "Sum a list of numbers up.",
        {"numbers": {"type": "array", "items": {"type": "number"}}},
        ["numbers"],
    ),
    tool("json_keys", "List the keys of a JSON object.", {"data": {"type": "object"}}, ["data"]),
]


def calls_for(message, tools=TOOLS):
    reply = reply_to([{"role": "user", "content": message}], tools)
    return [(name, json.loads(arguments)) for name, arguments in reply.calls]


@pytest.mark.parametrize(
    ("message", "name", "arguments"),
    [
        ("What is 17 * 23?", "calculator", {"expression": "17 * 23"}),
        ("What is 17 times 23?", "calculator", {"expression": "17 * 23"}),
        ("How much is 15% of 240?", "calculator", {"expression": "15% of 240"}),
        ("What time is it in New York?", "current_time", {"timezone": "New York"}),
        ("What time is it in Asia/Tokyo?", "current_time", {"timezone": "Asia/Tokyo"}),
        ("what time is it", "current_time", {}),
        ('Count the words of "a b c"', "word_count", {"text": "a b c"}),
        ("Count the words in the quick fox", "word_count", {"text": "the quick fox"}),
        ("Decode `aGk=` from base64", "base64", {"text": "aGk=", "mode": "decode"}),
        (
            "Convert 10 km to miles",
            "convert_units",
            {"value": 10, "from_unit": "km", "to_unit": "miles"},
        ),
        ("Convert `<p>Hi</p>` to markdown", "html_to_markdown", {"html": "<p>Hi</p>"}),
        (
            "Turn this HTML into markdown, without keep links:\n```html\n<b>x</b>\n```",
            "html_to_markdown",
            {"html": "<b>x</b>", "keep_links": False},
        ),
        (
            "Read the web page https://example.org/a, please",
            "fetch_page",
            {"url": "https://example.org/a"},
        ),
        (
            "How many days are between 2024-01-01 and 2024-03-01?",
            "days_between",
            {"start": "2024-01-01", "end": "2024-03-01"},
        ),
        ("Sum the numbers 1, 2.5 and 3", "sum_list", {"numbers": [1, 2.5, 3]}),
        ('List the keys of {"a": 1}', "json_keys", {"data": {"a": 1}}),
        ("use count_and_shout on hello big world", "count_and_shout", {"text": "hello big world"}),
        ('run Count and Shout: "hi"', "count_and_shout", {"text": "hi"}),
        ("use word_count with text: `x y`", "word_count", {"text": "x y"}),
    ],
)
def test_a_message_calls_the_tool_that_fits_with_arguments_from_its_words(message, name, arguments):
    assert calls_for(message) == [(name, arguments)]


def test_several_needs_call_several_tools():
    names = [name for name, _ in calls_for('Calculate 2 + 2; then count the words of "a b c"')]
    assert names == ["calculator", "word_count"]
    names = [name for name, _ in calls_for("What is 17 * 23 and what time is it in Paris?")]
    assert names == ["calculator", "current_time"]


def test_what_no_tool_fits_is_searched_for_once_then_told_honestly():
    message = {"role": "user", "content": "Paint a portrait of my cat"}
    assert calls_for(message["content"])[0][0] == "search_tools"
    call = {"id": "c", "function": {"name": "search_tools", "arguments": "{}"}}
    after = [
        message,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"status": "succeeded", "output": {}}'},
    ]
    reply = reply_to(after, TOOLS)
    assert not reply.calls
    assert "found no tool that fits" in reply.text
    assert "demo model" in reply.text


def test_a_greeting_is_answered_with_what_it_is_and_can_do():
    reply = reply_to([{"role": "user", "content": "hello"}], TOOLS)
    assert not reply.calls
    assert "demo model" in reply.text
    assert "`calculator`" in reply.text


@pytest.mark.parametrize("message", ["", "?", "\x00", "```", "[" * 500, "1" * 3000, "é" * 2000])
def test_no_message_breaks_it(message):
    reply_to([{"role": "user", "content": message}], TOOLS)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": "succeeded", "output": {"result": 391, "expression": "17*23"}}, "**391**"),
        ({"status": "succeeded", "output": {"weekday": "Monday"}}, "weekday is **Monday**"),
        ({"status": "succeeded", "output": {"a": 1, "b_c": [2]}}, "- b c: `[2]`"),
        ({"status": "succeeded", "output": [1, 2]}, "2 entries"),
        ({"status": "succeeded", "output": "x"}, "**x**"),
        ({"status": "succeeded", "output": None}, "nothing back"),
        (
            {"status": "succeeded", "output": [{"stepNumber": 1, "message": "Counted 3"}]},
            "Counted 3",
        ),
        (
            {"status": "failed", "error": {"message": "No key.", "hint": "Set EXA_API_KEY."}},
            "No key. Set EXA_API_KEY.",
        ),
        ({"status": "succeeded", "truncated": True, "preview": "abc"}, "abc"),
    ],
)
def test_an_answer_is_told_with_its_actual_values(answer, words):
    assert words in told("some_tool", json.dumps(answer))


def test_an_answer_that_is_no_json_is_told_too():
    assert "no answer" in told("some_tool", "")


def test_only_models_of_the_demo_provider_are_demo_models():
    assert demo.is_demo("demo/offline")
    assert not demo.is_demo("openai/demo")


@pytest.mark.django_db(transaction=True)
def test_the_demo_model_finds_calls_and_tells_end_to_end(alice, say):
    factories.make_builtin("calculator")
    agent = factories.make_agent(alice, model="demo/offline")
    turn = say(factories.make_conversation(alice, agent), "Please calculate 17 * 23")
    assert turn.status == "completed"
    result = turn.messages.get(role=Role.TOOL).result
    assert result["output"]["result"] == 391
    answer = turn.messages.filter(role=Role.ASSISTANT).order_by("position").last()
    assert "391" in answer.content
    assert turn.usage["output_tokens"] > 0
