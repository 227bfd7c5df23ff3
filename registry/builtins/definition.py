"""What a built-in tool is: a description that a model reads, two schemas and a function."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType

from config.lib.types import JsonObject, JsonSchema, JsonValue


@dataclass(frozen=True, slots=True)
class Builtin:
    """A tool that ships with the product and runs in the caller's own process.

    `run` takes arguments that fit `input_schema`, defaults filled in, and returns a value that
    fits `output_schema`. It raises `registry.errors.ToolInputRejected` and nothing else, and it
    ends within about a second for every input the schema admits.
    `ai_agent` is `{"useCase": str, "limitations": str, "examples": [str]}`: it feeds the search
    index and the system prompt. `deterministic` says that equal arguments give equal results.
    """

    name: str
    title: str
    description: str
    category: str
    input_schema: JsonSchema
    output_schema: JsonSchema
    ai_agent: JsonObject
    run: Callable[[JsonObject], JsonValue]
    deterministic: bool = True


def collect(families: Iterable[ModuleType]) -> Mapping[str, Builtin]:
    """Return every tool in the families' `TOOLS`, by name.

    Raises `ValueError` naming both modules when two families use one name.
    """
    tools: dict[str, Builtin] = {}
    homes: dict[str, str] = {}
    for family in families:
        for tool in family.TOOLS:
            if tool.name in tools:
                raise ValueError(
                    f"The built-in tool '{tool.name}' is defined in both "
                    f"{homes[tool.name]} and {family.__name__}."
                )
            tools[tool.name] = tool
            homes[tool.name] = family.__name__
    return MappingProxyType(tools)


def guidance(use_case: str, limitations: str, *examples: str) -> JsonObject:
    """Return the `ai_agent` object: when to use a tool, what it cannot do, example messages."""
    return {"useCase": use_case, "limitations": limitations, "examples": list(examples)}
