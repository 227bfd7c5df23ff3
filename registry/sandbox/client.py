"""Ask the sandbox service of this machine to build, describe and call packages.

The client is synchronous, holds no connection between calls and may be used from any thread.
"""

import contextlib
import json
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from config.lib import traces
from config.lib.logs import noted_ids
from config.lib.types import JsonObject, JsonValue
from registry import errors
from registry.errors import (
    CallCancelled,
    InvalidArguments,
    SandboxUnavailable,
    ToolError,
    ToolUnavailable,
)
from registry.sandbox.contract import (
    DAY_SECONDS,
    Advisories,
    Advisory,
    Artifact,
    Begin,
    CallOutput,
    Cancel,
    CodeOutput,
    Collected,
    Description,
    DescriptionProblem,
    FoundPackage,
    InnerCall,
    LogLine,
    LogSink,
    NewestVersion,
    PrintSink,
    RegistryPage,
    RegistryVersion,
    Sandbox,
    Take,
    ToolDescription,
    UnavailableTool,
)
from registry.sandbox.inner_calls import InnerCalls, Wire, line, taking
from registry.sandbox.paths import service_uids, short_address, socket_path

__all__ = ["Artifact", "CallOutput", "Description", "LocalSandbox", "ToolDescription", "sandbox"]

REQUEST_ID = 1
CHUNK_BYTES = 65_536
CANCEL_POLL_SECONDS = 0.05
MAX_REQUEST_BYTES = 4 << 20
NOTHING_OFFERED = taking({})

# The service has limits of its own for each step; these are for a service that hangs.
STATUS_SECONDS = 5
COLLECT_SECONDS = 300
BUILD_SECONDS = 900
SEARCH_SECONDS = 60
ADVISORY_SECONDS = 20
DESCRIBE_SECONDS = 400
CALL_OVERHEAD_SECONDS = 200
# After asking for a cancel: how long to wait for the word that the process is dead.
CANCEL_SECONDS = 2.0

START_HINT = "Start it with `make run`, or look at its log; `manage.py doctor` says more."


class LocalSandbox:
    """The sandbox service of this machine, over its unix socket."""

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path

    def build(self, *, ecosystem: str, name: str, version: str | None = None) -> Artifact:
        """Install a package; see `Sandbox.build`."""
        params = {"ecosystem": ecosystem, "name": name, "version": version}
        return Artifact(**self._ask("build", params, seconds=BUILD_SECONDS))

    def search(
        self, *, ecosystem: str, text: str, offset: int = 0, size: int = 250
    ) -> RegistryPage:
        """Search the registry; see `Sandbox.search`."""
        params = {"ecosystem": ecosystem, "text": text, "offset": offset, "size": size}
        found = self._ask("search", params, seconds=SEARCH_SECONDS)
        packages = tuple(
            FoundPackage(**{**package, "keywords": tuple(package["keywords"])})
            for package in found["packages"]
        )
        return RegistryPage(packages=packages, total=found["total"])

    def put(self, *, digest: str, files: Mapping[str, str]) -> None:
        """Send a module that is built next; see `Sandbox.put`."""
        self._ask("put", {"digest": digest, "files": dict(files)}, seconds=SEARCH_SECONDS)

    def newest(self, *, ecosystem: str, name: str, current: str = "") -> NewestVersion:
        """Look up a package's newest version; see `Sandbox.newest`."""
        params = {"ecosystem": ecosystem, "name": name, "current": current}
        found = self._ask("newest", params, seconds=BUILD_SECONDS)
        return NewestVersion(
            newest=RegistryVersion(**found["newest"]), current=RegistryVersion(**found["current"])
        )

    def advisories(self, *, artifact: str) -> Advisories:
        """Ask what is known against a built package; see `Sandbox.advisories`."""
        found = self._ask("advisories", {"artifact": artifact}, seconds=ADVISORY_SECONDS)
        known = (
            Advisory(**{**item, "versions": tuple(item["versions"])})
            for item in found["advisories"]
        )
        return Advisories(offered=found["offered"], known=tuple(known))

    def describe(
        self,
        *,
        artifact: str,
        options: JsonObject | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Description:
        """List the tools of a built package; see `Sandbox.describe`."""
        params = {"artifact": artifact, "options": options or {}, "env": dict(env or {})}
        found = self._ask("describe", params, seconds=DESCRIBE_SECONDS)
        return Description(
            tools=tuple(_tool_description(tool) for tool in found["tools"]),
            problems=tuple(DescriptionProblem(**problem) for problem in found["problems"]),
            env=tuple(found.get("env", ())),
            unavailable=tuple(UnavailableTool(**item) for item in found["unavailable"]),
        )

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
            "options": options or {},
            "network": list(network),
            "timeout_seconds": timeout_seconds,
            "tenant": tenant,
        }
        seconds = timeout_seconds + CALL_OVERHEAD_SECONDS
        answer = self._ask("call", params, seconds=seconds, cancel=cancel, on_log=keep)
        return CallOutput(
            answer["output"], tuple(logs), answer["duration_ms"], tuple(answer["artifacts"])
        )

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
        """Run a program; see `Sandbox.execute`."""
        printed: list[str] = []

        def keep(_level: str, text: str) -> None:
            printed.append(text)
            if on_print is not None:
                on_print(text)

        params: JsonObject = {
            "code": code,
            "tools": list(tools),
            "timeout_seconds": timeout_seconds,
            "call_seconds": call_seconds,
        }
        if begin is not None:
            params["start"] = {"seed": begin.seed, "clock": begin.clock}
        seconds = timeout_seconds + CALL_OVERHEAD_SECONDS
        found = self._ask(
            "execute",
            params,
            seconds=seconds,
            cancel=cancel,
            on_log=keep,
            take=take or taking(tools),
        )
        return CodeOutput(
            value=found["value"],
            is_json=found["json"],
            type_name=found["type"],
            printed="".join(printed),
            calls=found["calls"],
            truncated=found["truncated"],
            duration_ms=found["duration_ms"],
        )

    def status(self) -> JsonObject:
        """Return the service's state; see `Sandbox.status`."""
        return self._ask("status", {}, seconds=STATUS_SECONDS)

    def forget(self, artifact: str) -> None:
        """End what is kept ready of a package; see `Sandbox.forget`."""
        self._ask("forget", {"artifact": artifact}, seconds=STATUS_SECONDS)

    def collect(self, keep: Iterable[str], *, min_age_seconds: float = DAY_SECONDS) -> Collected:
        """Remove artifacts nothing refers to; see `Sandbox.collect`."""
        params = {"keep": sorted(set(keep)), "min_age_seconds": min_age_seconds}
        answer = self._ask("collect", params, seconds=COLLECT_SECONDS)
        return Collected(tuple(answer["removed"]), answer["freed_bytes"])

    def _ask(
        self,
        method: str,
        params: JsonObject,
        *,
        seconds: float,
        cancel: Cancel | None = None,
        on_log: LogSink | None = None,
        take: Take = NOTHING_OFFERED,
    ) -> JsonObject:
        with traces.span(
            f"sandbox {method}", kind="client", rpc__system="jsonrpc", rpc__method=method
        ):
            return self._answer_to(
                method, params, seconds=seconds, cancel=cancel, on_log=on_log, take=take
            )

    def _answer_to(
        self,
        method: str,
        params: JsonObject,
        *,
        seconds: float,
        cancel: Cancel | None,
        on_log: LogSink | None,
        take: Take,
    ) -> JsonObject:
        # the ids mark the lines of the service's log
        request = line(
            {"id": REQUEST_ID, "method": method, "params": params, "ids": dict(noted_ids())}
        )
        if len(request) > MAX_REQUEST_BYTES:
            raise InvalidArguments(f"The arguments are larger than {MAX_REQUEST_BYTES >> 20} MB.")
        with (
            closing(self.connect()) as connection,
            InnerCalls(connection, take) as calls,
        ):
            try:
                calls.wire.sendall(request)
                for message in _messages(calls.wire, cancel, time.monotonic() + seconds):
                    if "error" in message:
                        raise as_tool_error(message["error"])
                    if "result" in message:
                        result: JsonObject = message["result"]
                        return result
                    if not calls.take(message) and on_log is not None:
                        on_log(message["params"]["level"], message["params"]["text"])
            except OSError as error:
                raise lost() from error
        raise lost()

    def connect(self) -> socket.socket:
        """Return a connection to the service; raises `SandboxUnavailable`."""
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


def _messages(connection: Wire, cancel: Cancel | None, deadline: float) -> Iterator[JsonObject]:
    """Yield the service's messages until it hangs up.

    Raises `CallCancelled` when the caller has given up, `SandboxUnavailable` at the deadline.
    """
    pending = bytearray()
    while True:
        *lines, rest = pending.split(b"\n")
        for text in lines:
            yield json.loads(text)
        pending = rest
        while not _readable(connection, deadline if cancel is None else 0):
            if cancel is not None and cancel.is_set():
                _cancel(connection)
                raise CallCancelled
            if time.monotonic() > deadline:
                raise SandboxUnavailable("The sandbox service does not answer.", START_HINT)
        chunk = connection.recv(CHUNK_BYTES)
        if not chunk:
            return
        pending += chunk


def _readable(connection: Wire, until: float) -> bool:
    """Wait for something to read: until the given time, but at least one poll."""
    # poll, not select: a web process can have more than 1,024 descriptors.
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    seconds = max(until - time.monotonic(), CANCEL_POLL_SECONDS)
    return bool(poller.poll(seconds * 1000))


def _cancel(connection: Wire) -> None:
    """Ask for the call to be stopped and wait, for a while, for the word that it is dead."""
    connection.sendall(line({"method": "cancel", "params": {"id": REQUEST_ID}}))
    with contextlib.suppress(SandboxUnavailable):
        for message in _messages(connection, None, time.monotonic() + CANCEL_SECONDS):
            if message.get("id") == REQUEST_ID:
                return


def _tool_description(tool: JsonObject) -> ToolDescription:
    return ToolDescription(
        export=tool["export"],
        aliases=tuple(str(alias) for alias in tool["aliases"]),
        description=tool["description"],
        input_schema=tool["inputSchema"],
        output_schema=tool.get("outputSchema"),
        raw_string_args=_names(tool.get("rawStringArgs")),
        required_scopes=_names(tool.get("requiredScopes")),
    )


def _names(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(name) for name in value) if isinstance(value, list) else ()


def _family(parent: type[ToolError]) -> Iterator[type[ToolError]]:
    yield parent
    for child in parent.__subclasses__():
        yield from _family(child)


def as_tool_error(error: JsonObject) -> ToolError:
    """Turn the service's error into the class of `registry.errors` with the same code.

    A code without a class is a fault between the service and us, so no tool is blamed for it.
    """
    data = error["data"]
    classes = {cls.code: cls for cls in _family(ToolError) if cls.__module__ == errors.__name__}
    return classes.get(data["code"], ToolUnavailable)(
        error["message"], data["hint"], **data["extra"]
    )


def lost() -> SandboxUnavailable:
    return SandboxUnavailable("The sandbox service ended before it answered.", START_HINT)
