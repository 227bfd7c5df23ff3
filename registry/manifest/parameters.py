"""Turn a tool's declared parameters and answer into JSON Schema."""

from typing import Any

from config.lib.types import JsonObject
from registry.declared_types import is_optional_type, schema_of_type
from registry.manifest.findings import Findings, inside, meant, quoted
from registry.manifest.items import items_of
from registry.manifest.shapes import KEPT_OF_JSON_SCHEMA, Parameter, Returns
from registry.manifest.vocabulary import TYPES
from registry.schemas import property_problems

PARAMETER = 'an object: {"name": "url", "type": "string", "required": true}'
MOST_PARAMETERS = 100
DEEPEST = 8
TYPE_NAMES = (
    *("string", "number", "integer", "boolean", "object", "array"),
    *("string[]", "number[]", "object[]", "boolean[]"),
)


def input_schema_of(parameters: Any, path: str, findings: Findings) -> JsonObject | None:
    """Return the schema of a tool's input, or None where no parameters are told."""
    if parameters is None:
        return None
    return _object_of(parameters, path, findings, DEEPEST)


def output_schema_of(
    returns: JsonObject | None, path: str, findings: Findings
) -> JsonObject | None:
    """Return the schema of `returns`; a type's mere name says nothing that can be checked."""
    if not returns:
        return None
    if _is_json_schema(returns):
        return returns
    shape = findings.fit(Returns, returns, path)
    if not shape.type:
        findings.advise(path, 'It has no type. Write "type": "object", or what it is.')
    schema = schema_of_type(shape.type) or ({"title": shape.type} if shape.type else {})
    return {**schema, "description": shape.description} if shape.description else schema


def _is_json_schema(declared: JsonObject) -> bool:
    """Tell JSON Schema from a map of parameters: such a map has no type of its own."""
    return isinstance(declared.get("properties"), dict) and declared.get("type", "object") == (
        "object"
    )


def _object_of(declared: Any, path: str, findings: Findings, depth: int) -> JsonObject:
    if isinstance(declared, dict) and _is_json_schema(declared):
        return {"type": "object", **declared}
    properties: JsonObject = {}
    required = []
    items = items_of(declared, path, findings, text_is="type", write=PARAMETER)
    if len(items) > MOST_PARAMETERS:
        findings.add(path, f"Only the first {MOST_PARAMETERS} parameters are read.")
    for item, where in items[:MOST_PARAMETERS]:
        parameter = findings.fit(Parameter, item, where)
        name = parameter.name.strip().removesuffix("?")
        if not name:
            findings.missing(inside(where, "name"), 'a name such as "url"')
            continue
        if name in properties:
            findings.add(inside(where, "name"), f"“{quoted(name)}” stands twice; the first counts.")
            continue
        properties[name] = _property(parameter, where, findings, depth)
        if _is_required(parameter):
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _is_required(parameter: Parameter) -> bool:
    told = parameter.required
    if told is None:
        return parameter.optional is False
    return told and not parameter.name.endswith("?") and not is_optional_type(_words(parameter))


def _words(parameter: Parameter) -> str:
    """Return the type in one notation: JSON Schema's list of types is a union."""
    told = parameter.type
    return told if isinstance(told, str) else " | ".join(told)


def _property(parameter: Parameter, path: str, findings: Findings, depth: int) -> JsonObject:
    schema = _typed(parameter, path, findings, depth)
    if parameter.enum:
        schema = {**schema, "enum": parameter.enum}
    schema |= {
        name: value
        for name in KEPT_OF_JSON_SCHEMA
        if name in parameter.model_fields_set and (value := getattr(parameter, name)) is not None
    }
    if parameter.description:
        schema["description"] = parameter.description
    else:
        told = "It has no description. Models read it to fill the parameter in."
        findings.advise(path, told)
    if parameter.default is not None:
        schema["default"] = parameter.default
        for problem in property_problems({"properties": {"it": schema}}, "it", parameter.default):
            where = inside(path, "default")
            findings.add(where, f"It does not fit the parameter: {problem.message}.")
            break
    return schema


def _typed(parameter: Parameter, path: str, findings: Findings, depth: int) -> JsonObject:
    words = _words(parameter)
    schema = schema_of_type(words)
    if schema is None:
        told = (
            f"The type “{quoted(words)}” is not known; it is taken as a string. "
            f"Write {TYPES}.{meant(words, TYPE_NAMES)}"
        )
        findings.add(inside(path, "type"), told)
        schema = {"type": "string"}
    if depth == 0:
        findings.add(path, f"It is nested deeper than {DEEPEST} levels, which are not read.")
        return schema
    if parameter.properties is not None:
        where = inside(path, "properties")
        schema = {**schema, **_object_of(parameter.properties, where, findings, depth - 1)}
    if parameter.items is not None and "items" not in schema:
        where = inside(path, "items")
        items = {"type": parameter.items} if isinstance(parameter.items, str) else parameter.items
        inner = findings.fit(Parameter, {"name": "items", "description": "-", **items}, where)
        item = _property(inner, where, findings, depth - 1)
        if "description" not in items:
            item.pop("description", None)
        schema = {**schema, "items": item}
    return schema
