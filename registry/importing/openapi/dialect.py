"""What the schemas of documents say in other words than JSON Schema 2020-12."""

from config.lib.types import JsonObject, JsonSchema, JsonValue

LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
KEPT = frozenset(
    {"type", "title", "description", "default", "enum", "const", "format", "pattern", "minimum",
     "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
     "minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties",
     "maxProperties", "required", "dependentRequired", "deprecated", "examples",
     "contentEncoding", "contentMediaType"}
)  # fmt: skip
KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
NULL: JsonObject = {"type": "null"}


def usable(key: str, schema: JsonObject) -> bool:
    """Leave out what many documents write that is no JSON Schema, such as `required: true`."""
    value = schema[key]
    match key:
        case "type":
            named = value if isinstance(value, list) else [value]
            return bool(named) and all(isinstance(kind, str) and kind in KINDS for kind in named)
        case "required" | "enum" | "examples":
            return isinstance(value, list)
        case "default":
            expected = KINDS.get(schema["type"]) if isinstance(schema.get("type"), str) else None
            return expected is None or isinstance(value, expected)
        case "title" | "description" | "format" | "pattern":
            return isinstance(value, str)
    return key in KEPT


def merged(schema: JsonSchema) -> JsonSchema:
    """Return a schema whose `allOf` only adds properties as one object."""
    parts = schema.get("allOf")
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    if not isinstance(parts, list) or not parts:
        return rest if parts == [] else schema
    if len(parts) == 1 and isinstance(parts[0], dict) and not set(rest) & set(parts[0]):
        return {**parts[0], **rest}
    if not all(_only_adds(part) for part in (*parts, rest)):
        return schema
    result: JsonObject = {"type": "object"}
    properties: JsonObject = {}
    required: list[str] = []
    for part in (*parts, rest):
        for name, inner in part.get("properties", {}).items():
            if name in properties and properties[name] != inner:
                properties[name] = {"allOf": [properties[name], inner]}
            else:
                properties[name] = inner
        required += part.get("required", [])
    for key in ("title", "description"):
        if told := rest.get(key) or next((p[key] for p in reversed(parts) if p.get(key)), None):
            result[key] = told
    result["properties"] = properties
    if required:
        result["required"] = list(dict.fromkeys(required))
    return result


def _only_adds(part: JsonValue) -> bool:
    if not isinstance(part, dict) or part.get("type", "object") != "object":
        return False
    fits = isinstance(part.get("properties", {}), dict) and isinstance(
        part.get("required", []), list
    )
    return fits and not set(part) - {
        "type", "properties", "required", "title", "description", "examples", "deprecated"
    }  # fmt: skip


def modern(made: JsonObject, schema: JsonObject) -> JsonObject:
    """Say in JSON Schema 2020-12 what 3.0 says in its own words."""
    for bound, flag in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(made.get(flag), bool) and made.pop(flag) and bound in made:
            made[flag] = made.pop(bound)
    if "example" in schema and "examples" not in made:
        made["examples"] = [schema["example"]]
    if schema.get("nullable") is not True:
        return made
    if isinstance(made.get("enum"), list) and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    if isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    elif any(key in made for key in LISTS):
        return {"anyOf": [made, NULL]}
    return made
