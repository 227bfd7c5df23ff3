"""Turn a draft into the definition that it means."""

import json
from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.schema_forms import FormField
from sequences.definition import DefinitionInvalid, Problem, problem_at
from sequences.forms.drafts import Draft, Row, StepDraft
from sequences.forms.static_values import static_from_text
from sequences.forms.step_tools import StepTool, tool_at

Place = tuple[str | int, ...]


def definition_from_draft(draft: Draft, chosen: Mapping[str, StepTool]) -> JsonObject:
    """Return the definition as JSON; what was typed wrongly is in it as typed.

    `sequences.definition.parse` and `sequences.validation` then say what is wrong with it.
    """
    definition: JsonObject = {
        "format": 1,
        "steps": [
            _step(step, number, tool_at(chosen, step.tool, step.version))
            for number, step in enumerate(draft.steps, 1)
        ],
    }
    if final := _mapping(draft.final, {}):
        definition["finalOutputMapping"] = final
    return definition


def row_problems(draft: Draft) -> list[Problem]:
    """Return what is wrong with rows that a definition cannot even hold."""
    mappings: list[tuple[Place, list[Row]]] = [
        *((("steps", i, "inputMapping"), step.rows) for i, step in enumerate(draft.steps)),
        (("finalOutputMapping",), draft.final),
    ]
    return [problem for place, rows in mappings for problem in _row_problems(rows, place)]


def schema_from_draft(draft: Draft) -> JsonValue:
    """Return the input schema; raise DefinitionInvalid with the line where the JSON ends."""
    try:
        return json.loads(draft.schema)
    except json.JSONDecodeError as error:
        reason = f"This is not JSON: line {error.lineno}, column {error.colno}: {error.msg}."
    except (ValueError, RecursionError):
        reason = "This is nested too deeply, or holds a number that is too long."
    raise DefinitionInvalid([Problem("$.inputSchema", None, "inputSchema", reason)])


def _step(step: StepDraft, number: int, tool: StepTool | None) -> JsonObject:
    definition: JsonObject = {
        "stepNumber": number,
        "toolToRunId": tool.id if tool else step.tool.strip(),
        "toolVersion": _number(step.version, None),
        "inputMapping": _mapping(step.rows, tool.fields if tool else {}),
        "outputDisplaySuccess": step.success,
        "outputDisplayFailure": step.failure,
        "continueOnFailure": step.continue_on_failure,
        "storeOutputAs": step.store_as.strip() or None,
        "timeoutSeconds": _number(step.timeout, 30),
    }
    if step.attempts.strip() or step.backoff.strip():
        definition["retry"] = {
            "attempts": _number(step.attempts, 1),
            "backoffSeconds": _number(step.backoff, 0),
        }
    return definition


def _mapping(rows: list[Row], fields: Mapping[str, FormField]) -> JsonObject:
    return {
        row.name.strip(): _source(row, fields.get(row.name.strip()))
        for row in rows
        if row.source and row.name.strip() and not _lacks_output(row)
    }


def _source(row: Row, field: FormField | None) -> JsonObject:
    match row.source:
        case "initialInput":
            return {"source": row.source, "key": row.value.strip() or None}
        case "previousStep":
            return {"source": row.source, "step": row.value.strip(), "path": row.path.strip()}
        case "static":
            return {"source": row.source, "value": static_from_text(row.value, field)}
        case _:
            return {"source": row.source, "value": row.value}


def _row_problems(rows: list[Row], place: Place) -> Iterator[Problem]:
    seen: set[str] = set()
    for row in rows:
        name = row.name.strip()
        if row.source and not name:
            yield problem_at((*place, ""), "Give this input a name, or take it out.")
        elif row.source and name in seen:
            yield problem_at((*place, name), f"“{name}” is given twice. Take one of them out.")
        elif row.source:
            seen.add(name)
            if _lacks_output(row):
                yield problem_at((*place, name), "Choose the output of an earlier step.")
        elif row.value.strip() and name:
            yield problem_at((*place, name), "Choose where the value comes from.")


def _lacks_output(row: Row) -> bool:
    return row.source == "previousStep" and not row.value.strip()


def _number(text: str, default: int | None) -> int | float | str | None:
    """Return the number that was typed, or the text, which is then told to be no number."""
    text = text.strip()
    if not text:
        return default
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
