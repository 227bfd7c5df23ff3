"""How a call of a tool ended."""

from dataclasses import dataclass
from uuid import UUID

from config.lib.types import JsonObject, JsonValue
from registry.errors import ToolError


@dataclass(frozen=True, kw_only=True)
class Succeeded:
    """The tool answered."""

    output: JsonValue
    duration_ms: int
    invocation_id: UUID
    details: JsonObject | None = None
    """What a person may want to see beside the output, such as a sequence's run id."""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """The call failed; `error` says in which phase and who can mend it."""

    error: ToolError
    duration_ms: int
    invocation_id: UUID | None
    """None when the call reached no tool, and was not worth a row: see `registry.limits`."""
    details: JsonObject | None = None


ToolResult = Succeeded | Failed
