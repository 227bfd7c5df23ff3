"""Other ways to fill a row whose value does not fit, each of them tried."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.schemas import property_problems
from sequences.definition import (
    Expression,
    InitialInput,
    InputSource,
    LoopItem,
    PreviousStep,
    StaticValue,
    Template,
)
from sequences.known import Known, source_from_json, with_examples
from sequences.mapping import MappingFailed, resolve_inputs
from sequences.picking import jmespath_of


@dataclass(frozen=True)
class Fix:
    """Another way to fill the row; `each` says that the step is repeated for the list instead."""

    label: str
    source: str
    value: str = ""
    path: str = ""
    each: bool = False


def fixes_for(
    name: str,
    source: InputSource,
    known: Known,
    takes: JsonSchema | None,
    may_repeat: bool,
) -> Iterator[Fix]:
    """Yield what would fit, each tried on the value there is, else on one as the schemas say."""
    if takes is None or isinstance(source, Template | StaticValue):
        return
    context = with_examples(known)
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
            return Fix(label, source.source, source.step, _at_first(source.path.strip()))
        case LoopItem():
            return Fix(label, source.source, "", _at_first(source.path.strip()))
        case _:
            return Fix(label, "expression", _at_first(whole))


def _at_first(path: str) -> str:
    """Return the path to the first of a list; behind a projection `[0]` would mean each item's."""
    is_projected = any(sign in path for sign in ("|", "[*]", "[?", "[]", ":", "*."))
    return f"{path} | [0]" if is_projected else f"{path}[0]"


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
