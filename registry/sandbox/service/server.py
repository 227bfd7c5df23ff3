"""Speak JSON-RPC 2.0 with clients over the unix socket, one object per line.

Requests of one connection run at the same time; a `cancel {id}` notification stops one, and a
client that goes away stops all of its own.
"""

import asyncio
import json
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

from config.lib.logs import IDS, noted
from registry.sandbox.service.asking import Questions
from registry.sandbox.service.code_execution import Ask
from registry.sandbox.service.engine import Engine
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import MAX_LINE_BYTES
from registry.sandbox.service.process import LogSink
from registry.sandbox.service.stdio import Channel

logger = logging.getLogger("sandboxd")

Method = Callable[[dict[str, Any], LogSink], Awaitable[dict[str, Any]]]
AskingMethod = Callable[[dict[str, Any], LogSink, Ask], Awaitable[dict[str, Any]]]
"""A method that asks its client in turn, while it works."""
Stream = Callable[[dict[str, Any], Channel], Awaitable[dict[str, Any]]]
"""A method during which client and process exchange `message` notifications."""


def peer_uid(connection: socket.socket) -> int:
    """Return the user id of the process at the other end (SO_PEERCRED)."""
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    uid: int = struct.unpack("3i", credentials)[1]
    return uid


class BadRequest(Exception):
    """A client sent a line that is no request."""


def parse_request(line: bytes) -> tuple[int | None, str, dict[str, Any], dict[str, str]]:
    """Return `(id, method, params, ids)` of a line; the id of a notification is None.

    `ids` are those of the request, turn and run around it, for the log; see `config.lib.logs`.
    """
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
    return request_id, method, params, _ids_in(request.get("ids"))


def _ids_in(told: object) -> dict[str, str]:
    if not isinstance(told, dict):
        return {}
    return {name: value[:64] for name in IDS if isinstance(value := told.get(name), str)}


class Server:
    """Accepts clients of the allowed users and runs their requests."""

    def __init__(self, engine: Engine, allowed_uids: frozenset[int]) -> None:
        self._allowed_uids = allowed_uids
        self._clients: set[asyncio.Task[None]] = set()
        self._methods: dict[str, Method] = {
            "status": engine.status,
            "build": engine.build,
            "search": engine.search,
            "newest": engine.newest,
            "put": engine.put,
            "advisories": engine.advisories,
            "describe": engine.describe,
            "call": engine.call,
            "forget": engine.forget,
            "collect": engine.collect,
        }
        self._asking: dict[str, AskingMethod] = {"execute": engine.execute}
        self._streams: dict[str, Stream] = {"open_stdio": engine.open_stdio}

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client until it goes away."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)

    async def close(self) -> None:
        """Stop what clients have under way; nothing of it runs when this returns."""
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            uid = peer_uid(writer.get_extra_info("socket"))
            if uid in self._allowed_uids:
                await Connection(self._methods, self._asking, self._streams, reader, writer).serve()
            else:
                logger.warning("refused a client of user %s", uid)
        finally:
            # The client has gone or is being dropped: nothing is left to flush, or to wait for.
            writer.transport.abort()


class Connection:
    """One client and the requests it has under way."""

    def __init__(
        self,
        methods: dict[str, Method],
        asking: dict[str, AskingMethod],
        streams: dict[str, Stream],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._methods = methods
        self._asking = asking
        self._questions = Questions(self._write)
        self._streams = streams
        self._reader = reader
        self._writer = writer
        self._running: dict[int, asyncio.Task[None]] = {}
        self._channels: dict[int, Channel] = {}

    async def serve(self) -> None:
        """Take requests until the input ends, then stop what still runs."""
        try:
            while line := await self._reader.readline():
                self._take(line)
        except (BadRequest, ConnectionError, ValueError) as error:
            # A client that does not speak JSON-RPC (or a line too long) has a fault of its own.
            logger.warning("dropped a client: %s", type(error).__name__)
        finally:
            tasks = list(self._running.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _take(self, line: bytes) -> None:
        request_id, method, params, ids = parse_request(line)
        if method == "cancel":
            task = self._running.get(params.get("id", -1))
            if task is not None:
                task.cancel()
            return
        if method == "answer":
            self._questions.answered(params)
            return
        if method == "message":
            self._pass_on(params)
            return
        if request_id is None or request_id in self._running:
            raise BadRequest
        if method in self._streams:
            self._channels[request_id] = self._channel(request_id)
        with noted(**ids):  # the task keeps them
            task = asyncio.create_task(self._run(request_id, method, params))
        self._running[request_id] = task

    def _pass_on(self, params: dict[str, Any]) -> None:
        """Hand a message of the client to the process; one for a process that ended is dropped."""
        channel = self._channels.get(params.get("id", -1))
        if channel is None:
            return
        message = params.get("message")
        if not isinstance(message, dict) or channel.inbox.full():
            raise BadRequest
        channel.inbox.put_nowait(message)

    def _channel(self, request_id: int) -> Channel:
        async def emit(message: dict[str, Any]) -> None:
            params = {"id": request_id, "message": message}
            await self._send({"method": "message", "params": params})

        return Channel(emit, self._log_sink(request_id))

    def _log_sink(self, request_id: int) -> LogSink:
        def on_log(level: str, text: str) -> None:
            log = {"id": request_id, "level": level, "text": text}
            self._write({"method": "log", "params": log})

        return on_log

    async def _run(self, request_id: int, method: str, params: dict[str, Any]) -> None:
        try:
            await self._send({"id": request_id, **await self._answer(request_id, method, params)})
        except ConnectionError:
            logger.info("a client left before its answer")
        finally:
            self._running.pop(request_id, None)
            self._channels.pop(request_id, None)

    async def _answer(self, request_id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Run a method; every way it can end becomes a result or an error."""
        on_log = self._log_sink(request_id)
        logger.debug("%s", method)
        if method in self._streams:
            running = self._streams[method](params, self._channels[request_id])
        elif method in self._asking:
            running = self._asking[method](params, on_log, self._questions.asker(request_id))
        elif method in self._methods:
            running = self._methods[method](params, on_log)
        else:
            return {"error": ServiceError("invalid_request", "There is no such method.").as_rpc()}
        try:
            return {"result": await running}
        except ServiceError as error:
            return {"error": error.as_rpc()}
        except asyncio.CancelledError:
            return {"error": ServiceError("cancelled", "The call was cancelled.").as_rpc()}
        except Exception:
            # The boundary of the service: a fault of ours must not look like a lost connection.
            logger.exception("%s failed", method)
            message = "The sandbox service met an error of its own."
            hint = "Its log says more; try again, and report it if it stays."
            return {"error": ServiceError("sandbox_error", message, hint).as_rpc()}

    def _write(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _send(self, message: dict[str, Any]) -> None:
        self._write(message)
        await self._writer.drain()


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
        await server.close()
        await engine.close()
