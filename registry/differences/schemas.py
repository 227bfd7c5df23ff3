"""What changed between two JSON Schemas, parameter by parameter.

For what goes in, asking for more is breaking; for what comes out, promising less is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.differences.found import Difference, Kind, found
from registry.differences.normal import (
    as_branches,
    branches_of,
    normal,
    properties_of,
    required_of,
    types_of,
)
from registry.differences.rules import field_differences, kinds_in_words

MOST_VISITED = 5_000
"""Places of two schemas that are compared; a larger schema is compared up to there."""

DEEPEST = 40
DEFINITIONS = ("$defs", "definitions")


@dataclass(kw_only=True)
class Comparison:
    """Two whole schemas, which references are followed in, and what was compared so far."""

    before: JsonSchema
    after: JsonSchema
    goes_in: bool
    same_definitions: bool
    visited: int = 0
    open: set[tuple[str, str]] = field(default_factory=set)


def schema_differences(
    before: JsonSchema, after: JsonSchema, *, goes_in: bool
) -> Iterator[Difference]:
    """Yield what changed from one schema to the other; `goes_in` tells arguments from answers."""
    whole = Comparison(
        before=before,
        after=after,
        goes_in=goes_in,
        same_definitions=all(before.get(name) == after.get(name) for name in DEFINITIONS),
    )
    yield from _compared(whole, before, after)


def _compared(
    whole: Comparison, before: JsonValue, after: JsonValue, path: str = "$"
) -> Iterator[Difference]:
    if before == after and whole.same_definitions:
        return
    pair = (_reference(before), _reference(after))
    repeats = pair in whole.open and pair != ("", "")
    whole.visited += 1
    if repeats or whole.visited > MOST_VISITED or path.count(".") > DEEPEST:
        return
    then, now = normal(whole.before, before), normal(whole.after, after)
    whole.open.add(pair)
    if branches_of(whole.before, then) or branches_of(whole.after, now):
        yield from _alternatives(whole, then, now, path)
    else:
        yield from field_differences(then, now, path, goes_in=whole.goes_in)
    yield from _parameters(whole, then, now, path)
    yield from _items(whole, then, now, path)
    whole.open.discard(pair)


def _reference(schema: JsonValue) -> str:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return reference if isinstance(reference, str) else ""


def _parameters(
    whole: Comparison, before: JsonObject, after: JsonObject, path: str
) -> Iterator[Difference]:
    old, new = properties_of(before), properties_of(after)
    was, now = required_of(before), required_of(after)
    closed = after.get("additionalProperties") is False
    for name in [*old, *(name for name in new if name not in old)]:
        place = _step(path, name)
        if name not in new:
            yield _removed(whole, place, old[name], closed=closed)
        elif name not in old:
            schema = normal(whole.after, new[name])
            yield _added(whole, place, schema, required=name in now)
        else:
            if (name in was) != (name in now):
                yield _duty(whole, place, normal(whole.after, new[name]), required=name in now)
            yield from _compared(whole, old[name], new[name], place)
    for name in sorted((was ^ now) - set(old) - set(new)):
        yield _duty(whole, _step(path, name), {}, required=name in now)
    yield from _others(whole, before, after, path)


def _added(whole: Comparison, path: str, schema: JsonObject, *, required: bool) -> Difference:
    must = required and "default" not in schema
    what = kinds_in_words(types_of(schema))
    if not whole.goes_in:
        told = f"{_named(path)} is new in the answer ({what})."
    elif required:
        default = "" if must else ", with a default"
        told = f"{_named(path)} is new and required{default} ({what})."
    else:
        told = f"{_named(path)} is new and optional ({what})."
    breaking = whole.goes_in and must
    return found(path, told, kind=Kind.ADDED, after=schema, breaking=breaking)


def _removed(whole: Comparison, path: str, schema: JsonValue, *, closed: bool) -> Difference:
    if not whole.goes_in:
        told, breaking = f"{_named(path)} is not in the answer any more.", True
    elif closed:
        told, breaking = f"{_named(path)} is gone; calls that send it are refused.", True
    else:
        told, breaking = f"{_named(path)} is gone; what calls send for it is not declared.", False
    return found(path, told, kind=Kind.REMOVED, before=schema, breaking=breaking)


def _duty(whole: Comparison, path: str, schema: JsonObject, *, required: bool) -> Difference:
    filled = whole.goes_in and "default" in schema
    if whole.goes_in:
        told = "is required now" if required else "is no longer required"
        told += ", and filled with its default" if required and filled else ""
        breaking = required and not filled
    else:
        told = "is always in the answer now" if required else "may be missing from the answer now"
        breaking = not required
    return found(
        path,
        f"{_named(path)} {told}.",
        breaking=breaking,
        before={"required": not required},
        after={"required": required},
    )


def _others(
    whole: Comparison, before: JsonObject, after: JsonObject, path: str
) -> Iterator[Difference]:
    """Tell whether parameters that are not named are taken, and which."""
    then, now = (schema.get("additionalProperties", True) for schema in (before, after))
    if isinstance(then, dict) and isinstance(now, dict):
        yield from _compared(whole, then, now, f"{path}.*")
        return
    if then == now or "object" not in types_of(after):
        return
    narrower = now is False or (then is True and isinstance(now, dict))
    words = {True: "any", False: "no"}
    told = words.get(now, "some") if isinstance(now, bool) else "some"
    yield found(
        f"{path}.*",
        f"{_named(path, 'The input' if whole.goes_in else 'The answer')} takes {told} parameters "
        "beside those it names."
        if whole.goes_in
        else f"{_named(path, 'The answer')} may hold {told} values beside those it names.",
        breaking=narrower and whole.goes_in,
        before=then,
        after=now,
    )


def _items(
    whole: Comparison, before: JsonObject, after: JsonObject, path: str
) -> Iterator[Difference]:
    if "items" in before or "items" in after:
        yield from _compared(whole, before.get("items", {}), after.get("items", {}), f"{path}[]")
    lists = [schema.get("prefixItems", []) for schema in (before, after)]
    if all(isinstance(items, list) for items in lists):
        for index in range(max(map(len, lists))):
            then, now = (items[index] if index < len(items) else {} for items in lists)
            yield from _compared(whole, then, now, f"{path}[{index}]")
    patterns = [schema.get("patternProperties", {}) for schema in (before, after)]
    if all(isinstance(named, dict) for named in patterns):
        for name in dict.fromkeys([*patterns[0], *patterns[1]]):
            then, now = (named.get(name, {}) for named in patterns)
            yield from _compared(whole, then, now, _step(path, f"/{name}/"))


def _alternatives(
    whole: Comparison, before: JsonObject, after: JsonObject, path: str
) -> Iterator[Difference]:
    """Pair the forms of both by what they are; what has no partner came or went."""
    old = branches_of(whole.before, before) or as_branches(before)
    new = branches_of(whole.after, after) or as_branches(after)
    gone = [form for form in old if form not in new]
    came = [form for form in new if form not in old]
    for form in list(gone):
        partner = next((other for other in came if _alike(form, other)), None)
        if partner is None:
            continue
        gone.remove(form)
        came.remove(partner)
        place = f"{path}<{_form(partner)}>" if len(new) > 1 else path
        yield from _compared(whole, form, partner, place)
    for form in gone:
        told = f"{_named(path)} can no longer be {_form(form)}."
        yield found(path, told, kind=Kind.REMOVED, before=form, breaking=whole.goes_in)
    for form in came:
        told = f"{_named(path)} can also be {_form(form)} now."
        yield found(path, told, kind=Kind.ADDED, after=form, breaking=not whole.goes_in)
    yield from field_differences(_told(before), _told(after), path, goes_in=whole.goes_in)


def _told(schema: JsonObject) -> JsonObject:
    """Return what is said of a schema but for its forms."""
    return {
        name: schema[name] for name in ("title", "description", "default") if name in schema
    } | {"type": []}


def _alike(one: JsonObject, other: JsonObject) -> bool:
    names = (one.get("title"), other.get("title"))
    if all(names):
        return names[0] == names[1]
    return types_of(one) == types_of(other)


def _form(schema: JsonObject) -> str:
    title = schema.get("title")
    return str(title) if title else kinds_in_words(types_of(schema))


def _step(path: str, name: str) -> str:
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{json.dumps(name)}]"


def _named(path: str, root: str = "The input") -> str:
    return f"“{path.removeprefix('$.')}”" if path != "$" else root
