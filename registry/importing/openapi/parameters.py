"""The parameters of an operation: an argument for each, and the template that sends it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry.importing.openapi.inlining import Inliner
from registry.importing.openapi.naming import argument_name
from registry.importing.openapi.references import CannotTakeError, References

IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
"""OpenAPI says that these are no parameters."""

SET_BY_CLIENT = frozenset({"host", "content-length", "connection", "accept-encoding", "cookie"})
SAFE_IN_PATH = "/:@!$&'()*+,;=-._~%?"
DELIMITERS = {"form": ",", "simple": ",", "spaceDelimited": " ", "pipeDelimited": "|"}


@dataclass
class Inputs:
    """What an operation takes so far, and the request that its arguments make."""

    properties: dict[str, JsonSchema] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, schema: JsonSchema, *, required: bool) -> str:
        """Add an argument and return its name."""
        argument = argument_name(name, self.taken)
        self.properties[argument] = schema
        if required:
            self.required.append(argument)
        return argument

    @property
    def schema(self) -> JsonSchema:
        """Return the input schema of all arguments."""
        made: JsonObject = {"type": "object", "properties": self.properties}
        if self.required:
            made["required"] = self.required
        return {**made, "additionalProperties": False}


class Parameters:
    """Reads the parameters of one document's operations."""

    def __init__(self, references: References, inliner: Inliner) -> None:
        self._references = references
        self._inliner = inliner

    def read(
        self,
        item: JsonObject,
        operation: JsonObject,
        *,
        paths: tuple[str, str],
        secured: frozenset[tuple[str, str]],
    ) -> Inputs:
        """Return the inputs of an operation; its own parameters win over the path item's.

        `paths` are the places of the path item and of the operation; `secured` parameters are
        sent by the sign-in. Raises CannotTakeError.
        """
        found: dict[tuple[str, str], tuple[JsonObject, str]] = {}
        for holder, path in zip((item, operation), paths, strict=True):
            given = holder.get("parameters", [])
            if not isinstance(given, list):
                raise CannotTakeError(f"{path}.parameters", "This must be a list of parameters.")
            for index, raw in enumerate(given):
                place = f"{path}.parameters[{index}]"
                parameter = self._references.followed(raw, place)
                name, where = parameter.get("name"), parameter.get("in")
                if not isinstance(name, str) or not name:
                    raise CannotTakeError(f"{place}.name", "A parameter must have a name.")
                if where not in ("path", "query", "header", "cookie"):
                    raise CannotTakeError(
                        f"{place}.in", "A parameter is in path, query, header or cookie."
                    )
                found[where, name] = parameter, place
        inputs = Inputs()
        for (where, name), (parameter, place) in found.items():
            if (where, name.lower()) in secured:
                continue
            if where == "header" and name.lower() in IGNORED_HEADERS:
                continue
            self._add(inputs, parameter, where, place)
        return inputs

    def _add(self, inputs: Inputs, parameter: JsonObject, where: str, place: str) -> None:
        name, required = parameter["name"], parameter.get("required") is True or where == "path"
        if where == "header" and name.lower() in SET_BY_CLIENT:
            if required:
                raise CannotTakeError(place, f"The header {name} is set when a request is sent.")
            inputs.notes.append(f"The header {name} is left out: it is set by the request.")
            return
        as_json = "content" in parameter
        schema, notes = self._schema(parameter, place)
        inputs.notes += notes
        style = parameter.get("style") or ("form" if where in ("query", "cookie") else "simple")
        explode = parameter.get("explode", style == "form")
        if as_json:
            argument = inputs.add(name, schema, required=required)
            self._put(inputs, where, name, json_text(argument))
        elif _is_a(schema, "object"):
            self._object(inputs, (where, name), schema, (style, explode), required, place)
        else:
            argument = inputs.add(name, schema, required=required)
            template = _value(argument, schema, (where, name), (style, explode), place)
            self._put(inputs, where, name, template)

    def _schema(self, parameter: JsonObject, place: str) -> tuple[JsonSchema, tuple[str, ...]]:
        given, path = parameter.get("schema", {}), f"{place}.schema"
        content = parameter.get("content")
        if isinstance(content, Mapping) and content:
            media, entry = next(iter(content.items()))
            if "json" not in str(media):
                raise CannotTakeError(
                    f"{place}.content", f"A parameter of type {str(media)[:60]} cannot be sent."
                )
            given, path = (entry or {}).get("schema", {}), f"{place}.content"
        inlined = self._inliner.inlined(given, path, "request")
        schema = inlined.schema if isinstance(inlined.schema, dict) else {}
        told = parameter.get("description")
        if isinstance(told, str) and told.strip():
            schema = {**schema, "description": told.strip()[:2_000]}
        return schema, inlined.notes

    def _object(
        self,
        inputs: Inputs,
        target: tuple[str, str],
        schema: JsonSchema,
        form: tuple[str, bool],
        required: bool,
        place: str,
    ) -> None:
        """An object becomes its properties: `filter[name]` (deepObject) or `name` (form)."""
        (where, name), (style, explode) = target, form
        members = members_of(schema)
        in_query = where in ("query", "cookie") and (style == "deepObject" or explode)
        if not in_query or not members:
            raise CannotTakeError(
                place,
                f"The object “{name}” cannot be sent in the {where} in the style “{style}”"
                + ("" if members else " without named properties")
                + ".",
            )
        argument = inputs.add(name, schema, required=required)
        for member, inner in members.items():
            sent = f"{name}[{member}]" if style == "deepObject" else member
            expression = f"args.{argument}.{_identifier(member)}"
            if _is_a(inner, "object") or any(mark in sent for mark in ("{{", "}}")):
                raise CannotTakeError(place, f"“{sent}” is an object too, which cannot be sent.")
            self._put(inputs, where, sent, f"{{{{ {expression} }}}}")
        if _may_be_plain(schema):
            other = f"[args.{argument}][?type(@) != 'object' && type(@) != 'null'] | [0]"
            self._put(inputs, where, name, f"{{{{ {other} }}}}")

    def _put(self, inputs: Inputs, where: str, name: str, template: str) -> None:
        kept = {
            "path": inputs.path,
            "query": inputs.query,
            "header": inputs.headers,
            "cookie": inputs.cookies,
        }
        kept[where][name] = template


def path_of(path: str, templates: Mapping[str, str], place: str) -> str:
    """Return a path's template: `/pets/{id}` → `/pets/{{ args.id }}`."""
    told = ""
    for index, part in enumerate(re.split(r"\{([^{}]*)\}", path)):
        if index % 2 == 0:
            if "#" in part:
                raise CannotTakeError(place, "What follows # in a path is never sent.")
            told += quote(part, safe=SAFE_IN_PATH)
        elif part in templates:
            told += templates[part]
        else:
            raise CannotTakeError(place, f"The path's “{{{part}}}” is not among the parameters.")
    return told


def json_text(argument: str) -> str:
    """Return the template that sends an argument as JSON text, nothing where there is none."""
    return f"{{{{ [args.{argument}][?@ != `null`].to_string(@) | [0] }}}}"


def members_of(schema: JsonSchema) -> JsonObject:
    """Return the properties of an object, those of all its alternatives together."""
    members = dict(schema.get("properties") or {})
    for key in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(key) or ():
            if isinstance(part, dict):
                members |= members_of(part)
    return members


def _value(
    argument: str, schema: JsonSchema, target: tuple[str, str], form: tuple[str, bool], place: str
) -> str:
    (where, name), (style, explode) = target, form
    plain = f"{{{{ args.{argument} }}}}"
    prefix = {"label": ".", "matrix": f";{quote(name)}="}.get(style, "") if where == "path" else ""
    if not _is_a(schema, "array"):
        return prefix + plain
    if prefix:
        raise CannotTakeError(place, f"A list in the path in the style “{style}” cannot be sent.")
    if where == "query" and explode:
        return plain
    delimiter = DELIMITERS.get(style)
    if delimiter is None:
        raise CannotTakeError(place, f"A list in the style “{str(style)[:40]}” cannot be sent.")
    listed = f"[args.{argument}][?@ != `null`].join('{delimiter}', map(&to_string(@), @)) | [0]"
    return f"{{{{ {listed} }}}}"


def _is_a(schema: JsonValue, kind: str) -> bool:
    """Tell whether a value may be an object, or a list, by what its schema says outright."""
    if not isinstance(schema, dict):
        return False
    named = schema.get("type")
    if named is not None:
        return named == kind or (isinstance(named, list) and kind in named)
    if ("properties" if kind == "object" else "items") in schema:
        return True
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key) or ()]
    return any(_is_a(part, kind) for part in parts)


def _may_be_plain(schema: JsonSchema) -> bool:
    parts = [part for key in ("anyOf", "oneOf") for part in schema.get(key) or ()]
    return any(not _is_a(part, "object") and part != {"type": "null"} for part in parts)


def _identifier(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
