"""What is typed into the builder, and what it means."""

import pytest

from config.lib.types import JsonValue
from registry.models import Tool
from registry.schema_forms import FormField, form_fields
from sequences.forms.definitions import definition_from_draft
from sequences.forms.saved import draft_from_definition, draft_from_tool
from sequences.forms.static_values import static_from_text, text_from_static

FIELDS: dict[str, FormField | None] = {
    field.name: field
    for field in form_fields(
        {
            "properties": {
                "text": {"type": "string"},
                "number": {"type": "number"},
                "choice": {"type": "string", "enum": ["1", "true"]},
                "list": {"type": "array"},
            }
        }
    )
}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("text", "5", "5"),
        ("text", '"quoted"', '"quoted"'),
        ("text", "", ""),
        ("number", "5", 5),
        ("number", "2.5", 2.5),
        ("choice", "1", "1"),
        ("list", '["5"]', ["5"]),
        ("list", '"5"', "5"),
        ("unknown", "5", 5),
        ("unknown", '"5"', "5"),
        ("unknown", "plain", "plain"),
        ("unknown", "null", None),
    ],
)
def test_a_static_value_means_the_same_when_it_is_shown_again(
    name: str, text: str, value: JsonValue
) -> None:
    field = FIELDS.get(name)
    assert static_from_text(text, field) == value
    assert static_from_text(text_from_static(value, field), field) == value


@pytest.mark.parametrize("text", ["", "three", "NaN", "1e999"])
def test_what_is_no_number_stays_text(text: str) -> None:
    assert static_from_text(text, FIELDS["number"]) == text


def test_a_step_of_an_unknown_tool_shows_what_it_holds() -> None:
    mapping = {
        "whole": {"source": "initialInput", "key": None},
        "fixed": {"source": "static", "value": {"a": 1}},
        "text": {"source": "template", "value": "{{ initial }}"},
    }
    retry = {"attempts": 2, "backoffSeconds": 0.5}
    step = {"toolToRunId": "gone", "toolVersion": 3, "inputMapping": mapping, "retry": retry}
    draft = draft_from_tool(Tool(definition={"steps": [step]}, input_schema={}), {})
    shown = draft.steps[0]
    assert (shown.tool, shown.version, shown.attempts, shown.backoff) == ("gone", "3", "2", "0.5")
    assert [(row.source, row.value) for row in shown.rows] == [
        ("initialInput", ""),
        ("static", '{"a": 1}'),
        ("template", "{{ initial }}"),
    ]


def test_a_pin_to_a_version_of_many_digits_stays_that_version() -> None:
    definition = {"steps": [{"stepNumber": 1, "toolToRunId": "echo", "toolVersion": 12_345_678}]}
    draft = draft_from_definition(definition, {})
    assert draft.steps[0].version == "12345678"
    assert definition_from_draft(draft, {})["steps"][0]["toolVersion"] == 12_345_678
