"""Each phase of a call has a time limit of its own, and its error says which it was."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from registry.sandbox.service import calls
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.limits import LOAD_SECONDS, MAX_CALL_SECONDS
from registry.sandbox.service.wire import Answer


class Slow:
    """A guest that lets the time of one method run out."""

    egress = None

    def __init__(self, method: str) -> None:
        self._method = method
        self.limits: dict[str, float] = {}

    def listen(self, _on_log: object) -> None:
        """Say nothing."""

    async def end(self) -> None:
        """Have nothing to end."""

    async def request(self, method: str, _params: dict[str, Any], *, seconds: float) -> Answer:
        """Note the limit; be late where the test says so."""
        self.limits[method] = seconds
        if method == self._method:
            raise TimeoutError
        return Answer(1, {}, 2)


@pytest.mark.parametrize(("method", "phase"), [("load", "load"), ("call", "execute")])
def test_a_call_that_is_late_names_the_phase(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, method: str, phase: str
) -> None:
    guest = Slow(method)

    async def start(*_: object) -> Slow:
        return guest

    monkeypatch.setattr(calls.Guest, "start", start)
    monkeypatch.setattr(calls.Package, "runs", property(lambda _: _Language()))
    package = calls.Package("slow", tmp_path)
    request = calls.CallRequest(export="x", arguments={}, seconds=1000)

    with pytest.raises(ServiceError) as late:
        asyncio.run(calls.call(None, package, request, print, _Pool()))  # type: ignore[arg-type]

    assert (late.value.code, late.value.extra["phase"]) == ("tool_timeout", phase)
    limits = {"load": LOAD_SECONDS, "call": MAX_CALL_SECONDS}
    assert guest.limits == {name: limits[name] for name in guest.limits}
    assert (LOAD_SECONDS, MAX_CALL_SECONDS) == (120, 300)


class _Pool:
    @asynccontextmanager
    async def lease(
        self, _key: object, start: Callable[[], Awaitable[Slow]], **_: object
    ) -> AsyncIterator[Slow]:
        """Have no spare."""
        yield await start()


class _Language:
    def worker(self, *_: object, **__: object) -> None:
        """Have no profile."""
