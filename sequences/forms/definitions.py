"""Turn a draft into the definition that it means."""

import json
from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.schema_forms import FormField
from sequences.definition import DefinitionInvalid, Problem, problem_at
from sequences.forms.drafts import APPROVAL, BESIDE, Draft, Row, StepDraft
from sequences.forms.saved import default_key
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
            _step(step, number, tool_at(chosen, step.tool, step.version), parallel)
            for number, (step, parallel) in enumerate(
                zip(draft.steps, _branches(draft.steps), strict=True), 1
            )
        ],
    }
    if draft.max_runs.strip():
        definition["maxConcurrentRuns"] = _number(draft.max_runs, None)
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


def _step(
    step: StepDraft, number: int, tool: StepTool | None, parallel: JsonObject | None
) -> JsonObject:
    definition: JsonObject = {
        "stepNumber": number,
        "outputDisplaySuccess": step.success,
        "outputDisplayFailure": step.failure,
        "continueOnFailure": step.continue_on_failure,
        "storeOutputAs": step.store_as.strip() or None,
        "timeoutSeconds": _number(step.timeout, 30),
        "disabled": step.disabled,
        "title": step.title.strip(),
        "when": step.when.strip() or None,
        "parallel": parallel,
    }
    if step.key != default_key(number):
        definition["key"] = step.key or None
    if step.kind == APPROVAL:
        return {**definition, "approval": _approval(step)}
    definition |= {
        "toolToRunId": tool.id if tool else step.tool.strip(),
        "toolVersion": _number(step.version, None),
        "inputMapping": _mapping(step.rows, tool.fields if tool else {}),
        "repeatable": step.repeatable,
        "fallback": {"value": static_from_text(step.fallback, None)} if step.fallback else None,
    }
    if step.each.source:
        definition["forEach"] = {
            "items": _source(step.each, None),
            "parallel": _number(step.parallel, 1),
            "maxItems": _number(step.max_items, 100),
        }
    if step.attempts.strip() or step.backoff.strip() or step.factor.strip():
        definition["retry"] = {
            "attempts": _number(step.attempts, 1),
            "backoffSeconds": _number(step.backoff, 0),
            "backoffFactor": _number(step.factor, 1),
        }
    return definition


def _approval(step: StepDraft) -> JsonObject:
    """Return the question; a form that cannot be read is kept as typed, and told to be none."""
    approval: JsonObject = {
        "title": step.ask_title.strip(),
        "message": step.ask_message,
        "onRejected": step.ask_rejected or "fail",
        "expiresAfterSeconds": _number(step.ask_expires, None),
    }
    if step.ask_schema.strip():
        approval["inputSchema"] = static_from_text(step.ask_schema, None)
    return approval


def _branches(steps: list[StepDraft]) -> list[JsonObject | None]:
    """Return the group and branch of each step.

    A block is a step with those beside it; one without a second branch is no block.
    """
    blocks: list[list[StepDraft]] = []
    for step in steps:
        if step.beside and blocks:
            blocks[-1].append(step)
        else:
            blocks.append([step])
    groups: set[str] = set()
    places: list[JsonObject | None] = []
    for number, block in enumerate(blocks, 1):
        if not any(step.beside == BESIDE for step in block[1:]):
            places += [None] * len(block)
            continue
        group = _free(block[0].group, f"block_{number}", groups)
        branches: set[str] = set()
        branch = _free(block[0].branch, "branch_1", branches)
        places.append({"group": group, "branch": branch})
        for step in block[1:]:
            if step.beside == BESIDE:
                branch = _free(step.branch, f"branch_{len(branches) + 1}", branches)
            places.append({"group": group, "branch": branch})
    return places


def _free(name: str, default: str, taken: set[str]) -> str:
    """Return the first of these that is not taken, and take it."""
    chosen = name if name and name not in taken else default
    while chosen in taken:
        chosen = f"{chosen}_"
    taken.add(chosen)
    return chosen


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
        case "item":
            return {"source": row.source, "path": row.path.strip()}
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
