"""Tools that are LangChain objects, known by their shape."""

import inspect
from typing import Any

from .adk_schema import json_schema
from .calling import Answer, Json, run
from .interpolation import interpolated


def is_langchain(value: Any) -> bool:
    """Tell whether an object has the shape of LangChain's `BaseTool`."""
    return (
        not isinstance(value, type)
        and isinstance(getattr(value, "name", None), str)
        and isinstance(getattr(value, "description", None), str)
        and hasattr(value, "args_schema")
        and (callable(getattr(value, "ainvoke", None)) or callable(getattr(value, "invoke", None)))
    )


def is_langchain_class(value: Any) -> bool:
    """Tell whether a class makes such objects."""
    fields = getattr(value, "model_fields", None)
    if not isinstance(value, type) or not isinstance(fields, dict) or inspect.isabstract(value):
        return False
    return {"name", "description", "args_schema"} <= fields.keys() and hasattr(value, "_run")


class LangChainAdapter:
    """One LangChain tool, or one made of a class with the package's configuration."""

    def __init__(self, name: str, tool: Any, options: Json) -> None:
        if isinstance(tool, type):
            tool = tool(**interpolated(options.get("tool_config") or {}, set()))
        self._tool: Any = tool
        self._options = options
        self.export = str(tool.name)
        self.aliases = [name] if name != self.export else []

    def describe(self) -> Json:
        return {
            "description": self._tool.description,
            "inputSchema": _schema(self._tool),
            "rawStringArgs": list(self._options.get("raw_string_args") or ()),
        }

    def call(self, arguments: Json) -> Answer:
        # `ainvoke` of a tool that has only a sync body would run it in a thread, for nothing.
        is_async = getattr(self._tool, "coroutine", None) is not None or _overrides(self._tool)
        name = "ainvoke" if is_async or not hasattr(self._tool, "invoke") else "invoke"
        output = run(lambda: getattr(self._tool, name)(arguments))
        return output, []


def _overrides(tool: Any) -> bool:
    """Tell whether the tool's own class, and none of LangChain's, says how it runs async."""
    for cls in type(tool).__mro__:
        if "_arun" in vars(cls):
            return not cls.__module__.startswith("langchain")
    return False


def _schema(tool: Any) -> Json:
    """Return the schema of what the caller fills: injected arguments are left out."""
    for attribute in ("tool_call_schema", "args_schema"):
        found: Any = getattr(tool, attribute, None)
        if isinstance(found, dict):
            return json_schema(found)
        if hasattr(found, "model_json_schema") or hasattr(found, "schema"):
            schema = getattr(found, "model_json_schema", None) or found.schema
            return _without_title(schema())
    return {"type": "object", "properties": dict(getattr(tool, "args", None) or {})}


def _without_title(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key not in ("title", "description")}
