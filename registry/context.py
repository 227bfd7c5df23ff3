"""Who calls a tool, for what, and with which means."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

from django.contrib.auth.models import User

from config.lib.prepared import insert
from config.lib.types import JsonObject
from registry.approval import Policy, everything_allowed
from registry.errors import ApprovalDenied
from registry.models import Invocation
from registry.models.invocation import Caller
from registry.replay import Replay
from registry.results import ToolResult
from registry.specs import ToolSpec

Env = Callable[[Sequence[str]], Mapping[str, str]]
"""Names of variables → the values that are set now. Read anew at every call, never kept."""

Progress = Callable[[JsonObject], None]
"""Takes one progress note `{message, step?, …}` of a running call."""

Denied = Callable[[UUID], bool]
"""Tool id → whether the agent's settings deny it, for searches; calls are judged by `Policy`."""

Granted = Callable[[frozenset[str] | None], frozenset[str] | None]
"""The scopes that a call came with → those it has now. Read anew at every call."""

Presets = Callable[[UUID], JsonObject]
"""Tool id → the arguments that the agent's settings always send."""

Recorder = Callable[[Invocation], None]
"""Takes the row of a call that is over, and sees that it is written."""

Tools = Callable[[], Mapping[str, ToolSpec]]
"""Returns, by wire name, the tools that a program may call now."""


class Inner(Protocol):
    """Calls a tool for a program, with the rights of the program's own call."""

    def __call__(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        cancel: threading.Event,
        *,
        approved: bool = False,
        denied: ApprovalDenied | None = None,
        call_id: str = "",
    ) -> ToolResult:
        """Call it; `approved` says that a person said yes to this very call.

        With `denied` it is not called: the refusal is written down and is its result. `call_id`
        names the call in its turn, in a program that can be run again.
        """


class Artifacts(Protocol):
    """What the conversation around a call keeps under names."""

    def read(self, name: str, version: int | None = None) -> str:
        """Return an artifact's text, of the latest version unless one is named.

        Raises ArtifactNotFound.
        """

    def save(
        self, name: str, data: bytes, media_type: str, *, invocation_id: UUID | None = None
    ) -> JsonObject:
        """Keep the next version of an artifact; return `{id, name, version, size, media_type}`.

        Raises a DomainError when it is too large.
        """


CallerToken = Callable[[], str | None]
"""Return the OAuth access token that the caller came with; None for any other caller."""


def no_env(names: Sequence[str]) -> Mapping[str, str]:
    """Hold no variables."""
    return {}


def env_with(given: Mapping[str, str], stored: Env) -> Env:
    """Return the function that answers from `given`, and for all other names from `stored`."""

    def read(names: Sequence[str]) -> Mapping[str, str]:
        return {**stored(names), **{name: given[name] for name in names if name in given}}

    return read


def no_token() -> str | None:
    """Hold no token."""
    return None


def ignore_progress(note: JsonObject) -> None:
    """Drop a progress note."""


def nothing_denied(tool_id: UUID) -> bool:
    """Deny no tool."""
    return False


def as_granted(scopes: frozenset[str] | None) -> frozenset[str] | None:
    """Leave the scopes as they were when the call began."""
    return scopes


def no_presets(tool_id: UUID) -> JsonObject:
    """Preset no argument."""
    return {}


def write_now(row: Invocation) -> None:
    """Write the row of a call at once."""
    insert(row)


def no_tools() -> Mapping[str, ToolSpec]:
    """Offer no tool."""
    return {}


@dataclass(frozen=True, kw_only=True)
class CallContext:
    """The circumstances of a call.

    `scopes` of None means that the caller is not limited by scopes (a person in the browser);
    an empty set means that only tools without required scopes may run. `granted` tells, at the
    moment of a call, what is left of them or has come to them since.
    `caller_token` gives the caller's own OAuth access token, for services of the same trust domain.
    `depth` counts how many sequences and programs stand around this call, `parent_id` is the
    invocation of the code around it. `allowed_hosts` is filled in by `invoke`: what review lets the
    tool reach now. So are `invocation_id` and, for a program, `inner`; `tools` are those that a
    program may call.
    `given` are values that came with the call and win over stored ones; `env` answers with them
    already, and a run that goes on in another process takes them along, sealed. `artifacts` are
    those of the conversation that the call belongs to, if it belongs to one.
    `policy` says whether a call is allowed, asked about or denied; `approved` that a person said
    yes to this call, or to the sequence around it, so that nobody is asked again; the calls of a
    program are approved one by one. `denied` is for searches, which leave out what is denied.
    `record` writes the row of the call; a run writes it together with the row of its step.
    `run_lease` names the claim by which a worker has the run around the call.
    `call_id` names a call that can be made again once a person was asked: in the turn `turn_id` the
    model's own name of it. `begun` is the run that such a call has begun, and goes on with. With a
    `replay`, a program may wait for a person, and is run again from what was kept of it.
    """

    user: User
    caller: Caller
    scopes: frozenset[str] | None = None
    granted: Granted = as_granted
    env: Env = no_env
    denied: Denied = nothing_denied
    policy: Policy = everything_allowed
    approved: bool = False
    call_id: str = ""
    begun: UUID | None = None
    replay: Replay | None = None
    presets: Presets = no_presets
    caller_token: CallerToken = no_token
    progress: Progress = ignore_progress
    tools: Tools = no_tools
    record: Recorder = write_now
    inner: Inner | None = None
    cancel: threading.Event = field(default_factory=threading.Event)
    agent_id: UUID | None = None
    turn_id: UUID | None = None
    run_id: UUID | None = None
    run_step_id: UUID | None = None
    run_lease: UUID | None = None
    parent_id: UUID | None = None
    invocation_id: UUID | None = None
    allowed_hosts: tuple[str, ...] = ()
    artifacts: Artifacts | None = None
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    depth: int = 0

    def with_given(self, given: Mapping[str, str]) -> "CallContext":
        """Return a copy in which these values win over the stored ones."""
        return self.derive(given=given, env=env_with(given, self.env)) if given else self

    def derive(self, **changes: Any) -> "CallContext":
        """Return a copy with some circumstances changed."""
        return replace(self, **changes)
