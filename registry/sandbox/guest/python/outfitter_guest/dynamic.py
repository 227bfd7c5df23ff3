"""Tools that are classes with a declaration of their own: `DynamicTool` and what has its shape."""

import asyncio
import inspect
import os
from collections.abc import Iterable
from typing import Any

from .adk_schema import json_schema
from .calling import Answer, Json, NotOffered, settled, with_as_many
from .channel import UNAVAILABLE, Refusal
from .dynamic_tool import ToolContext
from .interpolation import interpolated


def is_dynamic(value: Any) -> bool:
    """Tell whether a class or an object has the shape of a dynamic tool."""
    runs = callable(getattr(value, "_run_async_impl", None)) or callable(
        getattr(value, "run_async", None)
    )
    return runs and callable(getattr(value, "_get_declaration", None))


class Component:
    """What `init` and `cleanup` get for the agent that the original hands them."""

    log_identifier = "[outfitter]"

    def get_config(self, _key: str, default: Any = None) -> Any:
        """Return the default: there is no configuration but the tool's own."""
        return default


class DynamicAdapter:
    """One dynamic tool, made of its class (or found as an object)."""

    def __init__(self, name: str, made_of: Any, options: Json) -> None:
        self._name = name
        self._options = options
        self._missing: set[str] = set()
        self._config = interpolated(options.get("tool_config") or {}, self._missing)
        self._tool = self._instance(made_of)
        self._declaration = self._declared()
        self.export = str(self._field("name") or getattr(self._tool, "tool_name", "") or name)
        self.aliases = [name] if name != self.export else []

    def _instance(self, made_of: Any) -> Any:
        if not isinstance(made_of, type):
            return made_of
        model = getattr(made_of, "config_model", None)
        if model is not None:
            self._config = self._validated(model)
        parameters = inspect.signature(made_of).parameters
        if "tool_config" in parameters:
            return made_of(tool_config=self._config)
        return with_as_many(made_of, self._config)

    def _validated(self, model: Any) -> Any:
        """Fit the configuration into its model; its values, perhaps secret, are not repeated."""
        try:
            return model.model_validate(self._config)
        except Exception as error:
            details = getattr(error, "errors", None)
            if not callable(details):
                raise
            told = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'tool_config'}: {item['msg']}"
                for item in details(include_input=False, include_url=False)
            )
            reason = f"Its configuration does not fit: {told}.{self._unset()}"
            raise NotOffered(reason, self._name) from error

    def _declared(self) -> Any:
        declaration = self._tool._get_declaration()
        if declaration is None:
            reason = str(getattr(self._tool, "unavailable_reason", "") or "")
            said = reason or "It does not offer itself with the present configuration."
            name = getattr(self._tool, "tool_name", None)
            raise NotOffered(f"{said}{self._unset()}", str(name or self._name))
        return declaration

    def _unset(self) -> str:
        names = ", ".join(sorted(self._missing))
        return f" Not set: {names}." if names else ""

    def _field(self, name: str) -> Any:
        if isinstance(self._declaration, dict):
            return self._declaration.get(name)
        return getattr(self._declaration, name, None)

    def describe(self) -> Json:
        parameters = self._field("parameters")
        if parameters is None:
            parameters = self._field("parameters_json_schema")
        description = self._field("description") or getattr(self._tool, "tool_description", "")
        raw = [*self._names("raw_string_args"), *(self._options.get("raw_string_args") or ())]
        return {
            "description": str(description or ""),
            "inputSchema": json_schema(parameters),
            "rawStringArgs": list(dict.fromkeys(raw)),
            "requiredScopes": self._names("required_scopes"),
        }

    def _names(self, attribute: str) -> list[str]:
        found = getattr(self._tool, attribute, None)
        return [str(name) for name in found] if isinstance(found, Iterable) else []

    def call(self, arguments: Json) -> Answer:
        context = ToolContext(self.export)
        output = asyncio.run(self._run(arguments, context))
        return output, context.saved_artifacts()

    async def _run(self, arguments: Json, context: ToolContext) -> Any:
        component = Component()
        if callable(getattr(self._tool, "init", None)):
            await settled(with_as_many(self._tool.init, component, self._config))
        try:
            return await settled(self._called(arguments, context))
        finally:
            if callable(getattr(self._tool, "cleanup", None)):
                await settled(with_as_many(self._tool.cleanup, component, self._config))

    def _called(self, arguments: Json, context: ToolContext) -> Any:
        run = getattr(self._tool, "_run_async_impl", None)
        if run is None:
            return self._tool.run_async(args=arguments, tool_context=context)
        credential = os.environ.get(self._options.get("credential") or "")
        signature = inspect.signature(run)
        values = {"args": arguments, "tool_context": context, "credential": credential}
        try:
            signature.bind(**values)
        except TypeError:
            return with_as_many(run, *values.values())
        return run(**values)


def refuse(error: NotOffered, name: str) -> Refusal:
    """Return the error answer of a call of a tool that is not on offer."""
    return Refusal(UNAVAILABLE, f"“{name}” is not offered: {error}")
