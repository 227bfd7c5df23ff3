"""What the builder tells beside a row or a text while it is typed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from config.lib.types import JsonObject, JsonSchema
from registry.schema_forms import FormField
from sequences.checks import (
    Check,
    check_row,
    not_yet,
    part_problems,
)
from sequences.conditions import ConditionFailed, holds
from sequences.definition import Step, Template
from sequences.display import display_failure, display_success
from sequences.forms.definitions import source_of
from sequences.forms.drafts import Row
from sequences.forms.reach import Reach
from sequences.forms.step_tools import StepTool
from sequences.known import Known, source_from_json
from sequences.mapping import MappingFailed, resolve_inputs
from sequences.references import condition_references, template_references

LIST_OF_ANYTHING: JsonSchema = {"type": "object", "properties": {"items": {"type": "array"}}}
LONGEST = 5_000
"""Characters of a text that is previewed."""

FAILURE = {"code": "tool_failed", "message": "(why it failed)"}

TEXTS = {
    "success": "outputDisplaySuccess",
    "failure": "outputDisplayFailure",
    "when": "when",
    "ask_message": "approval.message",
}
"""Texts of a step that have a preview: field of the form → field of the definition."""


@dataclass(frozen=True)
class Shown:
    """A check and the row or text that it is shown beside."""

    prefix: str
    check: Check


@dataclass(frozen=True)
class _Part:
    """A row or a text to check: its place in the definition, and itself there."""

    prefix: str
    place: int | None
    field: str
    said: JsonObject
    row: Row | None = None
    text: str = ""

    @property
    def is_loop(self) -> bool:
        return self.field == "forEach.items"


def all_checks(reach: Reach) -> Iterator[Shown]:
    """Yield the check of each row and text that says where its value comes from."""
    yield from _checked(reach, list(_parts(reach)))


def check_at(reach: Reach, prefix: str) -> Check:
    """Return the check of the row or text with this prefix in the form; empty for none."""
    wanted = [part for part in _parts(reach) if part.prefix == prefix]
    return next((shown.check for shown in _checked(reach, wanted)), Check())


def _parts(reach: Reach) -> Iterator[_Part]:
    for place, step in enumerate(reach.draft.steps):
        tool = reach.tool_of(step)
        fields = tool.fields if tool else {}
        for number, row in enumerate(step.rows):
            name = row.name.strip()
            if said := _said(row, fields.get(name)):
                part = {"inputMapping": {name: said}}
                prefix = f"steps-{place}-in-{number}"
                yield _Part(prefix, place, f"inputMapping.{name}", part, row)
        if said := _said(step.each, None):
            part = {"forEach": {"items": said}}
            yield _Part(f"steps-{place}-each", place, "forEach.items", part, step.each)
        for name, field in TEXTS.items():
            text = getattr(step, name)
            if text.strip() and len(text) <= LONGEST:
                part = {"approval": {"message": text}} if name == "ask_message" else {field: text}
                yield _Part(f"steps-{place}-{name}", place, field, part, text=text)
    for number, row in enumerate(reach.draft.final):
        if said := _said(row, None):
            name = row.name.strip()
            part = {"finalOutputMapping": {name: said}}
            yield _Part(f"final-{number}", None, f"finalOutputMapping.{name}", part, row)


def _said(row: Row, field: FormField | None) -> JsonObject:
    """Return the source of a row as JSON; empty where it is none yet, or too long to check."""
    unfinished = row.source in ("previousStep", "static") and not row.value.strip()
    if not row.source or unfinished or len(row.value) + len(row.path) > LONGEST:
        return {}
    said = source_of(row, field)
    return said if source_from_json(said) is not None else {}


def _checked(reach: Reach, parts: list[_Part]) -> Iterator[Shown]:
    together: dict[int | None, JsonObject] = {}
    for part in parts:
        at = together.setdefault(part.place, {})
        for key, said in part.said.items():
            held = at.get(key)
            at[key] = {**held, **said} if isinstance(held, dict) else said
    told = part_problems(
        reach.definition["steps"], together, tools=reach.tools, input_schema=reach.initial_schema
    )
    knowns: dict[int | None, Known] = {}
    for part in parts:
        if part.place not in knowns:
            knowns[part.place] = reach.known(part.place)
        check = _check(reach, part, knowns[part.place], told.get((part.place, part.field), ()))
        yield Shown(part.prefix, check)


def _check(reach: Reach, part: _Part, known: Known, told: tuple[str, ...]) -> Check:
    if part.row is None:
        return _text_check(reach, part, known, told)
    step = None if part.place is None else reach.draft.steps[part.place]
    tool = reach.tool_of(step) if step else None
    takes = tool.input_schema if tool else None
    if part.is_loop:
        takes = LIST_OF_ANYTHING
        known = _before_the_loop(known)
    source = source_from_json(source_of(part.row, _field_of(tool, part.row)))
    if source is None:
        return Check()
    return check_row(
        "items" if part.is_loop else part.row.name.strip(),
        source,
        known,
        takes=takes,
        told=told,
        may_repeat=step is not None and not part.is_loop and not step.each.source,
    )


def _field_of(tool: StepTool | None, row: Row) -> FormField | None:
    return tool.fields.get(row.name.strip()) if tool else None


def _before_the_loop(known: Known) -> Known:
    """Return what is known while the list is worked out: there is no item yet."""
    context = {key: known.context[key] for key in ("initial", "steps")}
    return replace(known, context=context, item_schema=None)


def _text_check(reach: Reach, part: _Part, known: Known, told: tuple[str, ...]) -> Check:
    if part.place is None:
        return Check()
    if part.field == TEXTS["ask_message"]:
        message = Template(source="template", value=part.text)
        return check_row("message", message, known, takes=None, told=told)
    if told:
        return Check(problems=told)
    is_condition = part.field == TEXTS["when"]
    read = condition_references(part.text) if is_condition else template_references(part.text)
    if note := not_yet(read, known):
        return Check(note=note)
    if is_condition:
        return _condition(part.text, known)
    return _display(reach, part, known, part.place)


def _display(reach: Reach, part: _Part, known: Known, place: int) -> Check:
    step = reach.draft.steps[place]
    inputs = _inputs(reach, place, known)
    if part.field == TEXTS["failure"]:
        shape = Step.model_construct(step_number=place + 1, output_display_failure=part.text)
        shown = display_failure(shape, context=known.context, inputs=inputs, error=FAILURE)
    elif step.key not in reach.seen:
        return Check(note="Run a test of this step to see it.")
    else:
        shape = Step.model_construct(step_number=place + 1, output_display_success=part.text)
        result = reach.seen[step.key].value
        if step.each.source and isinstance(result, list):  # it tells of one item
            result = result[0] if result else None
        shown = display_success(shape, context=known.context, inputs=inputs, result=result)
    return Check(shown=shown, kind="text")


def _condition(text: str, known: Known) -> Check:
    try:
        due = holds(text, known.context)
    except ConditionFailed as error:
        return Check(problems=(f"{error.message} {error.hint}".strip(),))
    return Check(shown="true: the step runs" if due else "false: the step is skipped")


def _inputs(reach: Reach, place: int, known: Known) -> JsonObject:
    """Return what the step would be called with, as far as it can be worked out."""
    inputs: JsonObject = {}
    for name, data in reach.definition["steps"][place].get("inputMapping", {}).items():
        source = source_from_json(data)
        try:
            inputs |= resolve_inputs({name: source}, known.context) if source else {}
        except MappingFailed:
            continue
    return inputs
