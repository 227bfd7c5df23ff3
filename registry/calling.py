"""Call a tool for a person who asked for it directly: on its page, or through the REST API."""

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from config.lib.types import JsonValue
from registry.context import CallContext, Env
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Tool
from registry.models.invocation import Caller
from registry.results import ToolResult


def call_directly(
    tool: Tool,
    arguments: JsonValue,
    *,
    user: User,
    caller: Caller,
    version: int | None = None,
    scopes: frozenset[str] | None = None,
    given: Mapping[str, str] | None = None,
) -> ToolResult:
    """Call a tool with the person's own credentials; a value in `given` wins over theirs.

    Raises ToolUnavailable when there is no such version.
    """
    context = CallContext(user=user, caller=caller, scopes=scopes, env=_env_of(user, given or {}))
    return invoke(load_spec(tool, version), arguments, context)


def _env_of(user: User, given: Mapping[str, str]) -> Env:
    stored: Env = import_string(settings.TOOL_CREDENTIALS)(user, None)

    def read(names: Sequence[str]) -> Mapping[str, str]:
        return {**stored(names), **{name: given[name] for name in names if name in given}}

    return read
