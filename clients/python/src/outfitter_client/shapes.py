"""What the API tells, as Python has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from outfitter_client.wire import JsonObject

Caller = Callable[..., Any]


@dataclass(frozen=True)
class Tool:
    """A tool. Called with its arguments it answers its output; of an async client, awaited."""

    name: str
    description: str
    scopes: tuple[str, ...] = ()
    input_schema: Mapping[str, Any] = field(default_factory=dict, repr=False)
    output_schema: Mapping[str, Any] | None = field(default=None, repr=False)
    endpoint: str = field(default="", repr=False)
    returns: str = field(default="", repr=False)
    id: str = field(default="", repr=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)
    caller: Caller | None = field(default=None, repr=False, compare=False)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The schema of each argument, by name."""
        properties = self.input_schema.get("properties")
        return properties if isinstance(properties, Mapping) else {}

    @property
    def required(self) -> tuple[str, ...]:
        """The arguments that a call needs."""
        return tuple(self.input_schema.get("required", ()))

    def __call__(self, /, **arguments: Any) -> Any:
        """Call the tool through the client that found it."""
        if self.caller is None:
            raise TypeError(f"The tool “{self.name}” belongs to no client.")
        return self.caller(self.name, **arguments)

    def prompt_line(self) -> str:
        """Return the tool as a model's prompt lists it: `- name(a, b): what it does`."""
        return f"- {self.name}({', '.join(self.parameters)}): {self.description}"


def tool_of(told: Mapping[str, Any], caller: Caller | None = None) -> Tool:
    """Return the tool that discovery, the catalogue or a search tells of."""
    schema = told.get("inputSchema") or told.get("input_schema")
    return Tool(
        name=str(told["name"]),
        description=str(told.get("description") or ""),
        scopes=tuple(told.get("scopes") or told.get("requiredScopes") or ()),
        input_schema=schema or {"type": "object", "properties": told.get("parameters") or {}},
        output_schema=told.get("outputSchema") or told.get("output_schema"),
        endpoint=str(told.get("endpoint") or ""),
        returns=str(told.get("returns") or ""),
        id=str(told.get("id") or ""),
        raw=told,
        caller=caller,
    )


class Toolset(Sequence[Tool]):
    """Tools in a stable order, by place or by name, and what is new since the last time."""

    def __init__(self, tools: Sequence[Tool] = (), before: Toolset | None = None) -> None:
        """Keep the tools, and compare them with those that were known before."""
        self._tools = tuple(tools)
        self._by_name = {tool.name: tool for tool in self._tools}
        known = before._by_name if before is not None else self._by_name
        self.added = tuple(name for name in self._by_name if name not in known)
        self.removed = tuple(name for name in known if name not in self._by_name)
        self.changed = tuple(
            name for name, tool in self._by_name.items() if name in known and tool != known[name]
        )

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return list(self._by_name)

    @overload
    def __getitem__(self, key: int | str) -> Tool: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Tool]: ...
    def __getitem__(self, key: int | str | slice) -> Tool | Sequence[Tool]:
        """Return a tool by its name or place, or a part of the list."""
        return self._by_name[key] if isinstance(key, str) else self._tools[key]

    def get(self, name: str) -> Tool | None:
        """Return a tool by its name, None when it is not there."""
        return self._by_name.get(name)

    def __len__(self) -> int:
        """Count the tools."""
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        """Go through the tools."""
        return iter(self._tools)

    def __contains__(self, item: object) -> bool:
        """Say whether a tool is there, by itself or by its name."""
        return item in self._by_name if isinstance(item, str) else item in self._tools

    def __repr__(self) -> str:
        """Return the names."""
        return f"Toolset({', '.join(self._by_name)})"


@dataclass(frozen=True)
class Found:
    """A tool that a search found, the likelier the nearer its score is to 1."""

    tool: Tool
    score: float
    why: Any = field(default=None, repr=False)


@dataclass(frozen=True)
class Result:
    """How a call ended that succeeded, with what was recorded of it."""

    output: Any
    duration_ms: int
    invocation: str
    artifacts: Sequence[JsonObject] = field(default=(), repr=False)


@dataclass(frozen=True)
class Event:
    """One event of a run or of a turn."""

    name: str
    data: Any
    id: str = ""


@dataclass(frozen=True)
class Usage:
    """How often which tool was used."""

    agent: str
    total_tools_available: int
    total_tool_calls: int
    usage_by_tool: Mapping[str, int]
    most_used_tool: str | None

    def as_dict(self) -> JsonObject:
        """Return it as JSON has it."""
        return {**vars(self), "usage_by_tool": dict(self.usage_by_tool)}


def usage_of(told: Mapping[str, Any]) -> Usage:
    """Return the usage that the server recorded."""
    return Usage(**{name: told[name] for name in Usage.__dataclass_fields__})
