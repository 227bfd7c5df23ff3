"""Read a parameter schema, in whatever form a tool states it, as JSON Schema.

The forms: JSON Schema as a dictionary, `google.genai.types.Schema` (the real one or the guest's),
and a pydantic model. They differ in spelling: `STRING` for `string`, `any_of` for `anyOf`,
`nullable`.
"""

from typing import Any

Schema = dict[str, Any]

SPELLINGS = {
    "any_of": "anyOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
    "exclusive_minimum": "exclusiveMinimum",
    "exclusive_maximum": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "defs": "$defs",
    "ref": "$ref",
}
# What has no meaning in JSON Schema.
LEFT_OUT = ("nullable", "property_ordering", "propertyOrdering", "example")
COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


def json_schema(given: Any) -> Schema:
    """Return JSON Schema; raises TypeError, which names what was given instead."""
    if given is None:
        return {"type": "object", "properties": {}}
    if isinstance(given, type) and hasattr(given, "model_json_schema"):
        found: Schema = given.model_json_schema()
        return found
    return _converted(_fields(given))


def _fields(given: Any) -> Schema:
    if isinstance(given, dict):
        return given
    if hasattr(given, "model_dump"):  # the real Schema is a pydantic model
        dumped: Schema = given.model_dump(exclude_none=True)
        return dumped
    if hasattr(given, "__dict__"):
        return {name: value for name, value in vars(given).items() if value is not None}
    raise TypeError(f"A schema must be an object, and it is a {type(given).__name__}.")


def _converted(fields: Schema) -> Schema:
    schema: Schema = {}
    for name, value in fields.items():
        if value is None or name in LEFT_OUT:
            continue
        keyword = SPELLINGS.get(name, name)
        schema[keyword] = _value(keyword, value)
    if "examples" not in schema and fields.get("example") is not None:
        schema["examples"] = [fields["example"]]
    if fields.get("nullable"):
        _allow_null(schema)
    return schema


def _value(keyword: str, value: Any) -> Any:
    if keyword == "type":
        if isinstance(value, list | tuple):
            return [_type(item) for item in value]
        return _type(value)
    if keyword in ("properties", "$defs", "patternProperties"):
        return {name: _converted(_fields(schema)) for name, schema in value.items()}
    if keyword in ("items", "additionalProperties", "not") and not isinstance(value, bool):
        return _converted(_fields(value))
    if keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        return [_converted(_fields(schema)) for schema in value]
    if keyword in COUNTS:
        return int(value)  # the original has them as texts
    if keyword in ("required", "enum") and isinstance(value, tuple | set):
        return list(value)
    return value


def _type(value: Any) -> str:
    return str(getattr(value, "value", value)).lower()


def _allow_null(schema: Schema) -> None:
    if "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    elif isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
