"""Check a sequence against the tools it calls and against its own input schema.

`definition.parse` knows the shape alone; here it is told what would go wrong in a run, in words
for a person who cannot program, each with what to do.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jmespath.functions import Functions

from config.lib.types import JsonSchema
from registry.schemas import check_schema, property_problems
from sequences.definition import (
    Definition,
    InitialInput,
    InputSource,
    PreviousStep,
    Problem,
    StaticValue,
    Step,
    Template,
    problem_at,
)
from sequences.mapping import ExpressionError, compile_expression, template_expressions

Place = tuple[str | int, ...]

FUNCTIONS: Final[frozenset[str]] = frozenset(Functions.FUNCTION_TABLE)
MAPPING_ROOTS = ("initial", "steps")
SUCCESS_ROOTS = (*MAPPING_ROOTS, "input", "result")
FAILURE_ROOTS = (*MAPPING_ROOTS, "input", "error")


@dataclass(frozen=True)
class ToolShape:
    """What has to be known of a tool to check a step that calls it."""

    name: str
    input_schema: JsonSchema
    pinned: Mapping[int, JsonSchema] = dataclasses.field(default_factory=dict)
    """The input schemas of the versions that steps pin."""
    refused: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """Pinned versions that cannot be used, each with the reason."""
    output_schema: JsonSchema | None = None


@dataclass(frozen=True)
class _Known:
    """What an expression may refer to: input keys, earlier outputs, and all outputs by step."""

    inputs: tuple[str, ...]
    earlier: tuple[str, ...]
    stored: Mapping[str, int]


def validate(
    definition: Definition,
    *,
    tools: Mapping[str, ToolShape],
    input_schema: JsonSchema,
    self_id: str | None = None,
) -> list[Problem]:
    """Return every problem of the sequence; empty when it can be published.

    `tools` are the tools its author may use, by id; `self_id` is the id of the sequence itself.
    """
    problems = [
        Problem(found.path, None, "inputSchema", f"The input schema is not valid: {found.message}")
        for found in check_schema(input_schema)
    ]
    properties = input_schema.get("properties", {}) if not problems else {}
    stored = {
        step.store_output_as: step.step_number
        for step in definition.steps
        if step.store_output_as is not None
    }
    inputs = tuple(properties)
    for index, step in enumerate(definition.steps):
        earlier = tuple(name for name, number in stored.items() if number < step.step_number)
        known = _Known(inputs, earlier, stored)
        problems += _tool_problems(index, step, tools, self_id)
        problems += _mapping_problems(("steps", index, "inputMapping"), step.input_mapping, known)
        problems += _display_problems(index, step)
    final = definition.final_output_mapping or {}
    known = _Known(inputs, tuple(stored), stored)
    problems += _mapping_problems(("finalOutputMapping",), final, known)
    return problems


def _tool_problems(
    index: int, step: Step, tools: Mapping[str, ToolShape], self_id: str | None
) -> Iterator[Problem]:
    place: Place = ("steps", index, "toolToRunId")
    if step.approval is not None and step.tool_to_run_id is None:
        return
    if self_id is not None and step.tool_to_run_id == self_id:
        yield problem_at(
            place, "A sequence cannot call itself, it would never end. Choose another tool."
        )
        return
    tool = tools.get(step.tool)
    if tool is None:
        yield problem_at(
            place,
            "This tool does not exist, or you may not use it. Choose a tool from the list.",
        )
        return
    if refused := tool.refused.get(step.tool_version or 0):
        yield problem_at(("steps", index, "toolVersion"), refused)
        return
    yield from _input_problems(("steps", index, "inputMapping"), step, tool)


def _input_problems(place: Place, step: Step, tool: ToolShape) -> Iterator[Problem]:
    schema = tool.pinned.get(step.tool_version or 0, tool.input_schema)
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        has_default = isinstance(properties.get(name), Mapping) and "default" in properties[name]
        if name not in step.input_mapping and not has_default:
            yield problem_at(
                (*place, name),
                f"“{tool.name}” needs “{name}”. Add it and say where its value comes from.",
            )
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    for name, source in step.input_mapping.items():
        if closed and name not in properties:
            names = ", ".join(properties) or "none"
            yield problem_at(
                (*place, name),
                f"“{tool.name}” has no input “{name}”. Its inputs: {names}. "
                "Rename it or take it out.",
            )
        if isinstance(source, StaticValue):
            for found in property_problems(schema, name, source.value):
                where = found.path.removeprefix("$")
                yield problem_at(
                    (*place, name), f"The value of “{name}{where}” {found.message}. Change it."
                )


def _mapping_problems(
    place: Place, mapping: Mapping[str, InputSource], known: _Known
) -> Iterator[Problem]:
    for name, source in mapping.items():
        for message in _source_problems(source, known):
            yield problem_at((*place, name), message)


def _source_problems(source: InputSource, known: _Known) -> Iterator[str]:
    match source:
        case InitialInput(key=str(key)) if key:
            yield from _initial_problems(key, known)
        case PreviousStep():
            yield from _step_problems(source.step, known)
            if source.path.strip():
                yield from _path_problems(source.path)
        case Template():
            yield from _template_problems(source.value, MAPPING_ROOTS, known)


def _initial_problems(key: str, known: _Known) -> Iterator[str]:
    if key not in known.inputs:
        names = ", ".join(known.inputs) or "none"
        yield (
            f"The sequence has no input “{key}”. Its inputs: {names}. "
            "Choose one, or add it to the input schema."
        )


def _step_problems(name: str, known: _Known) -> Iterator[str]:
    if name in known.earlier:
        return
    if name in known.stored:
        yield (
            f"“{name}” is the output of step {known.stored[name]}, which has not run by then. "
            "Choose the output of an earlier step, or move the steps."
        )
    else:
        names = ", ".join(known.earlier) or "none"
        yield (
            f"No earlier step stores its output as “{name}”. Outputs to choose from: {names}. "
            "Fill in “Store output as” at that step, or choose another."
        )


def _path_problems(path: str) -> Iterator[str]:
    try:
        yield from _function_problems(compile_expression(path).parsed)
    except ExpressionError as error:
        yield f"The path is not valid. {error}"


def _template_problems(
    template: str, roots: tuple[str, ...], known: _Known | None
) -> Iterator[str]:
    """Check a template's expressions; what they refer to is checked when `known` is given."""
    try:
        parsed = [compile_expression(text).parsed for text in template_expressions(template)]
    except ExpressionError as error:
        yield f"The template is not valid. {error}"
        return
    for node in parsed:
        yield from _function_problems(node)
        for root, name in references(node):
            if root not in roots:
                yield (
                    f"“{root}” is not known in this template. "
                    f"An expression starts with one of: {', '.join(roots)}."
                )
            elif known and root == "initial" and name is not None:
                yield from _initial_problems(name, known)
            elif known and root == "steps" and name is not None:
                yield from _step_problems(name, known)


def _display_problems(index: int, step: Step) -> Iterator[Problem]:
    for field, template, roots in (
        ("outputDisplaySuccess", step.output_display_success, SUCCESS_ROOTS),
        ("outputDisplayFailure", step.output_display_failure, FAILURE_ROOTS),
    ):
        for message in _template_problems(template, roots, None):
            yield problem_at(("steps", index, field), message)


def _function_problems(node: Mapping[str, Any]) -> Iterator[str]:
    if node["type"] == "function_expression" and node["value"] not in FUNCTIONS:
        yield f"There is no function “{node['value']}”. Use one of: {', '.join(sorted(FUNCTIONS))}."
    for child in node["children"]:
        if isinstance(child, Mapping):
            yield from _function_problems(child)


def references(node: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield what an expression takes from the context, as (root, first key below it or None).

    Only what is evaluated against the context itself counts: the right side of a projection, a
    filter or a pipe works on items.
    """
    children = node["children"]
    match node["type"]:
        case "field":
            yield node["value"], None
        case "subexpression" if children[0]["type"] == "field":
            yield children[0]["value"], _first_key(children[1])
        case (
            "subexpression"
            | "index_expression"
            | "pipe"
            | "projection"
            | "filter_projection"
            | "value_projection"
            | "flatten"
        ):
            yield from references(children[0])
        case "expref":
            return
        case _:
            for child in children:
                if isinstance(child, Mapping):
                    yield from references(child)


def _first_key(node: Mapping[str, Any]) -> str | None:
    """Return the leftmost key of what follows a root: `a` in `steps.a[0].b`."""
    if node["type"] == "field":
        return str(node["value"])
    first = next(iter(node["children"]), None)
    return _first_key(first) if isinstance(first, Mapping) else None
