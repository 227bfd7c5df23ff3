"""Who calls a tool, for what, and with which means."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.models.invocation import Caller

Env = Callable[[Sequence[str]], Mapping[str, str]]
"""Names of variables → the values that are set now. Read anew at every call, never kept."""

Progress = Callable[[JsonObject], None]
"""Takes one progress note `{message, step?, …}` of a running call."""

Denied = Callable[[UUID], bool]
"""Tool id → whether the agent's settings deny it."""

Presets = Callable[[UUID], JsonObject]
"""Tool id → the arguments that the agent's settings always send."""


def no_env(names: Sequence[str]) -> Mapping[str, str]:
    """Hold no variables."""
    return {}


def ignore_progress(note: JsonObject) -> None:
    """Drop a progress note."""


def nothing_denied(tool_id: UUID) -> bool:
    """Deny no tool."""
    return False


def no_presets(tool_id: UUID) -> JsonObject:
    """Preset no argument."""
    return {}


@dataclass(frozen=True, kw_only=True)
class CallContext:
    """The circumstances of a call.

    `scopes` of None means that the caller is not limited by scopes (a person in the browser);
    an empty set means that only tools without required scopes may run.
    `depth` counts how many sequences stand around this call, `parent_id` is the invocation of the
    code around it. `allowed_hosts` is filled in by `invoke`: what review lets the tool reach now.
    """

    user: User
    caller: Caller
    scopes: frozenset[str] | None = None
    env: Env = no_env
    denied: Denied = nothing_denied
    presets: Presets = no_presets
    progress: Progress = ignore_progress
    cancel: threading.Event = field(default_factory=threading.Event)
    agent_id: UUID | None = None
    turn_id: UUID | None = None
    run_id: UUID | None = None
    run_step_id: UUID | None = None
    parent_id: UUID | None = None
    allowed_hosts: tuple[str, ...] = ()
    depth: int = 0

    def derive(self, **changes: Any) -> "CallContext":
        """Return a copy with some circumstances changed."""
        return replace(self, **changes)
