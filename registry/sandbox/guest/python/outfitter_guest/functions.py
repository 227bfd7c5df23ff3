"""Tools that are plain functions with types and a docstring."""

import inspect
from collections.abc import Callable
from typing import Any

from .annotations import Schemas, Unsupported, with_default
from .building import built
from .calling import Answer, Json, run
from .docstrings import Docstring, read_docstring
from .dynamic_tool import ToolContext
from .hints import type_hints
from .interpolation import interpolated

GIVEN = ("tool_context", "tool_config")
"""Parameters that the guest fills and no caller sees."""
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
WRITTEN: dict[str, Any] = {
    **{"str": str, "string": str, "int": int, "integer": int, "float": float, "number": float},
    **{"bool": bool, "boolean": bool, "list": list, "dict": dict, "array": list, "object": dict},
}


class NoSchema(Exception):
    """A function of which no schema can be made, and why."""


class FunctionAdapter:
    """One function."""

    def __init__(self, name: str, function: Callable[..., Any], options: Json) -> None:
        self.export = name
        self.aliases: list[str] = []
        self._function = function
        self._options = options
        self._signature = inspect.signature(function)

    def _hints(self) -> dict[str, Any]:
        try:
            return type_hints(inspect.unwrap(self._function))
        except Exception as error:
            raise NoSchema(f"Its annotations cannot be read: {error}") from error

    def describe(self) -> Json:
        told = read_docstring(inspect.getdoc(self._function))
        schemas = Schemas()
        hints = self._hints()
        properties: Json = {}
        required: list[str] = []
        for parameter in self._signature.parameters.values():
            schema = self._parameter(parameter, hints, told, schemas)
            if schema is None:
                continue
            properties[parameter.name] = schema
            if parameter.default is parameter.empty:
                required.append(parameter.name)
        schema = {"type": "object", "properties": properties}
        schema |= {"required": required} if required else {}
        schema |= {"$defs": schemas.definitions} if schemas.definitions else {}
        description: Json = {
            "description": told.description or self.export.replace("_", " "),
            "inputSchema": schema,
            "rawStringArgs": list(self._options.get("raw_string_args") or ()),
        }
        output = _output(hints.get("return"))
        return description | ({"outputSchema": output} if output else {})

    def _parameter(
        self,
        parameter: inspect.Parameter,
        hints: dict[str, Any],
        told: Docstring,
        schemas: Schemas,
    ) -> Json | None:
        """Return a parameter's schema; None for one that no caller fills."""
        name = parameter.name
        if parameter.kind in VARIADIC or name in GIVEN:
            return None
        written = told.types.get(name, "")
        annotation = hints.get(name, WRITTEN.get(written.lower()))
        needed = parameter.default is parameter.empty
        if annotation is None and name not in hints:
            if needed and not written:
                raise NoSchema(f"Its parameter “{name}” has no type.")
            annotation = Any if needed else _type_of(parameter.default)
        try:
            schema = schemas.of(annotation)
        except Unsupported as error:
            if needed:
                raise NoSchema(
                    f"Its parameter “{name}” is a {error}, which JSON cannot say."
                ) from error
            return None
        if told.parameters.get(name):
            schema.setdefault("description", told.parameters[name])
        if not needed:
            with_default(schema, parameter.default)
        return schema

    def call(self, arguments: Json) -> Answer:
        hints = self._hints()
        context = ToolContext(self.export)
        values = self._given(context) | arguments
        positional, named = [], {}
        for parameter in self._signature.parameters.values():
            if parameter.name not in values:
                continue
            value = values.pop(parameter.name)
            if parameter.name not in GIVEN:
                value = built(hints.get(parameter.name, Any), value, parameter.name)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[parameter.name] = value
        output = run(lambda: self._function(*positional, **named))
        return output, context.saved_artifacts()

    def _given(self, context: ToolContext) -> Json:
        config = interpolated(self._options.get("tool_config") or {}, set())
        given = dict(zip(GIVEN, (context, config), strict=True))
        return {name: given[name] for name in GIVEN if name in self._signature.parameters}


def _type_of(default: Any) -> Any:
    return type(default) if type(default) in WRITTEN.values() else Any


def _output(annotation: Any) -> Json | None:
    """Return the schema of what comes back, where one can be made without references."""
    schemas = Schemas()
    try:
        schema = schemas.of(annotation) if annotation is not None else {}
    except Exception:
        return None
    return schema if schema and not schemas.definitions else None
