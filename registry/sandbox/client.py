"""Ask the sandbox service to build, describe and call packages.

`Sandbox` is what the product depends on; `LocalSandbox` speaks to the service on this machine. It
is synchronous, holds no connection between calls and may be used from any thread.
"""

import json
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypedDict

from config.lib.types import JsonObject, JsonSchema, JsonValue
from registry import errors
from registry.errors import CallCancelled, SandboxUnavailable, ToolCrashed, ToolError
from registry.sandbox.paths import service_uids, short_address, socket_path

REQUEST_ID = 1
CHUNK_BYTES = 65_536
CANCEL_POLL_SECONDS = 0.05
# After asking for a cancel: how long to wait for the word that the process is dead.
CANCEL_SECONDS = 2.0

START_HINT = "Start it with `make run`, or look at its log; `manage.py doctor` says more."

LogSink = Callable[[str, str], None]


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


@dataclass(frozen=True, slots=True)
class DescriptionProblem:
    """An export that could not be described, and why."""

    export: str
    message: str


@dataclass(frozen=True, slots=True)
class Description:
    """What a package offers."""

    tools: tuple[ToolDescription, ...]
    problems: tuple[DescriptionProblem, ...] = ()


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


class Sandbox(Protocol):
    """Where packages are built and run. Every method raises classes of `registry.errors`."""

    def build(self, *, ecosystem: str, name: str, version: str | None = None) -> Artifact:
        """Install a package; `version` may be exact, a range or a tag, and is `latest` if None."""
        ...

    def describe(self, *, artifact: str) -> Description:
        """List the tools of a built package."""
        ...

    def call(
        self,
        *,
        artifact: str,
        export: str,
        arguments: JsonObject,
        env: Mapping[str, str],
        timeout_seconds: float = 30,
        cancel: Cancel | None = None,
        on_log: LogSink | None = None,
    ) -> CallOutput:
        """Run one tool in a process of its own; `env` is all of the environment it sees.

        Raises `CallCancelled` soon after `cancel` is set, when the process is dead.
        """
        ...

    def status(self) -> JsonObject:
        """Return `{tier, ok, checks:[{name, ok, detail, fix}], uid, store, deno, running}`."""
        ...


class LocalSandbox:
    """The sandbox service of this machine, over its unix socket."""

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path

    def build(self, *, ecosystem: str, name: str, version: str | None = None) -> Artifact:
        """Install a package; see `Sandbox.build`."""
        params = {"ecosystem": ecosystem, "name": name, "version": version}
        return Artifact(**self._ask("build", params))

    def describe(self, *, artifact: str) -> Description:
        """List the tools of a built package; see `Sandbox.describe`."""
        found = self._ask("describe", {"artifact": artifact})
        return Description(
            tools=tuple(_tool_description(tool) for tool in found["tools"]),
            problems=tuple(DescriptionProblem(**problem) for problem in found["problems"]),
        )

    def call(
        self,
        *,
        artifact: str,
        export: str,
        arguments: JsonObject,
        env: Mapping[str, str],
        timeout_seconds: float = 30,
        cancel: Cancel | None = None,
        on_log: LogSink | None = None,
    ) -> CallOutput:
        """Run one tool; see `Sandbox.call`."""
        logs: list[LogLine] = []

        def keep(level: str, text: str) -> None:
            logs.append(LogLine(level=level, text=text))
            if on_log is not None:
                on_log(level, text)

        params = {
            "artifact": artifact,
            "export": export,
            "arguments": arguments,
            "env": dict(env),
            "timeout_seconds": timeout_seconds,
        }
        answer = self._ask("call", params, cancel=cancel, on_log=keep)
        return CallOutput(answer["output"], tuple(logs), answer["duration_ms"])

    def status(self) -> JsonObject:
        """Return the service's state; see `Sandbox.status`."""
        return self._ask("status", {})

    def _ask(
        self,
        method: str,
        params: JsonObject,
        *,
        cancel: Cancel | None = None,
        on_log: LogSink | None = None,
    ) -> JsonObject:
        request = {"jsonrpc": "2.0", "id": REQUEST_ID, "method": method, "params": params}
        with closing(self._connect()) as connection:
            try:
                _send(connection, request)
                for message in _messages(connection, cancel):
                    if "method" in message:
                        if on_log is not None:
                            on_log(message["params"]["level"], message["params"]["text"])
                    elif "error" in message:
                        raise _as_tool_error(message["error"])
                    else:
                        result: JsonObject = message["result"]
                        return result
            except OSError as error:
                raise _lost() from error
        raise _lost()

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with short_address(self._path) as address:
                connection.connect(address)
        except OSError as error:
            connection.close()
            reason = error.strerror or "no answer"
            message = f"The sandbox service does not answer at {self._path} ({reason})."
            raise SandboxUnavailable(message, START_HINT) from error
        if _peer_uid(connection) not in service_uids():
            connection.close()
            message = f"Another user's program answers at {self._path}; nothing was sent to it."
            raise SandboxUnavailable(message, "Stop it, then start the sandbox service again.")
        return connection


def sandbox() -> Sandbox:
    """Return the sandbox of this machine, at its usual place."""
    return LocalSandbox(socket_path())


def _peer_uid(connection: socket.socket) -> int:
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    uid: int = struct.unpack("3i", credentials)[1]
    return uid


def _send(connection: socket.socket, message: JsonObject) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _messages(connection: socket.socket, cancel: Cancel | None) -> Iterator[JsonObject]:
    """Yield the service's messages; raises `CallCancelled` when the caller has given up."""
    pending = b""
    while True:
        *lines, pending = pending.split(b"\n")
        for line in lines:
            yield json.loads(line)
        _wait_readable(connection, cancel)
        chunk = connection.recv(CHUNK_BYTES)
        if not chunk:
            return
        pending += chunk


def _wait_readable(connection: socket.socket, cancel: Cancel | None) -> None:
    if cancel is None:
        return
    while not select.select([connection], [], [], CANCEL_POLL_SECONDS)[0]:
        if cancel.is_set():
            _send(connection, {"jsonrpc": "2.0", "method": "cancel", "params": {"id": REQUEST_ID}})
            _await_end(connection)
            raise CallCancelled


def _await_end(connection: socket.socket) -> None:
    """Read on until the service answers that the process is dead, or long enough."""
    deadline = time.monotonic() + CANCEL_SECONDS
    connection.settimeout(CANCEL_SECONDS)
    seen = b""
    while b'"cancelled"' not in seen and time.monotonic() < deadline:
        try:
            chunk = connection.recv(CHUNK_BYTES)
        except OSError:
            return
        if not chunk:
            return
        seen = seen[-32:] + chunk


def _tool_description(tool: JsonObject) -> ToolDescription:
    return ToolDescription(
        export=tool["export"],
        aliases=tuple(str(alias) for alias in tool["aliases"]),
        description=tool["description"],
        input_schema=tool["inputSchema"],
        output_schema=tool.get("outputSchema"),
    )


def _family(parent: type[ToolError]) -> Iterator[type[ToolError]]:
    yield parent
    for child in parent.__subclasses__():
        yield from _family(child)


def _as_tool_error(error: JsonObject) -> ToolError:
    """Turn the service's error into the class of `registry.errors` with the same code."""
    data = error["data"]
    classes = {cls.code: cls for cls in _family(ToolError) if cls.__module__ == errors.__name__}
    return classes.get(data["code"], ToolCrashed)(error["message"], data["hint"], **data["extra"])


def _lost() -> SandboxUnavailable:
    return SandboxUnavailable("The sandbox service ended before it answered.", START_HINT)
