"""The form of an approval: what it shows, and what a sent one means."""

import pytest
from django.http import QueryDict

from chat.answer_forms import fields_of, given
from chat.parts import Ask
from registry.errors import InvalidArguments

SCHEMA = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "times": {"type": "integer"},
        "loud": {"type": "boolean"},
        "tone": {"type": "string", "enum": ["warm", "cool"]},
        "tags": {"type": "array"},
    },
    "required": ["to"],
}
ARGUMENTS = {"to": "Bob", "times": 2, "tags": ["a"], "extra": {"x": 1}}


@pytest.fixture
def ask() -> Ask:
    asked = {"arguments": ARGUMENTS, "schema": SCHEMA}
    return Ask(id="request-1", kind="approval", tool="send", asked=asked)


def sent(ask: Ask, **changed: str) -> QueryDict:
    """Return the form as a browser sends it when only `changed` was typed."""
    form = QueryDict(mutable=True)
    for field in fields_of(ask):
        if field.field.type != "boolean" or field.value == "true":
            form[field.name] = field.value.replace("\n", "\r\n")
    form["decision"] = "approve"
    form.update(changed)
    return form


def test_each_argument_has_the_field_of_its_type(ask):
    fields = {item.name: item for item in fields_of(ask)}
    assert fields["arg.to"].value == "Bob"
    assert fields["arg.tone"].choices == ("warm", "cool")
    assert fields["arg.loud"].value == "false"
    assert fields["arg.tags"].field.type == "json"
    assert '"x": 1' in fields["arguments"].value, "what the schema does not name is not lost"


def test_a_form_that_nobody_touched_changes_nothing(ask):
    assert given(ask, sent(ask)).arguments is None


def test_only_what_was_typed_is_changed(ask):
    changed = given(ask, sent(ask, **{"arg.times": "3", "arg.loud": "true"})).arguments
    assert changed == {**ARGUMENTS, "times": 3, "loud": True}


def test_an_argument_that_was_emptied_is_left_out(ask):
    changed = given(ask, sent(ask, **{"arg.times": ""})).arguments
    assert changed == {name: value for name, value in ARGUMENTS.items() if name != "times"}


def test_what_cannot_be_read_is_told_at_its_field_and_stays(ask):
    form = sent(ask, **{"arg.times": "many", "arguments": "[1"})
    with pytest.raises(InvalidArguments) as problem:
        given(ask, form)
    wrong = problem.value.extra["fields"]
    assert wrong["times"] == "must be a whole number, such as 5"
    assert "JSON object" in wrong["arguments"]
    shown = {item.name: item for item in fields_of(ask, form, wrong)}
    assert (shown["arg.times"].value, shown["arguments"].value) == ("many", "[1")
    assert shown["arg.times"].error


def test_a_tool_without_a_schema_is_edited_as_json():
    ask = Ask(id="r", kind="approval", tool="send", asked={"arguments": {"a": 1}})
    [field] = fields_of(ask)
    assert field.field.title == "Arguments"
    form = QueryDict(mutable=True)
    form.update({"decision": "approve", "arguments": '{"b": 2}'})
    assert given(ask, form).arguments == {"b": 2}


def test_only_the_values_that_were_asked_for_are_taken():
    ask = Ask(id="r", kind="credential", asked={"names": ["KEY"]})
    form = QueryDict("decision=set&value.KEY=k&value.OTHER=o&keep=me")
    answer = given(ask, form)
    assert (answer.values, answer.keep) == ({"KEY": "k"}, "me")


def test_an_option_is_an_answer():
    ask = Ask(id="r", kind="question", asked={"question": "?", "options": ["A"]})
    answer = given(ask, QueryDict("option=A&text=other"))
    assert (answer.decision, answer.text) == ("answer", "A")
