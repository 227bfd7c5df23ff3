"""Say in plain words why a value does not fit its schema.

A message never repeats the value, which may be a secret.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from jsonschema import ValidationError

from config.lib.types import JsonValue

MAX_CHOICES = 20
MAX_FORMS = 4
MAX_LENGTH = 200
MAX_READ = 100
"""Problems of an alternative that are read to tell its forms."""

_TYPE_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def describe(error: ValidationError) -> str:
    """Return what is wrong, without the name of the field: it follows `field: `."""
    keyword, limit, value = str(error.validator), error.validator_value, error.instance
    if keyword == "None":  # the schema `false` allows nothing, by no keyword
        return "is not allowed here"
    if keyword in {"anyOf", "oneOf"} and error.context:
        forms = list(dict.fromkeys(describe(inner) for inner in error.context[:MAX_READ]))
        return "fits none of the allowed forms (" + ", or ".join(forms[:MAX_FORMS]) + ")"
    if keyword in _MESSAGES:
        return _MESSAGES[keyword](limit, value)
    if keyword in {"pattern", "additionalProperties"}:
        return error.message
    return f"does not fit the rule “{keyword}”"


def type_words(types: Iterable[str]) -> str:
    """Return JSON types in plain words: `text or null`."""
    return " or ".join(_TYPE_NAMES.get(name, name) for name in types)


def _type(limit: Any, value: JsonValue) -> str:
    wanted = [limit] if isinstance(limit, str) else list(limit)
    return f"must be {type_words(wanted)}, not {type_of(value)}"


def type_of(value: JsonValue) -> str:
    """Return the value's JSON type in plain words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"


def _enum(limit: Any, _: JsonValue) -> str:
    more = ", …" if len(limit) > MAX_CHOICES else ""
    return "must be one of: " + ", ".join(_short(item) for item in limit[:MAX_CHOICES]) + more


def _short(value: JsonValue) -> str:
    text = str(value)
    return text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH] + "…"


_MESSAGES: dict[str, Callable[[Any, JsonValue], str]] = {
    "type": _type,
    "enum": _enum,
    "required": lambda limit, value: (
        "needs " + ", ".join(islice((f"“{x}”" for x in limit if x not in value), MAX_CHOICES))
    ),
    "const": lambda limit, _: f"must be {_short(limit)}",
    "minimum": lambda limit, _: f"must be at least {limit}",
    "maximum": lambda limit, _: f"must be at most {limit}",
    "exclusiveMinimum": lambda limit, _: f"must be more than {limit}",
    "exclusiveMaximum": lambda limit, _: f"must be less than {limit}",
    "multipleOf": lambda limit, _: f"must be a multiple of {limit}",
    "minLength": lambda limit, _: f"must have at least {limit} characters",
    "maxLength": lambda limit, _: f"must have at most {limit} characters",
    "minItems": lambda limit, _: f"must have at least {limit} items",
    "maxItems": lambda limit, _: f"must have at most {limit} items",
    "uniqueItems": lambda _, __: "must not hold the same item twice",
    "minProperties": lambda limit, _: f"must have at least {limit} entries",
    "maxProperties": lambda limit, _: f"must have at most {limit} entries",
}
