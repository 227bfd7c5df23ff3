"""What every kind of tool offers."""

from dataclasses import dataclass
from functools import cache
from typing import Protocol

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from config.lib.types import JsonObject, JsonValue
from registry.context import CallContext
from registry.errors import ToolUnavailable
from registry.specs import ToolSpec


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a tool gave back, and what a person may want to see beside it."""

    value: JsonValue
    details: JsonObject | None = None


def give_back_connection() -> None:
    """Return this thread's database connection to the pool before a long wait for a tool.

    Without this, as many slow tools as the pool has connections would stop a whole process.
    """
    if not connection.in_atomic_block:
        connection.close()


class Executor(Protocol):
    """Runs the tools of one kind."""

    def execute(self, spec: ToolSpec, arguments: JsonObject, context: CallContext) -> Output:
        """Run the tool with arguments that fit its schema; raise ToolError when it fails.

        It must end within `spec.timeout_seconds` and soon after `context.cancel` is set.
        """


def executor_for(kind: str) -> Executor:
    """Return the executor of a kind of tool, imported at its first use."""
    try:
        path = settings.TOOL_EXECUTORS[kind]
    except KeyError:
        raise ToolUnavailable(
            f"This installation cannot run tools of kind “{kind}”.",
            "Add the kind to TOOL_EXECUTORS.",
        ) from None
    return _executor_at(path)


@cache
def _executor_at(path: str) -> Executor:
    executor: Executor = import_string(path)()
    return executor
