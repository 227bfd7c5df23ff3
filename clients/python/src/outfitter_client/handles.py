"""A run, a conversation and a turn, for ordinary code."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self

from outfitter_client.core import Core
from outfitter_client.events import Following, too_late
from outfitter_client.shapes import Event
from outfitter_client.states import RunState, TurnState
from outfitter_client.wire import JsonObject, Operation


class Client(Protocol):
    """What handles need of the client."""

    def _do(self, operation: Operation) -> Any: ...
    def _follow(self, following: Following, until: float | None = None) -> Iterator[Event]: ...


class Run(RunState):
    """A run of a sequence. It goes on whether or not somebody follows it."""

    def __init__(
        self, client: Client, core: Core, run_id: str, told: Mapping[str, Any] | None = None
    ) -> None:
        """Take the handle of a run."""
        super().__init__(core, run_id, told)
        self._client = client

    def events(self) -> Iterator[Event]:
        """Follow the run to its end: each `step` and `run` as it changes, and at last `end`."""
        for event in self._client._follow(self._following()):
            self._take(event)
            yield event

    def wait(self, timeout: float | None = None, *, until_waiting: bool = False) -> Self:
        """Return when the run is over; with `until_waiting` also when it waits for a person."""
        until = None if timeout is None else time.monotonic() + timeout
        for event in self._client._follow(self._following(), until):
            self._take(event)
            if self.waits and until_waiting:
                break
        self.refresh()
        if not (self.over or (self.waits and until_waiting)) and timeout is not None:
            raise too_late(f"The run {self.id}", timeout)
        return self

    def result(self, timeout: float | None = None) -> Any:
        """Return the output once the run is over; raise why it failed or whom it waits for."""
        return self.wait(timeout, until_waiting=True)._outcome()

    def refresh(self) -> Self:
        """Read how the run stands."""
        self._client._do(self._refresh())
        return self

    def cancel(self) -> Self:
        """Cancel the run: at once while it waits, else as soon as its worker sees it."""
        self._client._do(self._cancel())
        return self

    def answer(
        self,
        request: str | Mapping[str, Any],
        *,
        approved: bool = True,
        values: Mapping[str, Any] | None = None,
        note: str = "",
    ) -> Self:
        """Answer what the run asks, one of `requests`; it goes on."""
        self._client._do(self._answer(request, approved, values, note))
        return self


class Chat:
    """A conversation with an agent."""

    def __init__(self, client: Client, core: Core, conversation: str) -> None:
        """Take the handle of a conversation."""
        self._client, self._core = client, core
        self.id = conversation

    def send(self, message: str, *, env: Mapping[str, str] | None = None) -> Turn:
        """Send a message, as soon as the turn's events are read; `env` are variables for tools."""
        body: JsonObject = {"content": message, **({"env": dict(env)} if env else {})}
        return Turn(self._client, self._core, self.id, body)

    def ask(self, message: str, *, env: Mapping[str, str] | None = None) -> str:
        """Send a message and return the agent's answer."""
        return self.send(message, env=env).wait().answered()


class Turn(TurnState):
    """A message and what the agent does about it; going through it yields the events.

    It stops where the turn is over or waits for a person; going through it again goes on.
    """

    def __init__(self, client: Client, core: Core, conversation: str, body: JsonObject) -> None:
        """Take the handle of a turn that is still to be sent."""
        super().__init__(core, conversation, body)
        self._client = client

    def __iter__(self) -> Iterator[Event]:
        """Send the message, or go on behind the last event."""
        if self.over:
            return
        for event in self._client._follow(self._following()):
            self._take(event)
            yield event

    def wait(self) -> Self:
        """Return when the turn is over or waits for a person; raise what it failed with."""
        for _ in self:
            pass
        self.raise_for_error()
        return self

    def answer(self, request: Mapping[str, Any], *, approved: bool = True, **fields: Any) -> Self:
        """Answer one of `requests`: `values` of a credential, `text` of a question, `note`, …."""
        self._client._do(self._reply(request, approved, fields))
        return self
