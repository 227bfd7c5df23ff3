"""Follow values from what gives them to what takes them, by the schemas of both.

`validation` checks what a sequence says; here it is checked whether what one tool gives is there,
and is of a kind that the next one takes, as far as the schemas tell. A schema that says little is
believed no further than it says.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from config.lib.jsontext import schema_type
from config.lib.types import JsonSchema
from registry.schema_messages import type_words
from registry.schemas import property_problems
from sequences.definition import (
    Definition,
    Expression,
    InitialInput,
    InputSource,
    LoopItem,
    PreviousStep,
    StaticValue,
    Step,
    Template,
)
from sequences.mapping import ExpressionError, compile_expression, template_expressions
from sequences.problems import Place, Problem, problem_at
from sequences.reading import ANY, Missing, Read, all_types, inlined, items_of, member, read
from sequences.references import condition_references
from sequences.shapes import ToolShape, call_output, step_output

TEXT: JsonSchema = {"type": "string"}


@dataclass(frozen=True)
class _Known:
    """What can be read at one place: the input, earlier outputs by name, and in a loop its item."""

    initial: JsonSchema
    outputs: Mapping[str, JsonSchema]
    loop: Mapping[str, JsonSchema] = field(default_factory=dict)

    def whole(self, **more: JsonSchema) -> JsonSchema:
        """Return the schema of all that an expression reads."""
        steps = {"type": "object", "properties": dict(self.outputs)}
        properties = {"initial": self.initial, "steps": steps, **self.loop, **more}
        return {"type": "object", "properties": properties}


class _Given(NamedTuple):
    """The schema of what a source gives, and what that is in words."""

    schema: Read
    what: str
    path: str = ""


def flow_problems(
    definition: Definition, *, tools: Mapping[str, ToolShape], input_schema: JsonSchema
) -> Iterator[Problem]:
    """Yield what a step reads that is not there, or gives that does not fit.

    `tools` are shapes by what the steps call them; a step whose tool is not there is passed over,
    and one that is switched off. `breaks` tells which of them fail a run.
    """
    initial = inlined(input_schema)
    outputs: dict[str, JsonSchema] = {}
    for index, step in enumerate(definition.steps):
        tool = tools.get(step.tool)
        if not step.disabled:
            yield from _step_problems(index, step, _Known(initial, dict(outputs)), tool)
        if step.store_output_as:
            outputs[step.store_output_as] = step_output(step, tool)
    for name, source in (definition.final_output_mapping or {}).items():
        for message in _source_problems(name, source, _Known(initial, outputs), None, None):
            yield problem_at(("finalOutputMapping", name), message)


def breaks(problem: Problem) -> bool:
    """Say whether a problem of the flow fails a run: a message leaves out what it cannot read."""
    return problem.field != "outputDisplaySuccess"


def output_schema_of(definition: Definition) -> JsonSchema | None:
    """Return what is known of a sequence's output: the names it maps; None where it maps none."""
    if definition.final_output_mapping is None:
        return None
    return {"type": "object", "properties": dict.fromkeys(definition.final_output_mapping, ANY)}


def _step_problems(
    index: int, step: Step, known: _Known, tool: ToolShape | None
) -> Iterator[Problem]:
    place: Place = ("steps", index)
    if step.for_each:
        items = _given(step.for_each.items, known)
        for message in _list_problems(items):
            yield problem_at((*place, "forEach", "items"), message)
        item = ANY if isinstance(items.schema, Missing) else items_of(items.schema)
        loop = {"item": ANY if isinstance(item, Missing) else item, "index": {"type": "integer"}}
        known = _Known(known.initial, known.outputs, loop)
    for message in _condition_problems(step.when or "", known.whole()):
        yield problem_at((*place, "when"), message)
    for name, source in step.input_mapping.items():
        for message in _source_problems(name, source, known, tool, step.tool_version):
            yield problem_at((*place, "inputMapping", name), message)
    if step.approval:
        for message in _template_problems(step.approval.message, known.whole()):
            yield problem_at((*place, "approval", "message"), message)
    told = known.whole(result=call_output(step, tool), input=ANY)
    for message in _template_problems(step.output_display_success, told):
        yield problem_at((*place, "outputDisplaySuccess"), message)


def _given(source: InputSource, known: _Known) -> _Given:
    """Return what a source gives; `ANY` where `validation` tells that it gives nothing."""
    match source:
        case StaticValue(value=value):
            return _Given({"type": schema_type(value)}, "the value")
        case InitialInput(key=str(key)) if key:
            given = member(known.initial, key)
            what = f"the sequence's input “{key}”"
            return _Given(ANY if isinstance(given, Missing) else given, what)
        case InitialInput():
            return _Given(known.initial, "the sequence's whole input")
        case PreviousStep(step=name, path=path):
            given = _read(path, known.outputs.get(name, ANY))
            return _Given(given, f"the output of “{name}”", path)
        case LoopItem(path=path):
            return _Given(_read(path, known.loop.get("item", ANY)), "the item of the loop", path)
        case Expression(value=text):
            return _Given(_read(text, known.whole()), "the expression")
        case _:
            return _Given(TEXT, "a template")


def _source_problems(
    name: str,
    source: InputSource,
    known: _Known,
    tool: ToolShape | None,
    version: int | None,
) -> Iterator[str]:
    given = _given(source, known)
    if isinstance(source, Template):
        yield from _template_problems(source.value, known.whole())
    if isinstance(given.schema, Missing):
        yield _missing(given, given.schema)
    elif tool is not None and not isinstance(source, StaticValue):  # `validation` checks values
        what = f"“{given.path}” of {given.what}" if given.path else given.what
        yield from _misfits(name, given.schema, what, tool, version)


def _missing(given: _Given, missing: Missing) -> str:
    if given.path:
        return f"It reads “{given.path}” from {given.what}. {missing} Correct the path."
    return f"It reads what is not there: {missing} Correct {given.what}."


def _list_problems(items: _Given) -> Iterator[str]:
    if isinstance(items.schema, Missing):
        yield _missing(items, items.schema)
        return
    kinds = all_types(items.schema)
    if kinds and "array" not in kinds and items.what not in ("the value", "a template"):
        what = f"“{items.path}” of {items.what}" if items.path else items.what
        yield (
            f"The step is repeated for each item of a list, but {what} is "
            f"{type_words(sorted(kinds))}. Map a list."
        )


def _condition_problems(condition: str, whole: JsonSchema) -> Iterator[str]:
    for reference in dict.fromkeys(condition_references(condition)):
        found: Read = whole
        for part in (reference.root, reference.name, *reference.path.split(".")):
            if isinstance(found, Missing) or not part:
                break
            if (below := member(found, part)) and isinstance(below, Missing):
                within = part not in (reference.root, reference.name)
                if within and not reference.guarded:
                    yield (
                        f"It reads “{part}” of “{reference.root}.{reference.name}”. {below} "
                        "Correct the condition."
                    )
                break
            found = below


def _misfits(
    name: str, given: JsonSchema, what: str, tool: ToolShape, version: int | None
) -> Iterator[str]:
    """Compare what is given with what the tool takes, where both say."""
    schema = tool.input_of(version)
    wanted = member(inlined(schema), name)
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
        if found := property_problems(schema, name, value):
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


def _read(path: str, schema: JsonSchema) -> Read:
    if not path.strip():
        return schema
    try:
        return read(compile_expression(path).parsed, schema)
    except ExpressionError:
        return ANY
