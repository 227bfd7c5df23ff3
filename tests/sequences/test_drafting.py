"""A draft is always a valid sequence, and with what was given before it does the same again."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.lib.masking import MASK
from sequences.definition import MAX_STEPS, parse
from sequences.drafting import Draft, MadeCall, draft, free_name
from sequences.mapping import final_output, resolve_inputs
from sequences.validation import ToolShape, validate

OPEN: dict[str, Any] = {"type": "object"}


def call(name: str, arguments: dict[str, Any], output: Any = None, **fields: Any) -> MadeCall:
    shape = {"tool_id": f"id-{name}", "name": name, "input_schema": OPEN, **fields}
    return MadeCall(arguments=arguments, output=output, **shape)


def replayed(drafted: Draft, calls: list[MadeCall], secret: Any = None) -> None:
    """Run the draft over tools that give what they gave, and check what each is called with."""
    definition = parse(drafted.definition)
    shapes = {each.tool_id: ToolShape(name=each.name, input_schema=OPEN) for each in calls}
    assert validate(definition, tools=shapes, input_schema=drafted.input_schema) == []
    steps: dict[str, Any] = {}
    initial = {**drafted.given, **dict.fromkeys(drafted.secret, secret)}
    assert set(drafted.input_schema["required"]) == set(initial)
    for step, made in zip(definition.steps, calls, strict=True):
        arguments = resolve_inputs(step.input_mapping, {"initial": initial, "steps": steps})
        assert spelt(arguments) == spelt(made.arguments)
        assert step.store_output_as is not None
        steps[step.store_output_as] = made.output
    assert final_output(definition, {"initial": initial, "steps": steps}) == {
        "result": calls[-1].output
    }


def spelt(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def mapping(drafted: Draft, step: int) -> dict[str, Any]:
    return drafted.definition["steps"][step - 1]["inputMapping"]


def test_what_an_earlier_step_gave_comes_from_it_and_what_was_said_is_an_input() -> None:
    calls = [
        call("find", {"city": "Lyon", "kind": "museum"}, {"items": [{"id": 7712, "a key": "x9"}]}),
        call("book", {"id": 7712, "key": "x9", "city": "Lyon", "seats": 2}, "ok"),
    ]
    drafted = draft(calls, said="Book 2 seats in a museum of Lyon")
    assert mapping(drafted, 1) == {
        "city": {"source": "initialInput", "key": "city"},
        "kind": {"source": "initialInput", "key": "kind"},
    }
    assert mapping(drafted, 2) == {
        "id": {"source": "previousStep", "step": "find", "path": "items[0].id"},
        "key": {"source": "previousStep", "step": "find", "path": 'items[0]."a key"'},
        "city": {"source": "initialInput", "key": "city"},
        "seats": {"source": "initialInput", "key": "seats"},
    }
    assert drafted.input_schema["properties"]["seats"] == {"type": "integer", "examples": [2]}
    assert drafted.given == {"city": "Lyon", "kind": "museum", "seats": 2}
    replayed(drafted, calls)


def test_a_text_around_known_values_becomes_a_template() -> None:
    calls = [
        call("who", {"name": "Ada Lovelace"}, {"mail": "ada@example.org", "born": 1815}),
        call("say", {"text": "Ada Lovelace, born 1815, writes from ada@example.org."}, None),
    ]
    drafted = draft(calls, said="Tell me of Ada Lovelace")
    assert mapping(drafted, 2)["text"] == {
        "source": "template",
        "value": "{{ initial.name }}, born {{ steps.who.born }}, writes from {{ steps.who.mail }}.",
    }
    replayed(drafted, calls)


def test_an_object_around_what_a_step_gave_is_put_together_from_it() -> None:
    calls = [
        call("who", {}, {"mail": "ada@example.org", "name": "Ada"}),
        call("send", {"to": [{"address": "ada@example.org", "cc": True, "tick": "`"}]}, None),
    ]
    drafted = draft(calls, said="")
    source = mapping(drafted, 2)["to"]
    assert (source["source"], source["step"]) == ("previousStep", "who")
    assert "mail" in source["path"]
    assert "ada@example.org" not in source["path"]
    replayed(drafted, calls)


@pytest.mark.parametrize("value", [True, False, None, "", " ", [], {}, "x", 3.5])
def test_what_says_nothing_of_where_it_is_from_stays_as_it_was(value: Any) -> None:
    calls = [call("a", {}, {"other": "value"}), call("b", {"value": value})]
    drafted = draft(calls, said="true false None")
    assert mapping(drafted, 2)["value"] == {"source": "static", "value": value}


def test_secrets_are_inputs_and_stand_nowhere_in_the_draft() -> None:
    calls = [
        call("a", {"token": MASK, "head": {"auth": f"Bearer {MASK}"}}, {"token": MASK}),
        call("b", {"token": MASK}, None),
    ]
    drafted = draft(calls, said=f"use {MASK}")
    assert drafted.secret == ("token", "head", "token_2")
    assert MASK not in json.dumps([drafted.definition, drafted.input_schema], ensure_ascii=False)
    assert drafted.input_schema["properties"]["head"] == {"type": "object"}
    assert drafted.input_schema["required"] == ["token", "head", "token_2"]


def test_an_output_of_which_only_the_start_was_kept_gives_nothing() -> None:
    calls = [
        call("a", {}, {"preview": "long words"}, output_kept=False),
        call("b", {"text": "long words"}),
    ]
    assert mapping(draft(calls, said=""), 2)["text"]["source"] == "static"


def test_the_description_of_an_argument_is_kept() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string", "description": "Words."}}}
    drafted = draft([call("a", {"q": "salt"}, input_schema=schema)], said="find salt")
    assert drafted.input_schema["properties"]["q"]["description"] == "Words."


@pytest.mark.parametrize("number", [0, MAX_STEPS + 1])
def test_there_is_at_least_one_step_and_not_too_many(number: int) -> None:
    with pytest.raises(ValueError, match="at least one step"):
        draft([call("a", {})] * number, said="")


@pytest.mark.parametrize(
    ("wanted", "name"), [("a-b", "a_b"), ("9 lives", "_9_lives"), ("é", "value"), ("a", "a_2")]
)
def test_names_are_identifiers_that_are_free(wanted: str, name: str) -> None:
    assert free_name(wanted, {"a": 1}) == name


TEXTS = st.one_of(
    st.sampled_from(["Lyon", "Ada Lovelace", "ada@example.org", "x9", "{{ a }}", "`", "}}", MASK]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-20, 3000),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    TEXTS,
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["q", "id", "to", "odd name"]), VALUES, max_size=3)


@st.composite
def made_calls(draw: st.DrawFn) -> list[MadeCall]:
    """Calls that may take what earlier ones gave: whole, in parts, in texts."""
    calls: list[MadeCall] = []
    for _ in range(draw(st.integers(1, 4))):
        arguments = dict(draw(ARGUMENTS))
        for earlier in calls:
            if draw(st.booleans()):
                piece = draw(st.sampled_from(pieces(earlier.output)))
                how = draw(st.integers(0, 2))
                arguments["taken"] = [piece, f"so: {piece}, yes", {"in": [piece, 1]}][how]
        name = draw(st.sampled_from(["find", "send-it", "true", "9"]))
        calls.append(call(name, arguments, draw(VALUES)))
    return calls


def pieces(value: Any) -> list[Any]:
    inner = list(value.values()) if isinstance(value, dict) else value
    return [value, *inner] if isinstance(inner, list) else [value]


@settings(max_examples=200, deadline=None)
@given(calls=made_calls(), said=st.lists(TEXTS | st.just("2 of Lyon"), max_size=4).map(" ".join))
def test_every_draft_is_valid_and_calls_the_same_with_the_same(
    calls: list[MadeCall], said: str
) -> None:
    drafted = draft(calls, said=said)
    shapes = {each.tool_id: ToolShape(name=each.name, input_schema=OPEN) for each in calls}
    definition = parse(drafted.definition)
    assert validate(definition, tools=shapes, input_schema=drafted.input_schema) == []
    assert MASK not in json.dumps(drafted.definition["steps"], ensure_ascii=False)
    if not drafted.secret:
        replayed(drafted, calls)
