"""What changed in one place of a schema: its types, values, bounds, default and words."""

from collections.abc import Iterable, Iterator

from config.lib.types import JsonObject, JsonValue
from registry.differences.found import Difference, found, kind_of, said
from registry.differences.normal import TYPES, types_of, values_of

_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}

_LOWER = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "minLength": "at least {} characters long",
    "minItems": "a list of at least {}",
    "minProperties": "an object of at least {} entries",
}
_UPPER = {
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "maxLength": "at most {} characters long",
    "maxItems": "a list of at most {}",
    "maxProperties": "an object of at most {} entries",
}
_SAID = ("title", "examples", "deprecated", "format", "contentEncoding", "contentMediaType")
_TOLD_ELSEWHERE = frozenset(
    {
        *_LOWER,
        *_UPPER,
        *_SAID,
        *("type", "enum", "const", "default", "description", "required", "properties", "items"),
        *("additionalProperties", "prefixItems", "patternProperties", "anyOf", "oneOf", "allOf"),
        *("$defs", "definitions", "$schema", "$id", "$comment", "$ref"),
    }
)
"""Keywords with words of their own; all others are told as rules."""


def kinds_in_words(types: Iterable[str]) -> str:
    """Return JSON types in plain words: “text or null”."""
    named = set(types)
    if named >= set(TYPES):
        return "anything"
    if "number" in named:
        named.discard("integer")
    return " or ".join(_KINDS.get(name, name) for name in sorted(named)) or "nothing"


def field_differences(
    before: JsonObject, after: JsonObject, path: str, *, goes_in: bool
) -> Iterator[Difference]:
    """Yield what changed between two normal schemas in this one place."""
    name = f"“{path.removeprefix('$.')}”" if path != "$" else "It"
    yield from _types(before, after, path, name, goes_in=goes_in)
    yield from _values(before, after, path, name, goes_in=goes_in)
    yield from _bounds(before, after, path, name, goes_in=goes_in)
    yield from _default(before, after, path, name)
    yield from _words(before, after, path, name)
    yield from _rules(before, after, path, name, goes_in=goes_in)


def _types(
    before: JsonObject, after: JsonObject, path: str, name: str, *, goes_in: bool
) -> Iterator[Difference]:
    then, now = types_of(before), types_of(after)
    if then == now:
        return
    kept, grown = then <= now, now <= then
    told = f"{name} is {kinds_in_words(now)} now; it was {kinds_in_words(then)}."
    breaking = not kept if goes_in else not grown
    yield found(path, told, breaking=breaking, before=_type(before), after=_type(after))


def _type(schema: JsonObject) -> JsonValue:
    return {"type": schema["type"]} if "type" in schema else schema


def _values(
    before: JsonObject, after: JsonObject, path: str, name: str, *, goes_in: bool
) -> Iterator[Difference]:
    then, now = values_of(before), values_of(after)
    if then == now:
        return
    if then is None or now is None:
        told = "takes only listed values now" if then is None else "is free to be any value now"
        breaking = goes_in and then is None
        yield found(path, f"{name} {told}.", breaking=breaking, before=then, after=now)
        return
    gone = [value for value in then if value not in now]
    came = [value for value in now if value not in then]
    if gone:
        told = f"{name} can no longer be {said(gone)}."
        yield found(path, told, breaking=goes_in, before=then, after=now)
    if came:
        yield found(path, f"{name} can also be {said(came)} now.", before=then, after=now)


def _bounds(
    before: JsonObject, after: JsonObject, path: str, name: str, *, goes_in: bool
) -> Iterator[Difference]:
    for keyword, words in {**_LOWER, **_UPPER}.items():
        then, now = before.get(keyword), after.get(keyword)
        if then == now:
            continue
        if now is None:
            told = f"{name} need not be {words.format(said(then))} any more."
            narrower = False
        else:
            was = f"; it was {words.format(said(then))}" if then is not None else ""
            told = f"{name} must be {words.format(said(now))}{was}."
            narrower = then is None or _is_narrower(keyword, then, now)
        yield found(
            path,
            told,
            kind=kind_of(then, now),
            breaking=narrower and goes_in,
            before={keyword: then},
            after={keyword: now},
        )


def _is_narrower(keyword: str, then: JsonValue, now: JsonValue) -> bool:
    if not isinstance(then, int | float) or not isinstance(now, int | float):
        return True  # draft 4 has true and false here
    return now > then if keyword in _LOWER else now < then


def _default(before: JsonObject, after: JsonObject, path: str, name: str) -> Iterator[Difference]:
    has = ("default" in before, "default" in after)
    then, now = before.get("default"), after.get("default")
    if has == (False, False) or (has == (True, True) and then == now):
        return
    if not has[1]:
        told = f"{name} has no default any more; it was {said(then)}."
    else:
        was = f"; it was {said(then)}" if has[0] else ""
        told = f"{name} is {said(now)} where it is left out{was}."
    yield found(path, told, before={"default": then}, after={"default": now})


def _words(before: JsonObject, after: JsonObject, path: str, name: str) -> Iterator[Difference]:
    then, now = before.get("description"), after.get("description")
    if then != now:
        told = {True: "is described now", False: "is described in other words"}[not then]
        told = told if now else "is not described any more"
        sentence = f"{name} {told}."
        yield found(path, sentence, text=True, kind=kind_of(then, now), before=then, after=now)
    for keyword in _SAID:
        then, now = before.get(keyword), after.get(keyword)
        if then != now:
            sentence = f"{name} has {_article(keyword)} now."
            if now is None:
                sentence = f"{name} has no {keyword} any more."
            elif then is not None:
                sentence = f"{name} has another {keyword.rstrip('s')} now."
            yield found(
                path,
                sentence,
                text=True,
                kind=kind_of(then, now),
                before={keyword: then},
                after={keyword: now},
            )


def _article(keyword: str) -> str:
    return (
        keyword if keyword.endswith("s") else f"{'an' if keyword[0] in 'aeiou' else 'a'} {keyword}"
    )


def _rules(
    before: JsonObject, after: JsonObject, path: str, name: str, *, goes_in: bool
) -> Iterator[Difference]:
    """Tell of keywords whose meaning is not compared: one that came or changed may refuse more."""
    for keyword in sorted({*before, *after} - _TOLD_ELSEWHERE):
        then, now = before.get(keyword), after.get(keyword)
        if then == now or keyword.startswith("x-"):
            continue
        told = {True: "must keep the rule", False: "need not keep the rule"}[now is not None]
        yield found(
            path,
            f"{name} {told} “{keyword}”{' now' if now is not None else ' any more'}.",
            kind=kind_of(then, now),
            breaking=goes_in and now is not None and now is not False,
            before={keyword: then},
            after={keyword: now},
        )
