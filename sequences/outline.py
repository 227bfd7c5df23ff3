"""Read what a definition says as far as it can be read, finished or not.

Everything that is drawn or listed of a sequence while it is written starts here: nothing that is
missing or misspelt raises.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from config.lib.types import JsonObject, JsonValue
from sequences.definition import InputSource
from sequences.references import (
    Reference,
    condition_references,
    source_references,
    template_references,
)

_SOURCE: TypeAdapter[InputSource] = TypeAdapter(InputSource)

START, END = 0, -1
"""What stands for the sequence's input and for its output where steps have their numbers."""


@dataclass(frozen=True, kw_only=True)
class Read:
    """Which inputs (`fields`) of the step `to` take something that the step `origin` gives."""

    origin: int
    to: int
    fields: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """Return what goes where."""
        return f"{', '.join(self.fields)} of {_place(self.to)} from {_place(self.origin)}"


@dataclass(frozen=True, kw_only=True)
class Stop:
    """One step as it is drawn; `branch` is (group, branch) or None."""

    number: int
    key: str
    title: str
    tool: str
    output: str
    branch: tuple[str, str] | None = None
    when: str = ""
    loops: bool = False
    asks: bool = False
    disabled: bool = False


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The steps in their order, and who reads what of whom."""

    stops: tuple[Stop, ...]
    reads: tuple[Read, ...]
    maps_output: bool


def outline_of(definition: JsonValue) -> Outline:
    """Return the outline of a definition as JSON; an empty one for what is no object."""
    data = definition if isinstance(definition, Mapping) else {}
    listed = data.get("steps")
    steps = [step if isinstance(step, Mapping) else {} for step in _list(listed)]
    stops = tuple(_stop(number, step) for number, step in enumerate(steps, 1))
    final = data.get("finalOutputMapping")
    return Outline(
        stops=stops,
        reads=tuple(_reads(steps, stops, _mapping(final))),
        maps_output=bool(_mapping(final)),
    )


def in_words(stop: Stop, tool: str, mark: str, reads: tuple[Read, ...]) -> str:
    """Return all that the box of a step shows, for who hears it."""
    title = f": {stop.title}" if stop.title else ""
    does = "asks a person" if stop.asks else f"calls {tool}"
    parts = [f"Step {stop.number}{title}, {does}"]
    if stop.disabled:
        parts.append("switched off")
    if stop.loops:
        parts.append("for each item of a list")
    if stop.when:
        parts.append(f"only if {stop.when}")
    if stop.branch:
        parts.append(f"in branch {stop.branch[1]} of {stop.branch[0]}")
    parts += [
        f"takes {', '.join(read.fields)} from {_place(read.origin)}"
        for read in reads
        if read.to == stop.number
    ]
    return "; ".join([*parts, *([mark] if mark else [])]) + "."


def _place(number: int) -> str:
    return {START: "the input", END: "the output"}.get(number, f"step {number}")


def _stop(number: int, step: Mapping[str, Any]) -> Stop:
    parallel = _mapping(step.get("parallel"))
    group, branch = _text(parallel.get("group")), _text(parallel.get("branch"))
    approval = step.get("approval")
    asks = isinstance(approval, Mapping)
    return Stop(
        number=number,
        key=_text(step.get("key")) or str(number),
        title=_text(step.get("title")) or _text(_mapping(approval).get("title")),
        tool=_text(step.get("toolToRunId")),
        output=_text(step.get("storeOutputAs")),
        branch=(group, branch) if group and branch else None,
        when=_text(step.get("when")).strip(),
        loops=isinstance(step.get("forEach"), Mapping),
        asks=asks,
        disabled=step.get("disabled") is True,
    )


def _reads(
    steps: list[Mapping[str, Any]], stops: tuple[Stop, ...], final: JsonObject
) -> Iterator[Read]:
    origins: dict[str, int] = {}
    for stop, step in zip(stops, steps, strict=True):
        yield from _joined(stop.number, _references_of(step), origins)
        if stop.output:
            origins[stop.output] = stop.number
    outputs = ((name, reference) for name, reference in _of_mapping(final))
    yield from _joined(END, outputs, origins)


def _joined(
    to: int, references: Iterator[tuple[str, Reference]], origins: Mapping[str, int]
) -> Iterator[Read]:
    """Yield one read for each step that something comes from, with all fields that read it."""
    found: dict[int, dict[str, None]] = {}
    for field, reference in references:
        origin = START if reference.root == "initial" else None
        if reference.root == "steps":
            origin = origins.get(reference.name or "")
        if origin is not None:
            found.setdefault(origin, {})[field] = None
    for origin, fields in sorted(found.items()):
        yield Read(origin=origin, to=to, fields=tuple(fields))


def _references_of(step: Mapping[str, Any]) -> Iterator[tuple[str, Reference]]:
    for reference in condition_references(_text(step.get("when"))):
        yield "condition", reference
    items = _mapping(step.get("forEach")).get("items")
    for reference in _of_source(items):
        yield "loop", reference
    yield from _of_mapping(_mapping(step.get("inputMapping")))
    message = _text(_mapping(step.get("approval")).get("message"))
    for reference in template_references(message):
        yield "question", reference


def _of_mapping(mapping: JsonObject) -> Iterator[tuple[str, Reference]]:
    for name, source in mapping.items():
        for reference in _of_source(source):
            yield str(name), reference


def _of_source(source: JsonValue) -> list[Reference]:
    if not isinstance(source, Mapping):
        return []
    try:
        return source_references(_SOURCE.validate_python(dict(source)))
    except ValidationError:
        return []


def _list(value: JsonValue) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: JsonValue) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, Mapping) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
