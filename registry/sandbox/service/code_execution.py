"""What one program does while it runs: its calls of tools and its output, within bounds."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from registry.sandbox.service.code_wire import ToolRequest
from registry.sandbox.service.limits import (
    CODE_ARGUMENT_BYTES,
    CODE_CALL_SECONDS,
    CODE_CALLS_AT_ONCE,
    CODE_SECONDS,
    MAX_CODE_CALLS,
    MAX_NOTIFICATIONS,
    MAX_PRINT_CHARACTERS,
    MB,
    PRINT_FLOOD_CHARACTERS,
)
from registry.sandbox.service.wire import Notification, Violation

Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Has a tool called by whoever sent the program: `(name, arguments)` → `{result}` or
`{error: {code, message, hint}}`."""

Print = Callable[[str], None]
"""Takes what the program prints."""

# Codes of JSON-RPC 2.0 that the program is told beside the words.
NO_SUCH_METHOD, TOOL_ERROR = -32601, -32000


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, the tools it may call by name, and how long it and each call may take.

    `start` is `{seed, clock}` of one whose chance and time are given.
    """

    code: str = field(repr=False)
    tools: frozenset[str]
    seconds: float = CODE_SECONDS
    call_seconds: float = CODE_CALL_SECONDS
    start: dict[str, Any] | None = None


class Execution:
    """The calls and the output of one program while it runs."""

    def __init__(
        self,
        program: Program,
        ask: Ask,
        on_print: Print,
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        self._program = program
        self._ask = ask
        self._on_print = on_print
        self._send = send
        self._places = asyncio.Semaphore(CODE_CALLS_AT_ONCE)
        self._running: set[asyncio.Task[None]] = set()
        self._seen: set[int] = set()
        self._notifications = 0
        self._waiting_bytes = 0
        self.printed = 0

    @property
    def calls(self) -> int:
        """How many times the program asked for a tool."""
        return len(self._seen)

    def take_request(self, request: ToolRequest) -> None:
        """Start one call of a tool; raises `Violation`."""
        if request.id in self._seen:
            raise Violation("two calls with one id")
        if len(self._seen) >= MAX_CODE_CALLS:
            raise Violation(f"more than {MAX_CODE_CALLS} calls of tools")
        self._seen.add(request.id)
        self._waiting_bytes += request.size
        if self._waiting_bytes > CODE_ARGUMENT_BYTES:
            raise Violation(f"more than {CODE_ARGUMENT_BYTES // MB} MB of arguments at a time")
        task = asyncio.create_task(self._call(request))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def take_notification(self, message: Notification) -> None:
        """Pass on what was printed, up to the cap; raises `Violation`."""
        self._notifications += 1
        if self._notifications > MAX_NOTIFICATIONS:
            raise Violation(f"more than {MAX_NOTIFICATIONS:,} messages")
        text = message.params.get("text")
        if message.method != "print" or not isinstance(text, str):
            raise Violation("a notification that prints nothing")
        room = MAX_PRINT_CHARACTERS - self.printed
        self.printed += len(text)
        if self.printed > PRINT_FLOOD_CHARACTERS:
            raise Violation("a flood of output")
        if room > 0:
            self._on_print(text[:room])

    async def close(self) -> None:
        """Give up the calls that are under way."""
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _call(self, request: ToolRequest) -> None:
        try:
            if request.name in self._program.tools:
                answer = await self._answer(request)
            else:
                message = f"There is no tool named “{request.name[:64]}” here."
                answer = _refusal("unknown_tool", message, rpc_code=NO_SUCH_METHOD)
        finally:
            self._waiting_bytes -= request.size
        await self._send({"id": request.id, **answer})

    async def _answer(self, request: ToolRequest) -> dict[str, Any]:
        async with self._places:
            try:
                async with asyncio.timeout(self._program.call_seconds):
                    answer = await self._ask(request.name, request.arguments)
            except TimeoutError:
                seconds = f"{self._program.call_seconds:g}"
                message = f"{request.name} did not answer within {seconds} seconds."
                return _refusal("tool_timeout", message)
        took = {"seconds": answer["seconds"]} if "seconds" in answer else {}
        if "error" in answer:
            error = answer["error"]
            refusal = _refusal(error["code"], error["message"], hint=error["hint"])
            return refusal | took
        return {"result": answer.get("result")} | took


def _refusal(
    code: str, message: str, *, hint: str = "", rpc_code: int = TOOL_ERROR
) -> dict[str, Any]:
    data = {"code": code, "hint": hint}
    return {"error": {"code": rpc_code, "message": message, "data": data}}
