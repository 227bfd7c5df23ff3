"""Follow values from what gives them to what takes them, by the schemas of both.

`validation` checks what a sequence says; here it is checked whether what one tool gives is there,
and is of a kind that the next one takes, as far as the schemas tell. A schema that says little is
no reason to refuse a sequence, so these problems are told of a change, not when one is saved.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from config.lib.types import JsonSchema
from registry.schema_messages import type_words
from registry.schemas import property_problems
from sequences.definition import (
    Definition,
    InitialInput,
    InputSource,
    PreviousStep,
    Problem,
    Step,
    Template,
    problem_at,
)
from sequences.mapping import ExpressionError, compile_expression, template_expressions
from sequences.reading import ANY, Missing, Read, all_types, inlined, member, read
from sequences.validation import Place, ToolShape

TEXT: JsonSchema = {"type": "string"}


@dataclass(frozen=True)
class _Known:
    """What can be read at one place: the sequence's input, and earlier outputs by name."""

    initial: JsonSchema
    outputs: Mapping[str, JsonSchema]

    def whole(self, **more: JsonSchema) -> JsonSchema:
        """Return the schema of all that a template reads."""
        steps = {"type": "object", "properties": dict(self.outputs)}
        return {"type": "object", "properties": {"initial": self.initial, "steps": steps, **more}}


def flow_problems(
    definition: Definition, *, tools: Mapping[str, ToolShape], input_schema: JsonSchema
) -> Iterator[Problem]:
    """Yield what a step reads that is not there, or gives that does not fit.

    `tools` are shapes by what the steps call them; a step whose tool is not there is passed over.
    """
    initial = inlined(input_schema)
    outputs: dict[str, JsonSchema] = {}
    for index, step in enumerate(definition.steps):
        known = _Known(initial, dict(outputs))
        tool = tools.get(step.tool)
        result = inlined(tool.output_schema) if tool and tool.output_schema else ANY
        for name, source in step.input_mapping.items():
            for message in _source_problems(name, source, known, tool):
                yield problem_at(("steps", index, "inputMapping", name), message)
        yield from _display_problems(("steps", index), step, known.whole(result=result))
        if step.store_output_as:
            outputs[step.store_output_as] = result
    for name, source in (definition.final_output_mapping or {}).items():
        for message in _source_problems(name, source, _Known(initial, outputs), None):
            yield problem_at(("finalOutputMapping", name), message)


def output_schema_of(definition: Definition) -> JsonSchema | None:
    """Return what is known of a sequence's output: the names it maps; None where it maps none."""
    if definition.final_output_mapping is None:
        return None
    return {"type": "object", "properties": dict.fromkeys(definition.final_output_mapping, ANY)}


def _source_problems(
    name: str, source: InputSource, known: _Known, tool: ToolShape | None
) -> Iterator[str]:
    match source:
        case InitialInput(key=str(key)) if key:
            given = member(known.initial, key)
            if not isinstance(given, Missing):  # that it is missing, `validation` tells
                yield from _misfits(name, given, f"the sequence's input “{key}”", tool)
        case PreviousStep():
            given = _read(source.path, known.outputs.get(source.step, ANY))
            what = f"the output of “{source.step}”"
            if isinstance(given, Missing):
                yield f"It reads “{source.path}” from {what}. {given} Correct the path."
            else:
                yield from _misfits(name, given, f"“{source.path}” of {what}", tool)
        case Template():
            yield from _template_problems(source.value, known.whole())
            yield from _misfits(name, TEXT, "a template", tool)


def _misfits(name: str, given: JsonSchema, what: str, tool: ToolShape | None) -> Iterator[str]:
    """Compare what is given with what the tool takes, where both say."""
    if tool is None:
        return
    wanted = member(inlined(tool.input_schema), name)
    if isinstance(wanted, Missing):
        return
    takes, gives = all_types(wanted), all_types(given)
    if takes and gives and not _overlap(gives, takes):
        yield (
            f"“{tool.name}” takes {type_words(sorted(takes))} as “{name}”, but {what} is "
            f"{type_words(sorted(gives))}. Map another value."
        )
        return
    for value in _choices(given):
        if found := property_problems(tool.input_schema, name, value):
            yield (
                f"{what[:1].upper()}{what[1:]} may be {value!r}, but “{name}” of “{tool.name}” "
                f"{found[0].message}. Map another value."
            )
            return


def _overlap(gives: frozenset[str], takes: frozenset[str]) -> bool:
    numbers = {"integer", "number"}
    return bool(gives & takes) or bool(gives & numbers and takes & numbers)


def _choices(schema: JsonSchema) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    choices = schema.get("enum")
    return list(choices) if isinstance(choices, list) else []


def _template_problems(template: str, whole: JsonSchema) -> Iterator[str]:
    try:
        expressions = list(template_expressions(template))
    except ExpressionError:
        return  # `validation` tells
    for expression in expressions:
        found = _read(expression, whole)
        if isinstance(found, Missing):
            yield f"Its template reads “{expression.strip()}”. {found} Correct the template."


def _display_problems(place: Place, step: Step, whole: JsonSchema) -> Iterator[Problem]:
    for message in _template_problems(step.output_display_success, _with_input(whole)):
        yield problem_at((*place, "outputDisplaySuccess"), message)


def _with_input(whole: JsonSchema) -> JsonSchema:
    return {**whole, "properties": {**whole["properties"], "input": ANY}}


def _read(path: str, schema: JsonSchema) -> Read:
    if not path.strip():
        return schema
    try:
        return read(compile_expression(path).parsed, schema)
    except ExpressionError:
        return ANY
