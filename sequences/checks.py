"""Tell what one row of a mapping gives at present, whether that fits, and what would.

It works on whatever is known: real values of a sample input and of earlier outputs, else the
schemas. A draft is unfinished by nature, so a row is checked alone, whatever is wrong elsewhere.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.schema_messages import type_of
from registry.schemas import property_problems
from sequences.definition import (
    IDENTIFIER,
    DefinitionInvalid,
    InitialInput,
    InputSource,
    LoopItem,
    StaticValue,
    parse,
)
from sequences.fixes import Fix, fixes_for
from sequences.flow import flow_problems
from sequences.known import Known, source_from_json
from sequences.mapping import (
    MappingFailed,
    resolve_inputs,
)
from sequences.picking import short
from sequences.problems import Problem
from sequences.references import Reference, source_references
from sequences.shapes import ToolShape
from sequences.validation import validate

LONGEST = 2_000
"""Characters of a value that a preview shows."""

_STEP_PARTS = (
    *("stepNumber", "key", "toolToRunId", "toolVersion"),
    *("storeOutputAs", "parallel", "disabled"),
)


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
    mends = () if fits and not told else fixes_for(name, source, known, takes, may_repeat)
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
        case InitialInput() if not known.context["initial"]:
            return "Run a test to see it: there is no sample input yet."
        case InitialInput(key=str(key)) if key and key not in known.context["initial"]:
            return f"The sample input has no “{key}” to show."
    return not_yet(source_references(source), known)
