"""What the product asks of a sandbox, and what it gets back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

from config.lib.types import JsonObject, JsonSchema, JsonValue

LogSink = Callable[[str, str], None]
"""Receives `(level, text)` of each line a tool prints."""


class Cancel(Protocol):
    """Says whether the caller has given up; a `threading.Event` is one."""

    def is_set(self) -> bool:
        """Return True from the moment the call is to be stopped."""
        ...


@dataclass(frozen=True, slots=True)
class Artifact:
    """A built package; `artifact` is its key in the store, `manifest` its package.json."""

    ecosystem: str
    name: str
    version: str
    integrity: str
    artifact: str
    manifest: JsonObject = field(repr=False)
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """One tool of a package: `export` is how to call it, `aliases` are its other names."""

    export: str
    aliases: tuple[str, ...]
    description: str
    input_schema: JsonSchema
    output_schema: JsonSchema | None = None
    raw_string_args: tuple[str, ...] = ()
    required_scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DescriptionProblem:
    """An export that could not be described, and why."""

    export: str
    message: str


@dataclass(frozen=True, slots=True)
class UnavailableTool:
    """A tool that does not offer itself with the present settings, and why."""

    export: str
    reason: str


@dataclass(frozen=True, slots=True)
class Description:
    """What a package offers."""

    tools: tuple[ToolDescription, ...]
    problems: tuple[DescriptionProblem, ...] = ()
    unavailable: tuple[UnavailableTool, ...] = ()


class SavedArtifact(TypedDict):
    """A file that a tool saved; `data` is base64, `size` the bytes of the file itself."""

    name: str
    media_type: str
    size: int
    data: str


class LogLine(TypedDict):
    """A line the tool printed; `level` as in JavaScript's console. JSON as it stands."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class CallOutput:
    """A tool's answer, what it printed on the way, and how long all of it took."""

    output: JsonValue
    logs: tuple[LogLine, ...]
    duration_ms: int
    artifacts: tuple[SavedArtifact, ...] = ()


class Sandbox(Protocol):
    """Where packages are built and run. Every method raises classes of `registry.errors`."""

    def build(self, *, ecosystem: str, name: str, version: str | None = None) -> Artifact:
        """Install a package; `version` may be exact, a range or a tag, and is `latest` if None."""
        ...

    def describe(
        self,
        *,
        artifact: str,
        options: JsonObject | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Description:
        """List the tools of a built package.

        `options` are the package's settings, for languages whose tools depend on them.
        """
        ...

    def call(
        self,
        *,
        artifact: str,
        export: str,
        arguments: JsonObject,
        env: Mapping[str, str],
        options: JsonObject | None = None,
        network: Sequence[str] = (),
        timeout_seconds: float = 30,
        cancel: Cancel | None = None,
        on_log: LogSink | None = None,
    ) -> CallOutput:
        """Run one tool in a process of its own; `env` is all of the environment it sees.

        `network` lists the hosts it may reach: "host", "host:port" or "*.host"; none by default.
        Raises `CallCancelled` soon after `cancel` is set, when the process is dead.
        """
        ...

    def status(self) -> JsonObject:
        """Return `{tier, ok, checks:[{name, ok, detail, fix}], uid, store, deno, running}`."""
        ...
