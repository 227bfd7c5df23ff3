"""What changed between two snapshots of a tool (`registry.specs.snapshot_of`)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.differences.definitions import definition_differences
from registry.differences.found import Difference, Effect, Kind, Part, found, kind_of, said, within
from registry.differences.packages import package_differences
from registry.differences.schemas import schema_differences

_NOTHING: JsonObject = {"input_schema": {"type": "object", "properties": {}}}
_ORDER = {Effect.BREAKING: 0, Effect.COMPATIBLE: 1, Effect.TEXT: 2}


def differences(
    before: JsonObject | None,
    after: JsonObject | None,
    *,
    names: Mapping[str, str] | None = None,
) -> list[Difference]:
    """Return what changed from one snapshot to the other, what is breaking first.

    None stands for a tool that was not there, or is there no more. `names` are the wire names of
    the tools that steps call, by id; without them a step's tool is told by its id.
    """
    if after is None:
        gone = found("$", "The tool is taken out.", kind=Kind.REMOVED, breaking=True)
        return [] if before is None else [gone]
    told = list(_told(_NOTHING if before is None else before, after, names or {}))
    if before is None:
        told = [_new(difference) for difference in told]
    return sorted(told, key=lambda difference: _ORDER[difference.effect])


def _new(difference: Difference) -> Difference:
    """What is new breaks nobody."""
    if difference.is_breaking:
        return replace(difference, effect=Effect.COMPATIBLE)
    return difference


def _told(before: JsonObject, after: JsonObject, names: Mapping[str, str]) -> Iterator[Difference]:
    yield from _inputs(before, after)
    yield from _outputs(before.get("output_schema"), after.get("output_schema"))
    yield from within(
        Part.DEFINITION,
        definition_differences(before.get("definition"), after.get("definition"), names),
    )
    yield from within(
        Part.PACKAGE, package_differences(before.get("package"), after.get("package"))
    )
    yield from _facts(before, after)
    yield from _texts(before, after)


def _inputs(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    then, now = _schema(before.get("input_schema")), _schema(after.get("input_schema"))
    yield from within(Part.INPUT, schema_differences(then, now, goes_in=True))


def _outputs(before: JsonValue, after: JsonValue) -> Iterator[Difference]:
    if before is not None and after is not None:
        told = schema_differences(_schema(before), _schema(after), goes_in=False)
        yield from within(Part.OUTPUT, told)
    elif before is not None or after is not None:
        words = "is described now" if after is not None else "is not described any more"
        yield found(
            "$",
            f"The answer {words}.",
            kind=kind_of(before, after),
            breaking=after is None,
            before=before,
            after=after,
            part=Part.OUTPUT,
        )


def _schema(value: JsonValue) -> JsonSchema:
    return value if isinstance(value, Mapping) else {}


def _facts(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    """Tell what decides how a tool is run."""
    then, now = (set(side.get("required_scopes") or ()) for side in (before, after))
    for scope in sorted(then ^ now):
        told = "is needed to call it now" if scope in now else "is not needed to call it any more"
        yield found(
            "$.required_scopes",
            f"The scope “{scope}” {told}.",
            kind=Kind.ADDED if scope in now else Kind.REMOVED,
            breaking=scope in now,
            before=sorted(then),
            after=sorted(now),
        )
    for name, label in _FACTS.items():
        old, new = before.get(name), after.get(name)
        if (old or None) == (new or None):
            continue
        was = f"; it was {said(old)}" if old else ""
        kind = kind_of(old, new)
        yield found(f"$.{name}", f"{label} is {said(new)}{was}.", kind=kind, before=old, after=new)


_FACTS = {
    "kind": "The kind of tool",
    "export_name": "The export that is called",
    "timeout_seconds": "The time limit in seconds",
    "raw_string_args": "What reaches the tool with embeds left as they stand",
}


def _texts(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    """Tell what models and people read of the tool."""
    for name, label in (
        ("title", "The title"),
        ("description", "The description"),
        ("category", "The category"),
    ):
        old, new = before.get(name) or None, after.get(name) or None
        if old == new:
            continue
        words = "is new" if old is None else "is gone" if new is None else "has changed"
        kind = kind_of(old, new)
        yield found(f"$.{name}", f"{label} {words}.", text=True, kind=kind, before=old, after=new)
    yield from _guidance(before.get("ai_agent") or {}, after.get("ai_agent") or {})


def _guidance(before: JsonObject, after: JsonObject) -> Iterator[Difference]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old != new:
            label = _GUIDANCE.get(name, f"The guidance “{name}”")
            words = "is new" if old is None else "is gone" if new is None else "has changed"
            yield found(
                f"$.ai_agent.{name}",
                f"{label} {words}.",
                text=True,
                kind=kind_of(old, new),
                before=old,
                after=new,
            )


_GUIDANCE = {
    "useCase": "The guidance on when to use it",
    "limitations": "The guidance on its limits",
    "examples": "The guidance by examples",
}
