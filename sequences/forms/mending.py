"""Carry out a repair on a draft."""

import json

from config.lib.types import JsonObject
from registry.schema_forms import form_fields
from sequences.forms.drafts import Draft, Row, StepDraft, pretty
from sequences.forms.static_values import text_from_static
from sequences.repairs import Repair


def mend(draft: Draft, step: StepDraft, repair: Repair, schema: JsonObject) -> None:
    """Mend one step of a draft; `schema` is what its tool takes now."""
    match repair.kind:
        case "pin":
            step.version = repair.to
        case "follow":
            step.version = ""
        case "replace":
            step.tool, step.version = repair.to, ""
        case "drop":
            step.rows = [row for row in step.rows if row.name.strip() != repair.field]
        case "rename":
            step.rows = [row for row in step.rows if row.name.strip() != repair.to]
            _row(step, repair.field).name = repair.to
        case "value":
            field = {field.name: field for field in form_fields(schema)}.get(repair.field)
            row = _row(step, repair.field)
            row.source, row.path = "static", ""
            row.value = text_from_static(json.loads(repair.to), field)
        case "input":
            row = _row(step, repair.field)
            spec = (schema.get("properties") or {}).get(repair.field) or {}
            row.source, row.path = "initialInput", ""
            row.value = _with_input(draft, repair.field, spec)


def _row(step: StepDraft, name: str) -> Row:
    for row in step.rows:
        if row.name.strip() == name:
            return row
    step.rows.append(Row(name=name))
    return step.rows[-1]


def _with_input(draft: Draft, name: str, spec: JsonObject) -> str:
    """Add an input to the sequence's schema and return its name; one of this kind is taken."""
    try:
        schema = json.loads(draft.schema)
    except (ValueError, RecursionError):
        return name  # the check tells that the schema cannot be read
    if not isinstance(schema, dict):
        return name
    properties = schema.setdefault("properties", {})
    free, number = name, 1
    while free in properties and properties[free] != spec:
        number += 1
        free = f"{name}_{number}"
    if free not in properties:
        properties[free] = spec
        schema.setdefault("required", []).append(free)
    draft.schema = pretty(schema)
    return free
