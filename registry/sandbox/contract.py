"""What the product asks of a sandbox, and what it gets back."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

from config.lib.types import JsonObject, JsonSchema, JsonValue

LogSink = Callable[[str, str], None]
"""Receives `(level, text)` of each line a tool prints."""


DAY_SECONDS = 86_400.0


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
    """What a package offers; `env` names the keys that its own files read."""

    tools: tuple[ToolDescription, ...]
    problems: tuple[DescriptionProblem, ...] = ()
    env: tuple[str, ...] = ()
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


InnerCall = Callable[[JsonObject, threading.Event], "JsonValue | Told"]
"""Calls one tool for a program: `(arguments, cancel)` → the output. It raises `ToolError`, which
the program can catch, or `NotTold`, and ends soon after `cancel` is set."""

Take = Callable[[str, JsonObject], InnerCall]
"""Returns what runs a call, `(name, arguments)`. It is asked in the order in which the program
makes its calls, while they themselves run side by side."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a program is told of a call, where that is not what has just happened.

    `error` is `{code, message, hint}`, or None; `seconds` is how long the call took once.
    """

    value: JsonValue = None
    error: JsonObject | None = None
    seconds: float = 0.0


class NotTold(Exception):
    """The program is told nothing of this call: it is about to be ended."""


@dataclass(frozen=True, slots=True)
class Begin:
    """What a program's chance comes from, and the time that its clock shows at first."""

    seed: int
    clock: float


PrintSink = Callable[[str], None]
"""Receives what a program prints, as it does."""


@dataclass(frozen=True, slots=True)
class CodeOutput:
    """What a program came to.

    `value` is its last expression; when `is_json` is false it is the `repr` of a value of
    `type_name`. `printed` is cut where `truncated` says so. `calls` counts its calls of tools.
    """

    value: JsonValue
    is_json: bool
    type_name: str
    printed: str
    calls: int
    truncated: bool
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Collected:
    """The keys of the artifacts that were removed, and the room they took."""

    removed: tuple[str, ...]
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class FoundPackage:
    """One result of a registry's search; `date` is ISO 8601, texts are empty where unknown.

    `downloads` are those of the last month, None where the registry does not tell.
    """

    name: str
    version: str
    date: str
    keywords: tuple[str, ...]
    downloads: int | None = None


@dataclass(frozen=True, slots=True)
class RegistryPage:
    """One page of a search; `total` is None where the registry does not say."""

    packages: tuple[FoundPackage, ...]
    total: int | None


@dataclass(frozen=True, slots=True)
class RegistryVersion:
    """What a registry says of one version; all empty where it does not have it, or says nothing."""

    version: str = ""
    integrity: str = ""
    deprecated: str = ""
    install_scripts: bool = False


@dataclass(frozen=True, slots=True)
class NewestVersion:
    """The newest version of a package, and the one that is in use here."""

    newest: RegistryVersion
    current: RegistryVersion


@dataclass(frozen=True, slots=True)
class Advisory:
    """A weakness that a registry knows of one package among those that were installed.

    `severity` is critical, high, moderate, low or info; `range` are the versions it is in.
    """

    package: str
    versions: tuple[str, ...]
    severity: str
    title: str
    range: str
    id: str
    url: str


@dataclass(frozen=True, slots=True)
class Advisories:
    """What registries know of an artifact; `offered` is false where one of them did not say."""

    offered: bool
    known: tuple[Advisory, ...]


class Sandbox(Protocol):
    """Where packages are built and run. Every method raises classes of `registry.errors`."""

    def build(self, *, ecosystem: str, name: str, version: str | None = None) -> Artifact:
        """Install a package; `version` may be exact, a range or a tag, and is `latest` if None."""
        ...

    def search(
        self, *, ecosystem: str, text: str, offset: int = 0, size: int = 250
    ) -> RegistryPage:
        """Search the registry that builds install from; one page of at most 250 packages."""
        ...

    def put(self, *, digest: str, files: Mapping[str, str]) -> None:
        """Send the files of an uploaded module, path → base64; its build names the digest."""
        ...

    def newest(self, *, ecosystem: str, name: str, current: str = "") -> NewestVersion:
        """Look up the newest version of a package, and how the `current` one stands now."""
        ...

    def advisories(self, *, artifact: str) -> Advisories:
        """Ask the registry, for ten seconds at most, what is known against a built package."""
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
        tenant: str = "",
    ) -> CallOutput:
        """Run one tool in a process of its own; `env` is all of the environment it sees.

        The process may have been made ready before, but never for another `tenant` (the user whose
        environment it is), and it serves this call only.

        `network` lists the hosts it may reach: "host", "host:port" or "*.host"; none by default.
        Raises `CallCancelled` soon after `cancel` is set, when the process is dead.
        """
        ...

    def execute(
        self,
        code: str,
        tools: Mapping[str, InnerCall],
        *,
        timeout_seconds: float = 60,
        call_seconds: float = 20,
        cancel: Cancel | None = None,
        on_print: PrintSink | None = None,
        take: Take | None = None,
        begin: Begin | None = None,
    ) -> CodeOutput:
        """Run a Python program that may call `tools` by their names, and nothing else.

        At most eight calls run at once, in threads of this process; each gets `call_seconds`. None
        is under way any more when this returns or raises. Raises `CallCancelled` soon after
        `cancel` is set, when the process is dead. `take` runs calls in place of what `tools` has;
        with `begin` the program's clock and chance are the same in every run.
        """
        ...

    def status(self) -> JsonObject:
        """Return what the service knows of itself, within five seconds.

        `{tier, ok, checks: [{name, ok, detail, fix}], uid, store, deno, uptime_seconds,
        running, waiting, builds: [{ecosystem, name, version}], cgroup: {controllers, detail},
        memory: {used, budget, waiting} (bytes; calls), spares: {ready, most, hits, misses, evicted,
        lost}, lines: [{name, artifact, hits, misses, running, spares, memory, age_seconds,
        idle_seconds}]}`.
        """
        ...

    def forget(self, artifact: str) -> None:
        """End every process kept ready of a package that is not to run any more."""
        ...

    def collect(self, keep: Iterable[str], *, min_age_seconds: float = DAY_SECONDS) -> Collected:
        """Remove the artifacts that are not in `keep`, older than that, and not in use."""
        ...
