"""Run a package that speaks MCP over stdin and stdout, and pass its messages on.

The package is a stranger: a line too long, too many messages, too many bytes or too much that is
not JSON ends it. What it prints besides (many servers greet) becomes log lines.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import (
    MAX_LINE_BYTES,
    MAX_LOG_CHARACTERS,
    MAX_STDIO_BYTES,
    MAX_STDIO_MESSAGES,
    MAX_STRAY_LINES,
    STDIN_SECONDS,
)
from registry.sandbox.service.process import LogSink, crash
from registry.sandbox.service.profile import Profile, prepare
from registry.sandbox.service.runtime import Runtime
from registry.sandbox.service.spawn import CHUNK_BYTES, Sandbox
from registry.sandbox.service.wants import Wants
from registry.sandbox.service.wire import LINE_FEED, LineTooLong, Violation, parse_json

Emit = Callable[[dict[str, Any]], Awaitable[None]]
"""Sends one message of the server to the client, waiting while the client is slow."""

MAX_INBOX = 256


@dataclass(slots=True)
class Channel:
    """The client's end: what it sends is put into `inbox`; `emit` sends to it."""

    emit: Emit
    on_log: LogSink
    inbox: asyncio.Queue[dict[str, Any]] = field(default_factory=lambda: asyncio.Queue(MAX_INBOX))


async def converse(
    runtime: Runtime,
    profile: Profile,
    channel: Channel,
    *,
    name: str,
    environment: Mapping[str, str],
    seconds: float,
) -> dict[str, Any]:
    """Carry messages both ways until the process ends; returns `{duration_ms}`.

    The server begins when it has got its environment, which is sent once its way out is open.
    Raises `ServiceError` when the process fails, breaks a rule or takes longer than `seconds`, and
    when a call fails for want of a host or a key.
    The process is dead when this returns, raises or is cancelled.
    """
    started = time.monotonic()
    sandbox = await Sandbox.spawn(prepare(runtime, profile))
    wants = Wants(sandbox.egress)
    writer = asyncio.create_task(_write(sandbox, channel, environment, wants))
    try:
        async with asyncio.timeout(seconds):
            await _Reader(sandbox, channel, wants).run()
            finished = await sandbox.finished()
    except TimeoutError:
        message = f"{name} did not end within {seconds:g} seconds."
        raise ServiceError("tool_timeout", message, during="call") from None
    except Violation as violation:
        message = f"{name} was stopped because it sent {violation}."
        raise ServiceError(violation.code, message) from None
    finally:
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
        await sandbox.end()
    if finished.code != 0:
        raise wants.of_crash(crash(finished))
    return {"duration_ms": round((time.monotonic() - started) * 1000)}


class _Reader:
    """Reads the process's output under its limits."""

    def __init__(self, sandbox: Sandbox, channel: Channel, wants: Wants) -> None:
        self._wants = wants
        self._sandbox = sandbox
        self._channel = channel
        self._bytes = 0
        self._messages = 0
        self._stray = 0
        self._log_room = MAX_LOG_CHARACTERS

    async def run(self) -> None:
        """Take lines until the output ends; raises `Violation`."""
        stdout = self._sandbox.process.stdout
        assert stdout is not None  # noqa: S101 - opened as a pipe
        pending = bytearray()
        while chunk := await stdout.read(CHUNK_BYTES):
            self._count(len(chunk))
            searched = len(pending)
            pending += chunk
            while (end := pending.find(LINE_FEED, searched)) >= 0:
                line = bytes(pending[:end])
                del pending[: end + 1]
                searched = 0
                await self._take(line)
            if len(pending) > MAX_LINE_BYTES:
                raise LineTooLong(f"a line of more than {MAX_LINE_BYTES >> 20} MB")

    def _count(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MAX_STDIO_BYTES:
            raise LineTooLong(f"more than {MAX_STDIO_BYTES >> 20} MB in all")

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        message = _message(line)
        if message is None:
            self._stray_line(line)
            return
        self._messages += 1
        if self._messages > MAX_STDIO_MESSAGES:
            raise Violation(f"more than {MAX_STDIO_MESSAGES:,} messages")
        if self._wants.takes(message):
            return
        if failure := self._wants.failure_in(message):
            raise failure
        await self._channel.emit(message)

    def _stray_line(self, line: bytes) -> None:
        """Log what is no message; a server that does little else is none."""
        self._stray += 1
        if self._stray > MAX_STRAY_LINES:
            raise Violation(f"more than {MAX_STRAY_LINES} lines that are not JSON-RPC messages")
        text = line.decode("utf-8", "replace")[: self._log_room]
        if text:
            self._log_room -= len(text)
            self._channel.on_log("info", text)


def _message(line: bytes) -> dict[str, Any] | None:
    """Return the JSON-RPC message in a line; None when it is something else."""
    try:
        value = parse_json(line)
    except Violation:
        return None
    return value if isinstance(value, dict) and value.get("jsonrpc") == "2.0" else None


async def _write(
    sandbox: Sandbox, channel: Channel, environment: Mapping[str, str], wants: Wants
) -> None:
    """Send the environment, then what the client sends; one that does not read is killed."""
    stdin = sandbox.process.stdin
    assert stdin is not None  # noqa: S101 - opened as a pipe
    stdin.write(json.dumps({"env": dict(environment)}).encode() + LINE_FEED)
    while True:
        message = await channel.inbox.get()
        wants.sent(message)
        try:
            stdin.write(json.dumps(message).encode() + LINE_FEED)
            async with asyncio.timeout(STDIN_SECONDS):
                await stdin.drain()
        except (ConnectionError, TimeoutError):
            # The reader sees the end of the output and tells why.
            sandbox.kill()
            return
