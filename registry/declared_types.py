"""Turn the types that a manifest declares in words into JSON Schema.

A manifest says `"type": "string[]"` or `"'markdown' | 'mdx'"`; the notation is TypeScript's.
"""

import re

from config.lib.types import JsonObject

_PLAIN: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "float": {"type": "number"},
    "integer": {"type": "integer"},
    "int": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "bool": {"type": "boolean"},
    "object": {"type": "object"},
    "array": {"type": "array"},
    "null": {"type": "null"},
    "any": {},
    "unknown": {},
}
_LITERAL = re.compile(r"""^(?:'([^']*)'|"([^"]*)"|`([^`]*)`)$""")
_GENERIC_ARRAY = re.compile(r"^(?:Readonly)?Array<(.+)>$")
_RECORD = re.compile(r"^Record<.+>$|^\{.*\}$", re.DOTALL)
_LONGEST = 500
"""Characters of a type that are read; a longer one is no parameter's type but a program."""


def schema_of_type(declared: str) -> JsonObject | None:
    """Return the JSON Schema of a declared type, or None when the notation is not known."""
    text = declared.strip()
    if len(text) > _LONGEST:
        return None
    text = _without_brackets(text)
    alternatives = [part for part in _split(text) if part != "undefined"]
    if len(alternatives) != 1:
        return _union(alternatives)
    return _single(alternatives[0])


def _single(text: str) -> JsonObject | None:
    if text.lower() in _PLAIN:
        return dict(_PLAIN[text.lower()])
    if literal := _LITERAL.match(text):
        return {"enum": [next(value for value in literal.groups() if value is not None)]}
    if text.endswith("[]"):
        return _array(text[:-2])
    if generic := _GENERIC_ARRAY.match(text):
        return _array(generic[1])
    if _RECORD.match(text):
        return {"type": "object"}
    return None


def _array(item: str) -> JsonObject | None:
    items = schema_of_type(item)
    return None if items is None else {"type": "array", "items": items}


def _union(parts: list[str]) -> JsonObject | None:
    """Return an `enum` for literals only, else `anyOf`; None when a part is not known."""
    schemas = [_single(part) for part in parts]
    known = [schema for schema in schemas if schema is not None]
    if not known or len(known) < len(schemas):
        return None
    if all("enum" in schema for schema in known):
        return {"enum": [schema["enum"][0] for schema in known]}
    return {"anyOf": known}


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


def _split(text: str) -> list[str]:
    """Split at every `|` that stands outside quotes and brackets."""
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
        elif sign == "|" and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]
