"""What the service asks a client while it works for it: to call a tool that a program wants."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

from registry.sandbox.service.code_execution import Ask

Write = Callable[[dict[str, Any]], None]


class NoAnswer(ValueError):
    """A client answered in a way that cannot be understood."""


class Questions:
    """The calls that one client has been asked for and has not answered yet."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._numbers = count(1)
        self._open: dict[int, asyncio.Future[dict[str, Any]]] = {}

    def asker(self, request_id: int) -> Ask:
        """Return the function by which one request of the client has tools called.

        The client is sent `tool {id, call, name, arguments}` and answers `answer {call, result}`
        or `answer {call, error: {code, message, hint}}`, with `seconds` where the program is to
        think that it took so long; `drop {id, call}` tells it that nobody waits any more.
        """

        async def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            number = next(self._numbers)
            place = {"id": request_id, "call": number}
            answer = asyncio.get_running_loop().create_future()
            self._open[number] = answer
            try:
                self._write(
                    {"method": "tool", "params": {**place, "name": name, "arguments": arguments}}
                )
                found: dict[str, Any] = await answer
            except asyncio.CancelledError:
                self._write({"method": "drop", "params": place})
                raise
            else:
                return found
            finally:
                del self._open[number]

        return ask

    def answered(self, params: dict[str, Any]) -> None:
        """Take an answer; one that comes too late is nobody's. Raises `NoAnswer`."""
        number = params.get("call")
        if type(number) is not int or ("result" in params) == ("error" in params):
            raise NoAnswer
        found: dict[str, Any] = (
            {"result": params["result"]} if "result" in params else _error(params["error"])
        )
        seconds = params.get("seconds")
        if isinstance(seconds, int | float) and seconds >= 0:
            found["seconds"] = float(seconds)
        answer = self._open.get(number)
        if answer is not None and not answer.done():
            answer.set_result(found)


def _error(error: Any) -> dict[str, Any]:
    if not isinstance(error, dict):
        raise NoAnswer
    return {"error": {key: str(error.get(key, "")) for key in ("code", "message", "hint")}}
