"""What changed of the package that a tool's code comes from."""

from collections.abc import Iterator

from config.lib.types import JsonObject, JsonValue
from registry.differences.found import Difference, Kind, found, kind_of, said

_FACTS = {
    "ecosystem": "The ecosystem",
    "name": "The package",
    "version": "The package's version",
    "integrity": "The integrity of the package",
    "artifact": "The built package",
}


def package_differences(
    before: JsonObject | None, after: JsonObject | None
) -> Iterator[Difference]:
    """Yield what changed of a package: its values, its variables, how it is loaded."""
    then, now = before or {}, after or {}
    for name, label in _FACTS.items():
        old, new = then.get(name) or None, now.get(name) or None
        if old != new:
            was = f"; it was {said(old)}" if old else ""
            told = f"{label} is {said(new)}{was}."
            yield found(f"$.{name}", told, kind=kind_of(old, new), before=old, after=new)
    yield from variable_differences(then.get("env") or [], now.get("env") or [])
    yield from value_differences(then.get("settings"), now.get("settings"), "$.settings")


def variable_differences(before: list[JsonObject], after: list[JsonObject]) -> Iterator[Difference]:
    """Yield what changed of the variables that a package reads; values are never among them."""
    then = {str(item.get("name")): item for item in before}
    now = {str(item.get("name")): item for item in after}
    for name in dict.fromkeys([*then, *now]):
        old, new = then.get(name), now.get(name)
        if old == new:
            continue
        was, must = _is_required(old), _is_required(new)
        if new is None:
            told = "is not read any more"
        elif old is None:
            told = "is read now" if not must else "is read now and has to be set"
        elif was != must:
            told = "has to be set now" if must else "need not be set any more"
        else:
            told = "is described in other words"
        yield found(
            f"$.env.{name}",
            f"The variable {name} {told}.",
            kind=kind_of(old, new),
            breaking=must and not was,
            text=old is not None and new is not None and was == must,
            before=old,
            after=new,
        )


def _is_required(variable: JsonObject | None) -> bool:
    return variable is not None and bool(variable.get("required", True))


def value_differences(before: JsonValue, after: JsonValue, path: str) -> Iterator[Difference]:
    """Yield what changed between two values that have no shape of their own, key by key."""
    if before == after:
        return
    if not isinstance(before or {}, dict) or not isinstance(after or {}, dict):
        name = path.removeprefix("$.")
        words = {
            Kind.ADDED: f"is {said(after)} now",
            Kind.REMOVED: "is gone",
            Kind.CHANGED: f"is {said(after)} now; it was {said(before)}",
        }
        kind = kind_of(before, after)
        yield found(path, f"“{name}” {words[kind]}.", kind=kind, before=before, after=after)
        return
    then, now = before or {}, after or {}
    for name in dict.fromkeys([*then, *now]):
        yield from value_differences(then.get(name), now.get(name), f"{path}.{name}")
