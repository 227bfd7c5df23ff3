"""Speak JSON-RPC 2.0 with clients over the unix socket, one object per line.

Requests of one connection run at the same time; a `cancel {id}` notification stops one, and a
client that goes away stops all of its own.
"""

import asyncio
import contextlib
import json
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from registry.sandbox.service.engine import Engine
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MAX_LINE_BYTES
from registry.sandbox.service.process import LogSink

logger = logging.getLogger("sandboxd")

Method = Callable[[dict[str, Any], LogSink], Awaitable[dict[str, Any]]]


def peer_uid(connection: socket.socket) -> int:
    """Return the user id of the process at the other end (SO_PEERCRED)."""
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    uid: int = struct.unpack("3i", credentials)[1]
    return uid


class BadRequest(Exception):
    """A client sent a line that is no request."""


def parse_request(line: bytes) -> tuple[int | None, str, dict[str, Any]]:
    """Return `(id, method, params)` of a line; the id of a notification is None."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRequest from error
    if not isinstance(request, dict):
        raise BadRequest
    request_id, method, params = request.get("id"), request.get("method"), request.get("params", {})
    known_id = request_id is None or type(request_id) is int
    if not known_id or not isinstance(method, str) or not isinstance(params, dict):
        raise BadRequest
    return request_id, method, params


class Server:
    """Accepts clients of the allowed users and runs their requests."""

    def __init__(self, engine: Engine, allowed_uids: frozenset[int]) -> None:
        self._allowed_uids = allowed_uids
        self._methods: dict[str, Method] = {
            "status": engine.status,
            "build": engine.build,
            "describe": engine.describe,
            "call": engine.call,
        }

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client until it goes away."""
        try:
            uid = peer_uid(writer.get_extra_info("socket"))
            if uid in self._allowed_uids:
                await Connection(self._methods, reader, writer).serve()
            else:
                logger.warning("refused a client of user %s", uid)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


class Connection:
    """One client and the requests it has under way."""

    def __init__(
        self,
        methods: dict[str, Method],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._methods = methods
        self._reader = reader
        self._writer = writer
        self._running: dict[int, asyncio.Task[None]] = {}

    async def serve(engine: Engine, listener: socket.socket, allowed_uids: frozenset[int]) -> None:
    """Serve until cancelled; writes `ready` to the log when clients may come."""
    server = Server(engine, allowed_uids)
    limit = 2 * MAX_LINE_BYTES
    running = await asyncio.start_unix_server(server.accept, sock=listener, limit=limit)
    try:
        report = await engine.report()
        for check in report.checks:
            if not check.ok:
                logger.error("%s: %s Mend it: %s", check.name, check.detail, check.fix)
        logger.info("ready (%s)", "bwrap" if report.ok else "disabled")
        # Not `serve_forever`: when cancelled it waits for the clients, which wait for their calls.
        await asyncio.Event().wait()
    finally:
        running.close()
