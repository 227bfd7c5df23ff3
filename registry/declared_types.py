"""Turn the types that a manifest declares in words into JSON Schema.

A manifest says `"type": "string[]"`, `"'markdown' | 'mdx'"` or `"{ url: string; depth?: number }"`;
the notation is TypeScript's.
"""

import re

from config.lib.types import JsonObject

_PLAIN: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "text": {"type": "string"},
    "str": {"type": "string"},
    "number": {"type": "number"},
    "float": {"type": "number"},
    "integer": {"type": "integer"},
    "int": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "bool": {"type": "boolean"},
    "object": {"type": "object"},
    "array": {"type": "array"},
    "null": {"type": "null"},
    "true": {"type": "boolean", "enum": [True]},
    "false": {"type": "boolean", "enum": [False]},
    "any": {},
    "unknown": {},
    "date": {"type": "string", "format": "date-time"},
    "url": {"type": "string", "format": "uri"},
}
_LITERAL = re.compile(r"""^(?:'([^']*)'|"([^"]*)"|`([^`]*)`)$""")
_NUMBER = re.compile(r"^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?$")
_GENERIC_ARRAY = re.compile(r"^(?:Readonly)?(?:Array|Set)<(.+)>$", re.DOTALL)
_PROMISE = re.compile(r"^Promise<(.+)>$", re.DOTALL)
_RECORD = re.compile(r"^(?:Record|Map)<(.+)>$", re.DOTALL)
_MEMBER = re.compile(
    r"""^(?:readonly\s+)?(?:'([^']+)'|"([^"]+)"|([\w$-]+))\s*(\?)?\s*:\s*(.+)$""", re.S
)
_LONGEST = 500
"""Characters of a type that are read; a longer one is no parameter's type but a program."""

_DEEPEST = 12


def schema_of_type(declared: str) -> JsonObject | None:
    """Return the JSON Schema of a declared type, or None when the notation is not known."""
    return None if len(declared) > _LONGEST else _schema(declared, _DEEPEST)


def is_optional_type(declared: str) -> bool:
    """Tell whether a type leaves room for nothing at all: `string | undefined`."""
    if len(declared) > _LONGEST:
        return False
    return "undefined" in _split(_without_brackets(declared.strip()), "|")


def _schema(declared: str, depth: int) -> JsonObject | None:
    if depth == 0:
        return None
    parts = _split(_without_brackets(declared.strip()), "|")
    alternatives = [part for part in parts if part != "undefined"]
    if len(alternatives) != 1:
        return _union(alternatives, depth)
    return _single(alternatives[0], depth)


def _single(text: str, depth: int) -> JsonObject | None:
    text = text.removeprefix("readonly ").strip()
    if text.lower() in _PLAIN:
        return dict(_PLAIN[text.lower()])
    if literal := _LITERAL.match(text):
        return {
            "type": "string",
            "enum": [next(told for told in literal.groups() if told is not None)],
        }
    if _NUMBER.match(text):
        number = float(text) if "." in text else int(text)
        return {"type": "number", "enum": [number]}
    if text.endswith("[]"):
        return _array(text[:-2], depth)
    if generic := _GENERIC_ARRAY.match(text):
        return _array(generic[1], depth)
    if promise := _PROMISE.match(text):
        return _schema(promise[1], depth - 1)
    if record := _RECORD.match(text):
        return _record(record[1], depth)
    if text.startswith("{") and text.endswith("}"):
        return _object(text[1:-1], depth)
    if text.startswith("(") and text.endswith(")"):
        return _schema(text[1:-1], depth - 1)
    return None


def _array(item: str, depth: int) -> JsonObject | None:
    items = _schema(item, depth - 1)
    return None if items is None else {"type": "array", "items": items}


def _record(inside: str, depth: int) -> JsonObject:
    """Return an object whose values have one type, where that type is known."""
    _key, *rest = [*_split(inside, ","), ""]
    values = _schema(rest[0], depth - 1)
    return {"type": "object", "additionalProperties": values} if values else {"type": "object"}


def _object(inside: str, depth: int) -> JsonObject:
    """Return the object that `{ name: type; other?: type }` describes, as far as it can be read."""
    properties: JsonObject = {}
    required = []
    for member in _split(inside, ";,\n"):
        found = _MEMBER.match(member)
        schema = _schema(found[5], depth - 1) if found else None
        if found is None or schema is None:
            return {"type": "object"}
        name = found[1] or found[2] or found[3]
        properties[name] = schema
        if not found[4] and not is_optional_type(found[5]):
            required.append(name)
    if not properties:
        return {"type": "object"}
    named = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **named}


def _union(parts: list[str], depth: int) -> JsonObject | None:
    """Return an `enum` for literals of one type, else `anyOf`; None when a part is not known."""
    schemas = [_single(part, depth) for part in parts]
    known = [schema for schema in schemas if schema is not None]
    if not known or len(known) < len(schemas):
        return None
    merged: list[JsonObject] = []
    for schema in known:
        alike = next((one for one in merged if _same_kind(one, schema)), None)
        if alike is None:
            merged.append(schema)
        else:
            alike["enum"] = [*alike["enum"], *schema["enum"]]
    for schema in merged:
        if schema.get("enum") == [True, False] or schema.get("enum") == [False, True]:
            del schema["enum"]
    return merged[0] if len(merged) == 1 else {"anyOf": merged}


def _same_kind(one: JsonObject, other: JsonObject) -> bool:
    return "enum" in one and "enum" in other and one["type"] == other["type"]


def _without_brackets(text: str) -> str:
    """Take away brackets that go round the whole type, as in `(string | number)`."""
    while text.startswith("(") and text.endswith(")") and _closes_at(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closes_at(text: str) -> int:
    depth = 0
    for index, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return index
    return -1


def _split(text: str, at: str) -> list[str]:
    """Split at every sign of `at` that stands outside quotes and brackets."""
    parts, depth, quote, start = [], 0, "", 0
    for index, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"`":
            quote = sign
        elif sign in "<([{":
            depth += 1
        elif sign in ">)]}":
            depth -= 1
        elif sign in at and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]
