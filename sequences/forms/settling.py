"""Bring a draft into the form in which the page shows it, so that what is sent back is the same."""

import json
from collections.abc import Mapping

from registry.schema_forms import FormField
from sequences.forms.drafts import Draft, Row, with_keys
from sequences.forms.step_tools import StepTool, tool_at


def settled(draft: Draft, chosen: Mapping[str, StepTool]) -> Draft:
    """Give each step the rows of its tool and a key; changes the draft and returns it."""
    inputs = inputs_of(draft)
    draft.steps = with_keys(draft.steps)
    for step in draft.steps:
        tool = tool_at(chosen, step.tool, step.version)
        step.rows = with_inputs(step.rows, tool.fields if tool else {}, inputs)
    if draft.steps:
        draft.steps[0].beside = ""
    return draft


def inputs_of(draft: Draft) -> tuple[str, ...]:
    """Return the names of the sequence's inputs, as far as its schema can be read yet."""
    try:
        schema = json.loads(draft.schema)
        return tuple(str(name) for name in schema["properties"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ()


def with_inputs(
    rows: list[Row], fields: Mapping[str, FormField], inputs: tuple[str, ...]
) -> list[Row]:
    """Return a row for each input of the tool, then the further rows that hold something.

    A required input that is new here is taken from the sequence's input of the same name.
    """
    by_name = {row.name.strip(): row for row in rows}
    known = [by_name.get(name) or _fresh(field, inputs) for name, field in fields.items()]
    shown = {id(row) for row in known}
    for row in known:
        row.known = "1"
    return [*known, *(row for row in rows if id(row) not in shown and not row.is_untouched)]


def _fresh(field: FormField, inputs: tuple[str, ...]) -> Row:
    if not field.required:
        return Row(name=field.name)
    if field.name in inputs:
        return Row(name=field.name, source="initialInput", value=field.name)
    return Row(name=field.name, source="static")
