"""What the builder's buttons do to inputs: fields of a schema, and rows that become inputs.

They are told from the other buttons by their names: `schema-…`, `ask-…` and `make-input-…`.
"""

from collections.abc import Mapping

from config.lib.types import JsonSchema
from sequences.forms.actions import Acted
from sequences.forms.drafts import Draft, Row
from sequences.forms.schema_posts import schema_act, schema_editor, with_input
from sequences.forms.static_values import static_from_text
from sequences.forms.step_tools import StepTool, tool_at
from sequences.reading import inlined
from sequences.renaming import renamed_in_condition, renamed_in_expression, renamed_in_template


def mapping_act(draft: Draft, action: str, chosen: Mapping[str, StepTool]) -> Acted | None:
    """Carry out one button on the draft and say where the keyboard goes; None: not one of these."""
    parts = action.split("-")
    numbers = [int(part) for part in parts if part.isdecimal()]
    match parts, numbers:
        case ["schema", name, *_], _:
            draft.schema = schema_act(draft.schema, name, *numbers[:1])
            return _field_focus(draft.schema, "schema", name, numbers)
        case ["ask", name, *_], [place, *rest] if place < len(draft.steps):
            step = draft.steps[place]
            step.ask_schema = schema_act(step.ask_schema, name, *rest[:1])
            return _field_focus(step.ask_schema, f"steps-{place}-ask_schema", name, rest)
        case ["make", "input", *_], [place, number] if place < len(draft.steps):
            rows = draft.steps[place].rows
            if number < len(rows):
                tool = tool_at(chosen, draft.steps[place].tool, draft.steps[place].version)
                _make_input(draft, rows[number], tool)
            return Acted(f"steps-{place}-in-{number}-source")
        case _:
            return None


def rename_inputs(draft: Draft, renamed: Mapping[str, str]) -> None:
    """Follow the new names of inputs through all that reads them in the draft.

    They are renamed at once, so that two inputs may change their names with one another.
    """
    aside = {old: f"renamed_{number}_{old}" for number, old in enumerate(renamed)}
    for old, new in (*aside.items(), *((aside[old], new) for old, new in renamed.items())):
        _rename_input(draft, old, new)


def _rename_input(draft: Draft, old: str, new: str) -> None:
    rows = [row for step in draft.steps for row in (*step.rows, step.each)]
    for row in (*rows, *draft.final):
        match row.source:
            case "initialInput" if row.value == old:
                row.value = new
            case "template":
                row.value = renamed_in_template(row.value, old, new)
            case "expression":
                row.value = renamed_in_expression(row.value, old, new)
    for step in draft.steps:
        step.when = renamed_in_condition(step.when, old, new)
        step.success = renamed_in_template(step.success, old, new)
        step.failure = renamed_in_template(step.failure, old, new)
        step.ask_message = renamed_in_template(step.ask_message, old, new)


def _make_input(draft: Draft, row: Row, tool: StepTool | None) -> None:
    """Take the row's value from a new input of the sequence; what was typed is its default."""
    name = row.name.strip()
    if not name or row.source not in ("", "static"):
        return
    field = tool.fields.get(name) if tool else None
    schema = _schema_of(tool, name)
    typed = row.source == "static" and row.value.strip() != ""
    if typed:
        schema = {**schema, "default": static_from_text(row.value, field)}
    required = not typed and (field is None or field.required)
    try:
        draft.schema, given = with_input(draft.schema, name, schema, required=required)
    except ValueError:
        return  # the schema's own message tells that it is none
    row.source, row.value, row.path = "initialInput", given, ""


def _schema_of(tool: StepTool | None, name: str) -> JsonSchema:
    properties = inlined(tool.input_schema).get("properties") if tool else None
    schema = properties.get(name) if isinstance(properties, Mapping) else None
    return dict(schema) if isinstance(schema, Mapping) else {}


def _field_focus(text: str, prefix: str, name: str, numbers: list[int]) -> Acted:
    count = len(schema_editor(text, prefix).fields or ())
    if name == "add":
        return Acted(f"{prefix}-{count - 1}-name")
    if not count:
        return Acted(f"{prefix}-add")
    number = (numbers[0] if numbers else 0) + {"up": -1, "down": 1}.get(name, 0)
    return Acted(f"{prefix}-{min(max(number, 0), count - 1)}-name")
