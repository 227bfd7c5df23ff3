"""Tell what one row of a mapping gives at present, whether that fits, and what would.

It works on whatever is known: real values of a sample input and of earlier outputs, else the
schemas. A draft is unfinished by nature, so a row is checked alone, whatever is wrong elsewhere.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from pydantic import TypeAdapter, ValidationError

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.schema_messages import type_of
from registry.schemas import property_problems
from sequences.definition import (
    IDENTIFIER,
    DefinitionInvalid,
    Expression,
    InitialInput,
    InputSource,
    LoopItem,
    PreviousStep,
    StaticValue,
    Template,
    parse,
)
from sequences.flow import flow_problems
from sequences.mapping import (
    MappingFailed,
    resolve_inputs,
)
from sequences.picking import DEEPEST, jmespath_of, short
from sequences.problems import Problem
from sequences.reading import all_types, forms, inlined
from sequences.references import Reference, source_references
from sequences.shapes import ToolShape
from sequences.validation import validate

LONGEST = 2_000
"""Characters of a value that a preview shows."""

_SOURCE: TypeAdapter[InputSource] = TypeAdapter(InputSource)
_STEP_PARTS = (
    *("stepNumber", "key", "toolToRunId", "toolVersion"),
    *("storeOutputAs", "parallel", "disabled"),
)


@dataclass(frozen=True)
class Fix:
    """Another way to fill the row; `each` says that the step is repeated for the list instead."""

    label: str
    source: str
    value: str = ""
    path: str = ""
    each: bool = False


@dataclass(frozen=True, kw_only=True)
class Check:
    """What is told beside a row: `shown` is the value at present, `kind` its type in words.

    `note` says why there is no value, where nothing is wrong.
    """

    shown: str = ""
    kind: str = ""
    note: str = ""
    problems: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a row may read.

    `context` has real values; `schemas` says what there will be, by the name of the output;
    `later` are the names of outputs without a value yet, each with its step in words.
    """

    context: Mapping[str, Any]
    initial_schema: JsonSchema
    schemas: Mapping[str, JsonSchema]
    later: Mapping[str, str]
    item_schema: JsonSchema | None = None


def source_from_json(data: JsonObject) -> InputSource | None:
    """Return the source that a row means; None where it is not one yet."""
    try:
        return _SOURCE.validate_python(data)
    except ValidationError:
        return None


def check_row(
    name: str,
    source: InputSource,
    known: Known,
    *,
    takes: JsonSchema | None,
    told: tuple[str, ...] = (),
    may_repeat: bool = False,
) -> Check:
    """Return what is told of a row; `takes` is the input schema of its tool, if there is one.

    `told` are problems that the check of the schemas found already.
    """
    if isinstance(source, StaticValue):
        return Check(problems=told)
    note = _unknown(source, known)
    problems = list(told)
    shown = kind = ""
    fits = True
    if not note:
        try:
            value = resolve_inputs({name: source}, known.context)[name]
        except MappingFailed as error:
            problems = problems or [error.message]
            value, fits = None, False
        else:
            shown, kind = full(value), type_of(value)
            if takes is not None and (found := property_problems(takes, name, value)):
                fits = False
                problems = problems or [
                    f"It is {type_of(value)} now, {short(value)}, and “{name}” {found[0].message}."
                ]
    mends = () if fits and not told else _fixes(name, source, known, takes, may_repeat)
    return Check(shown=shown, kind=kind, note=note, problems=tuple(problems), fixes=tuple(mends))


Told = Mapping[tuple[int | None, str], tuple[str, ...]]
"""Problems by the place of the step from 0, None for the definition, and the field."""


def part_problems(
    steps: list[JsonObject],
    parts: Mapping[int | None, JsonObject],
    *,
    tools: Mapping[str, ToolShape],
    input_schema: JsonSchema,
) -> Told:
    """Return what the check of the definition says of some parts of its steps.

    `parts` are what is checked of the step at each place, such as `{"inputMapping": {...}}`. Else
    the steps are taken for what others see of them, so that nothing unfinished stands in the way.
    """
    places = [place for place in parts if place is not None]
    upto = len(steps) if None in parts else max(places, default=-1) + 1
    definition: JsonObject = {"format": 1, "steps": [_bare(step) for step in steps[:upto]]}
    for place, part in parts.items():
        (definition if place is None else definition["steps"][place]).update(part)
    told: dict[tuple[int | None, str], tuple[str, ...]] = {}
    for problem in _all_problems(definition, tools, input_schema):
        at = (None if problem.step is None else problem.step - 1, problem.field or "")
        told[at] = (*told.get(at, ()), problem.message)
    return told


def _bare(step: JsonObject) -> JsonObject:
    """Return as much of a step as others see of it, without what is not valid by itself."""
    bare = {key: step[key] for key in _STEP_PARTS if step.get(key)}
    if not re.match(IDENTIFIER, bare.get("storeOutputAs", "")):
        bare.pop("storeOutputAs", None)
    items = (step.get("forEach") or {}).get("items")
    if items and source_from_json(items) is not None:
        bare["forEach"] = {"items": items}
    if step.get("approval") is not None:
        form = step["approval"].get("inputSchema")
        return {**bare, "approval": {"inputSchema": form} if isinstance(form, dict) else {}}
    return {"toolToRunId": "-", **bare}


def full(value: JsonValue) -> str:
    """Return a value as a preview shows it: text as it is, all else as JSON, both cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def example_of(schema: JsonSchema, depth: int = 0) -> JsonValue:
    """Return a value such as the schema describes, so that a way to mend a row can be tried."""
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if isinstance(choices := schema.get("enum"), list) and choices:
        return choices[0]
    form = next(forms(schema), schema)
    kinds = all_types(form)
    if depth > DEEPEST or not kinds:
        return None
    if "object" in kinds:
        inner = form.get("properties")
        named = inner.items() if isinstance(inner, Mapping) else ()
        return {key: example_of(part, depth + 1) for key, part in named if isinstance(part, dict)}
    if "array" in kinds:
        item = form.get("items")
        return [example_of(item, depth + 1)] if isinstance(item, dict) else []
    simple: dict[str, JsonValue] = {"string": "1", "integer": 1, "number": 1, "boolean": True}
    return next((simple[kind] for kind in sorted(kinds) if kind in simple), None)


def _all_problems(
    definition: JsonObject, tools: Mapping[str, ToolShape], input_schema: JsonSchema
) -> list[Problem]:
    try:
        parsed = parse(definition)
    except DefinitionInvalid as error:
        return error.problems
    return list(
        chain(
            validate(parsed, tools=tools, input_schema=input_schema),
            flow_problems(parsed, tools=tools, input_schema=input_schema),
        )
    )


def not_yet(read: Iterable[Reference], known: Known) -> str:
    """Say which outputs have to be there first; empty where all of them are."""
    names = {one.name for one in read if one.root == "steps"}
    missing = [words for name, words in known.later.items() if None in names or name in names]
    if not missing:
        return ""
    return f"Run a test to see it: {', '.join(missing[:3])} has given nothing yet."


def _unknown(source: InputSource, known: Known) -> str:
    """Say why the value is not known yet; empty where it can be worked out."""
    match source:
        case LoopItem() if "item" not in known.context:
            return "Run a test to see the items of the list."
        case InitialInput(key=str(key)) if key and key not in known.context["initial"]:
            return f"The sample input has no “{key}” to show."
    return not_yet(source_references(source), known)


def _fixes(
    name: str,
    source: InputSource,
    known: Known,
    takes: JsonSchema | None,
    may_repeat: bool,
) -> Iterator[Fix]:
    """Yield what would fit, each tried on the value there is, else on one as the schemas say."""
    if takes is None or isinstance(source, Template | StaticValue):
        return
    context = _whole(known)
    try:
        value = resolve_inputs({name: source}, context)[name]
    except MappingFailed:
        return
    found = (fix for fix, fits in _candidates(name, source, value, may_repeat) if fits(takes))
    for fix in islice(found, 3):
        if fix.each or _resolves(name, fix, context, takes):
            yield fix


Fits = Callable[[JsonSchema], bool]


def _candidates(
    name: str, source: InputSource, value: JsonValue, may_repeat: bool
) -> Iterator[tuple[Fix, Fits]]:
    whole = expression_of(source)

    def always(_: JsonSchema) -> bool:
        return True

    if isinstance(value, list) and value:
        first = value[0]
        yield _first(source, whole), always
        if may_repeat:
            each = Fix("Repeat the step for each item", "item", each=True)
            yield each, lambda takes: not property_problems(takes, name, first)
    if isinstance(value, str):
        yield Fix("Use it as a number", "expression", f"to_number({whole})"), always
    if not isinstance(value, str):
        yield Fix("Use it as text", "template", f"{{{{ {whole} }}}}"), always
    if not isinstance(value, list):
        yield Fix("Use it as a list of one", "expression", f"[{whole}]"), always


def _first(source: InputSource, whole: str) -> Fix:
    label = "Use the first item, [0]"
    match source:
        case PreviousStep():
            return Fix(label, source.source, source.step, f"{source.path.strip()}[0]")
        case LoopItem():
            return Fix(label, source.source, "", f"{source.path.strip()}[0]")
        case _:
            return Fix(label, "expression", f"{whole} | [0]" if "|" in whole else f"{whole}[0]")


def expression_of(source: InputSource) -> str:
    """Return what a source reads as an expression over the whole context."""
    match source:
        case InitialInput():
            return jmespath_of(("initial", source.key) if source.key else ("initial",))
        case PreviousStep():
            return _then(jmespath_of(("steps", source.step)), source.path.strip())
        case LoopItem():
            return _then("item", source.path.strip())
        case Expression():
            return source.value.strip()
        case _:
            return ""


def _then(start: str, path: str) -> str:
    if not path:
        return start
    if path.startswith("[") or not path[0].isidentifier() or "|" in path:
        return f"{start}.{path}" if path.startswith('"') else f"{start} | {path}"
    return f"{start}.{path}"


def _resolves(name: str, fix: Fix, context: Mapping[str, Any], takes: JsonSchema) -> bool:
    data: JsonObject = {"source": fix.source}
    if fix.source == "previousStep":
        data |= {"step": fix.value, "path": fix.path}
    elif fix.source == "item":
        data["path"] = fix.path
    else:
        data["value"] = fix.value
    source = source_from_json(data)
    if source is None:
        return False
    try:
        value = resolve_inputs({name: source}, context)[name]
    except MappingFailed:
        return False
    return value is not None and not property_problems(takes, name, value)


def _whole(known: Known) -> JsonObject:
    """Return the context with examples for what has no real value."""
    example = example_of(inlined(known.initial_schema))
    initial = example if isinstance(example, dict) else {}
    steps = {
        name: example_of(inlined(schema))
        for name, schema in known.schemas.items()
        if name not in known.context["steps"]
    }
    context: JsonObject = {
        **known.context,
        "initial": {**initial, **known.context["initial"]},
        "steps": {**steps, **known.context["steps"]},
    }
    if known.item_schema is not None and "item" not in context:
        context |= {"item": example_of(inlined(known.item_schema)), "index": 0}
    return context
