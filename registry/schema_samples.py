"""Values to begin with: of the right type, where a schema proposes none of its own."""

from config.lib.types import JsonObject, JsonValue


def sample_of(schema: JsonValue) -> JsonValue:
    """Return the value that a schema proposes, else a short one of its type."""
    if not isinstance(schema, dict):
        return "text"
    for told in ("default", "const"):
        if told in schema:
            return schema[told]
    for several in ("examples", "enum"):
        if isinstance(schema.get(several), list) and schema[several]:
            return schema[several][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    values: JsonObject = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    return values.get(str(kind), "text")


def required_samples(schema: JsonObject) -> JsonObject:
    """Return a value for each property that a schema of an object requires."""
    known, required = schema.get("properties"), schema.get("required")
    if not isinstance(known, dict) or not isinstance(required, list):
        return {}
    return {name: sample_of(known.get(name)) for name in required if isinstance(name, str)}
