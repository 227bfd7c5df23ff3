"""Parameters as people write them by hand, read as a JSON Schema.

The loose form is `{name: {type, description, …}}`. What is a JSON Schema already stays as it is.
"""

from collections.abc import Iterator

from config.lib.types import JsonObject, JsonSchema, JsonValue

TYPES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "any": "",
    "none": "null",
}
"""Other words for JSON's types, as programmers write them; empty: anything."""

JSON_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})

Problem = tuple[str, str]
"""A place such as `$.parameters.city.type`, and what is wrong there."""


def schema_of(parameters: JsonValue) -> tuple[JsonSchema, list[Problem]]:
    """Return the JSON Schema that parameters mean, and what cannot be read in them.

    In the loose form each is required unless it says `"required": false`, or has a default.
    """
    if not isinstance(parameters, dict):
        return {"type": "object"}, [
            ("$.parameters", "must be an object: {name: {type, description}}")
        ]
    if _is_schema(parameters):
        return parameters, []
    problems: list[Problem] = []
    properties: dict[str, JsonValue] = {}
    required: list[JsonValue] = []
    for name, said in parameters.items():
        one, is_required = _property(said)
        problems += [(f"$.parameters.{name}{place}", told) for place, told in _wrong(said)]
        properties[name] = one
        if is_required:
            required.append(name)
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}, problems


def _is_schema(parameters: JsonObject) -> bool:
    """A parameter is an object, so a text at `type` or `$schema` cannot be one of the name."""
    says = ("type", "$schema", "$ref")
    return any(isinstance(parameters.get(key), str) for key in says) and (
        parameters.get("type") in (None, "object") or "properties" in parameters
    )


def _property(said: JsonValue) -> tuple[JsonSchema, bool]:
    if isinstance(said, str):  # {"expression": "string"}
        return ({"type": kind} if (kind := _type(said)) else {}), True
    if not isinstance(said, dict):
        return {}, True
    one = {key: value for key, value in said.items() if key not in ("required", "optional")}
    if isinstance(said.get("required"), list):  # of an object's own properties
        one["required"] = said["required"]
    if isinstance(one.get("type"), str) and not (kind := _type(one["type"])):
        del one["type"]
    elif isinstance(one.get("type"), str):
        one["type"] = kind
    left_out = said.get("required") is False or said.get("optional") is True
    return one, not left_out and "default" not in said


def _wrong(said: JsonValue) -> Iterator[Problem]:
    known = ", ".join(sorted(JSON_TYPES))
    kind = said if isinstance(said, str) else said.get("type") if isinstance(said, dict) else None
    if not isinstance(said, str | dict):
        yield "", "must be an object {type, description}, or the name of a type"
    elif isinstance(kind, str) and kind.lower() not in JSON_TYPES | TYPES.keys():
        yield ("" if isinstance(said, str) else ".type"), f"is no type (types: {known})"
    if isinstance(said, dict):
        for key in ("required", "optional"):
            if key in said and not isinstance(said[key], bool | list):
                yield f".{key}", "must be true or false"


def _type(word: str) -> str:
    return TYPES.get(word.lower(), word.lower())
