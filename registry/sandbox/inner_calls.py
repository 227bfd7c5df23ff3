"""Call tools for a program that runs in the sandbox, in threads beside the one that listens."""

import json
import logging
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from types import TracebackType
from typing import Self

from config.lib.carrying import carried
from config.lib.types import JsonObject, JsonValue
from registry.errors import ToolError, ToolFailed
from registry.sandbox.contract import InnerCall, NotTold, Take, Told

logger = logging.getLogger(__name__)

AT_ONCE = 8
# Calls end soon after they are cancelled; one that does not must not hold up the answer.
END_SECONDS = 5.0


def line(message: JsonObject) -> bytes:
    """Return a message as one line."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


class Wire:
    """A connection that several threads write to and one reads from."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._writing = threading.Lock()

    def sendall(self, data: bytes) -> None:
        """Write all of it, with nothing of another thread in between."""
        with self._writing:
            self._connection.sendall(data)

    def recv(self, size: int) -> bytes:
        """Read what is there."""
        return self._connection.recv(size)

    def fileno(self) -> int:
        """Return the descriptor, to wait for."""
        return self._connection.fileno()


def taking(tools: Mapping[str, InnerCall]) -> Take:
    """Return what takes calls by what `tools` has for their names."""

    def take(name: str, _arguments: JsonObject) -> InnerCall:
        return tools[name]

    return take


class InnerCalls:
    """The calls that one program makes; on leaving, those under way are cancelled and waited for.

    Threads are made when there is something for them to do.
    """

    def __init__(self, connection: socket.socket, take: Take) -> None:
        self.wire = Wire(connection)
        self._taken = take
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="code-call")
        self._running: dict[int, tuple[Future[None], threading.Event]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        running = list(self._running.values())
        for _, cancel in running:
            cancel.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        wait([future for future, _ in running], timeout=END_SECONDS)

    def take(self, message: JsonObject) -> bool:
        """Take a message that is about a call; return whether it was."""
        params = message["params"]
        if message["method"] == "tool":
            number, cancel = params["call"], threading.Event()
            name, arguments = params["name"], params["arguments"]
            call = self._taken(name, arguments)
            do = partial(self._call, number, name, call, arguments, cancel)
            work = self._threads.submit(carried(do))
            self._running[number] = work, cancel
            work.add_done_callback(lambda _: self._running.pop(number, None))
            return True
        if message["method"] == "drop":
            future_and_cancel = self._running.get(params["call"])
            if future_and_cancel:
                future_and_cancel[1].set()
            return True
        return False

    def _call(
        self,
        number: int,
        name: str,
        call: InnerCall,
        arguments: JsonObject,
        cancel: threading.Event,
    ) -> None:
        answer: JsonObject = {"call": number}
        try:
            answer |= _answered(call(arguments, cancel))
        except NotTold:
            return
        except ToolError as error:
            answer["error"] = _told(error)
        except Exception:  # the boundary: the program must get an answer
            logger.exception("%s, called by code, failed unexpectedly", name)
            answer["error"] = _told(ToolFailed(f"{name} failed unexpectedly."))
        try:
            self.wire.sendall(line({"method": "answer", "params": answer}))
        except OSError:
            logger.debug("the program had ended before %s answered", name)


def _answered(given: JsonValue | Told) -> JsonObject:
    if not isinstance(given, Told):
        return {"result": given}
    said = {"result": given.value} if given.error is None else {"error": given.error}
    return {**said, "seconds": given.seconds}


def _told(error: ToolError) -> JsonObject:
    return {"code": error.code, "message": error.message, "hint": error.hint}
