"""Read what a package says of its tools: the `tpmjs` field of its package.json.

Two generations are out there, and many packages are a little wrong. Whatever can be read is read;
whatever cannot is named as a problem `{path, message}`. Nothing in a manifest raises.

- current: `{category, frameworks, env, tools}`, each tool being `{name, description, parameters,
  returns, aiAgent}`, where older packages write `exportName` for `name`;
- legacy: the fields of the one tool stand in `tpmjs` itself.
"""

import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue
from registry.declared_types import schema_of_type
from registry.models.package import Tier

FIELD = "tpmjs"
LONGEST_EXPORT = 128
LONGEST_LABEL = 64
MOST_TOOLS = 200
ENV_NAME = re.compile(r"^[A-Z_][A-Z0-9_]{0,99}$")

Shape = TypeVar("Shape", bound=BaseModel)


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class _Env(_Lenient):
    name: str = ""
    description: str = ""
    required: bool = True


class _Parameter(_Lenient):
    name: str = ""
    type: str = "string"
    description: str = ""
    required: bool = False
    default: Any = None
    enum: list[Any] = []


class _Returns(_Lenient):
    type: str = ""
    description: str = ""


class _Guidance(_Lenient):
    useCase: str = ""  # noqa: N815  the manifest's own spelling
    limitations: str | list[str] = ""
    examples: str | list[Any] = []


class _Tool(_Lenient):
    name: str = ""
    export_name: str = Field("", alias="exportName")
    description: str = ""
    category: str = ""
    parameters: list[Any] | dict[str, Any] | None = None
    returns: dict[str, Any] | None = None
    ai_agent: dict[str, Any] | None = Field(None, alias="aiAgent")


class _Field(_Lenient):
    category: str = ""
    frameworks: list[Any] = []
    env: list[Any] | dict[str, Any] = []
    tools: list[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class DeclaredTool:
    """One tool as its package declares it; the schemas are JSON Schema."""

    export: str
    description: str = ""
    category: str = ""
    input_schema: JsonObject | None = None
    output_schema: JsonObject | None = None
    ai_agent: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What could be read, and what could not: `problems` is `[{path, message}]`."""

    tools: tuple[DeclaredTool, ...] = ()
    category: str = ""
    frameworks: tuple[str, ...] = ()
    env: tuple[JsonObject, ...] = ()
    problems: tuple[JsonObject, ...] = ()

    @property
    def tier(self) -> Tier:
        """Return `rich` when the package says more of its tools than name and description."""
        told_more = any(
            tool.input_schema is not None or tool.output_schema is not None or tool.ai_agent
            for tool in self.tools
        )
        return Tier.RICH if told_more or self.env or self.frameworks else Tier.MINIMAL


def read_manifest(package_json: JsonValue) -> Manifest:
    """Read a package.json; a package without the `tpmjs` field declares no tools."""
    return _Reader().read(storable(package_json))


class _Reader:
    """Collects problems while it reads."""

    def __init__(self) -> None:
        self._problems: list[JsonObject] = []

    def read(self, package_json: JsonValue) -> Manifest:
        if not isinstance(package_json, dict):
            self._problem("", "package.json is not an object.")
            return self._manifest()
        declared = package_json.get(FIELD)
        if declared is None:
            return self._manifest()
        if not isinstance(declared, dict):
            self._problem(FIELD, "It must be an object.")
            return self._manifest()
        shape = self._fit(_Field, declared, FIELD)
        return self._manifest(
            tools=self._tools(declared, shape),
            category=self._label(shape.category, f"{FIELD}.category"),
            frameworks=self._frameworks(shape.frameworks),
            env=self._env(shape.env),
        )

    def _manifest(self, **read: Any) -> Manifest:
        return Manifest(**read, problems=tuple(self._problems))

    def _problem(self, path: str, message: str) -> None:
        self._problems.append({"path": path, "message": message})

    def _fit(self, shape: type[Shape], data: JsonObject, path: str) -> Shape:
        """Fit an object into a shape; a key that does not fit is named and left out."""
        try:
            return shape.model_validate(data)
        except ValidationError as error:
            wrong = {str(item["loc"][0]): item["msg"] for item in error.errors()}
        for key, message in wrong.items():
            self._problem(f"{path}.{key}", f"It is left out: {message}.")
        return shape.model_validate({key: data[key] for key in data if key not in wrong})

    def _tools(self, declared: JsonObject, shape: _Field) -> tuple[DeclaredTool, ...]:
        if shape.tools is None:
            legacy = {"description", "parameters", "returns", "aiAgent", "exportName"}
            if not legacy & declared.keys():
                self._problem(f"{FIELD}.tools", "It is missing, so no tool is declared.")
                return ()
            tool = self._tool({"name": "default", **declared}, FIELD)
            return (tool,) if tool else ()
        found: dict[str, DeclaredTool] = {}
        for index, item in enumerate(shape.tools[:MOST_TOOLS]):
            path = f"{FIELD}.tools[{index}]"
            tool = self._tool(item, path)
            if tool is not None and tool.export in found:
                self._problem(path, f"“{tool.export}” is declared twice; the first one counts.")
            elif tool is not None:
                found[tool.export] = tool
        if len(shape.tools) > MOST_TOOLS:
            self._problem(f"{FIELD}.tools", f"Only the first {MOST_TOOLS} tools are read.")
        return tuple(found.values())

    def _tool(self, item: JsonValue, path: str) -> DeclaredTool | None:
        if not isinstance(item, dict):
            self._problem(path, "A tool must be an object.")
            return None
        shape = self._fit(_Tool, item, path)
        export = (shape.export_name or shape.name).strip()
        if not export:
            self._problem(f"{path}.name", "The name of the export is missing.")
            return None
        if len(export) > LONGEST_EXPORT:
            self._problem(f"{path}.name", f"It is longer than {LONGEST_EXPORT} characters.")
            return None
        if not shape.description:
            self._problem(f"{path}.description", "It is missing: say what the tool does.")
        return DeclaredTool(
            export=export,
            description=shape.description.strip(),
            category=self._label(shape.category, f"{path}.category"),
            input_schema=self._input_schema(shape.parameters, f"{path}.parameters"),
            output_schema=self._output_schema(shape.returns, f"{path}.returns"),
            ai_agent=self._guidance(shape.ai_agent, f"{path}.aiAgent"),
        )

    def _input_schema(self, parameters: Any, path: str) -> JsonObject | None:
        if parameters is None:
            return None
        if isinstance(parameters, dict) and isinstance(parameters.get("properties"), dict):
            return {"type": "object", **parameters}
        properties: JsonObject = {}
        required = []
        for item, where in self._items(parameters, path):
            parameter = self._fit(_Parameter, item, where)
            if not parameter.name:
                self._problem(f"{where}.name", "The parameter's name is missing.")
                continue
            properties[parameter.name] = self._property(parameter, where)
            if parameter.required:
                required.append(parameter.name)
        return {"type": "object", "properties": properties, "required": required}

    def _property(self, parameter: _Parameter, path: str) -> JsonObject:
        schema = schema_of_type(parameter.type)
        if schema is None:
            message = f"The type “{parameter.type[:80]}” is not known; it is taken as a string."
            self._problem(f"{path}.type", message)
            schema = {"type": "string"}
        if parameter.enum:
            schema = {"enum": parameter.enum}
        if parameter.description:
            schema["description"] = parameter.description
        if parameter.default is not None:
            schema["default"] = parameter.default
        return schema

    def _output_schema(self, returns: JsonObject | None, path: str) -> JsonObject | None:
        """Return the schema of `returns`; a type's mere name says nothing that can be checked."""
        if not returns:
            return None
        if isinstance(returns.get("properties"), dict):
            return returns
        shape = self._fit(_Returns, returns, path)
        schema = schema_of_type(shape.type) or ({"title": shape.type} if shape.type else {})
        return {**schema, "description": shape.description} if shape.description else schema

    def _guidance(self, guidance: JsonObject | None, path: str) -> JsonObject:
        """Return `{useCase, limitations, examples}`, each only where it is told."""
        if not guidance:
            return {}
        shape = self._fit(_Guidance, guidance, path)
        limits, examples = shape.limitations, shape.examples
        read = {
            "useCase": shape.useCase.strip(),
            "limitations": (limits if isinstance(limits, str) else "; ".join(limits)).strip(),
            "examples": _texts([examples] if isinstance(examples, str) else examples),
        }
        return {key: value for key, value in read.items() if value}

    def _env(self, declared: list[Any] | dict[str, Any]) -> tuple[JsonObject, ...]:
        found: dict[str, JsonObject] = {}
        for item, path in self._items(declared, f"{FIELD}.env"):
            variable = self._fit(_Env, item, path)
            if not ENV_NAME.fullmatch(variable.name):
                message = "A variable's name is made of A–Z, 0–9 and _; this one is left out."
                self._problem(f"{path}.name", message)
                continue
            found.setdefault(variable.name, variable.model_dump())
        return tuple(found.values())

    def _items(
        self, declared: list[Any] | dict[str, Any], path: str
    ) -> list[tuple[JsonObject, str]]:
        """Return the objects of a list, or of a map from their name, each with its path."""
        if isinstance(declared, dict):
            named = [(name, item, f"{path}.{name}") for name, item in declared.items()]
        else:
            named = [("", item, f"{path}[{index}]") for index, item in enumerate(declared)]
        found = []
        for name, item, where in named:
            if isinstance(item, dict):
                found.append(({"name": name, **item} if name else item, where))
            elif isinstance(item, str):
                entry = {"name": name, "description": item} if name else {"name": item}
                found.append((entry, where))
            else:
                self._problem(where, "It must be an object.")
        return found

    def _frameworks(self, declared: list[Any]) -> tuple[str, ...]:
        labels = (self._label(text, f"{FIELD}.frameworks") for text in _texts(declared))
        return tuple(dict.fromkeys(labels))

    def _label(self, text: str, path: str) -> str:
        if len(text) > LONGEST_LABEL:
            self._problem(path, f"It is cut to {LONGEST_LABEL} characters.")
        return text.strip()[:LONGEST_LABEL]


def _texts(values: list[Any]) -> list[str]:
    return [value.strip() for value in values if isinstance(value, str) and value.strip()]
