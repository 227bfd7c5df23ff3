"""What is known of a run and of a turn: the half of their handles that needs no transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from outfitter_client.core import API, Core
from outfitter_client.errors import InputNeeded, error_of, run_error
from outfitter_client.events import Following
from outfitter_client.shapes import Event
from outfitter_client.wire import JsonObject, Operation, Reply, Request

RUN_OVER = frozenset({"succeeded", "failed", "cancelled"})
RUN_PAUSED = frozenset({"waiting", "attention"})
TURN_OVER = frozenset({"turn.completed", "turn.failed"})
TURN_WAITS = "turn.waiting"

_DECISIONS = {
    "approval": ("approve", "deny"),
    "credential": ("set", "skip"),
    "question": ("answer", "skip"),
    "agent": ("answer", "skip"),
}
"""What agreeing and refusing are called, by the kind of a request."""


class RunState:
    """A run of a sequence as it was told last."""

    def __init__(self, core: Core, run_id: str, told: Mapping[str, Any] | None = None) -> None:
        """Begin with what is known."""
        self._core = core
        self.id = run_id
        self.data: JsonObject = dict(told or {})

    @property
    def status(self) -> str:
        """How it stands: queued, running, waiting, attention, succeeded, failed or cancelled."""
        return str(self.data.get("status", "queued"))

    @property
    def over(self) -> bool:
        """Whether it is over."""
        return self.status in RUN_OVER

    @property
    def waits(self) -> bool:
        """Whether a person has to say something before it goes on."""
        return self.status in RUN_PAUSED

    @property
    def output(self) -> Any:
        """What it gave; None before its end."""
        return self.data.get("output")

    @property
    def error(self) -> JsonObject | None:
        """Why it failed, as the API has errors."""
        return self.data.get("error")

    @property
    def steps(self) -> Sequence[JsonObject]:
        """What each step did."""
        return self.data.get("steps") or ()

    @property
    def requests(self) -> Sequence[JsonObject]:
        """What it asks a person now."""
        asked = self.data.get("requests") or ()
        return [each for each in asked if each["approved"] is None]

    def __repr__(self) -> str:
        """Return the id and how it stands."""
        return f"{type(self).__name__}({self.id!r}, {self.status})"

    def _path(self, part: str = "") -> str:
        return f"runs/{self.id}/{part}"

    def _refresh(self) -> Operation:
        self.data = yield from self._core.json("GET", self._path())

    def _cancel(self) -> Operation:
        self.data = yield from self._core.json("POST", self._path("cancel/"))

    def _answer(
        self, request: Any, approved: bool, values: Mapping[str, Any] | None, note: str
    ) -> Operation:
        asked = request["id"] if isinstance(request, Mapping) else request
        answer = {"approved": approved, "note": note}
        if values is not None:
            answer["values"] = dict(values)
        self.data = yield from self._core.json(
            "POST", self._path(f"requests/{asked}/"), json=answer
        )

    def _following(self) -> Following:
        told: dict[str, Any] = {}

        def fresh(event: Event) -> bool:
            # who comes back is told all of the run again
            about = event.data.get("id", "") if isinstance(event.data, dict) else ""
            known, told[event.name + about] = told.get(event.name + about), event.data
            return bool(known != event.data)

        def request(_last_id: str) -> Request:
            return Request("GET", API + self._path("events/"), repeatable=True)

        return Following(request, lambda event: event.name == "end", fresh)

    def _take(self, event: Event) -> None:
        if event.name in {"run", "end"} and isinstance(event.data, dict):
            self.data |= {
                name: event.data[name] for name in ("status", "error") if name in event.data
            }

    def _outcome(self) -> Any:
        if self.status == "succeeded":
            return self.output
        if self.waits:
            raise InputNeeded(
                "The run waits for a person.",
                "Look at its requests, and answer() them.",
                extra={"run": self.id},
            )
        raise run_error(self.id, self.status, self.error)


class TurnState:
    """A message and what the agent did about it, as far as its events were read."""

    def __init__(self, core: Core, conversation: str, body: JsonObject) -> None:
        """Begin before the message is sent."""
        self._core = core
        self._conversation = conversation
        self._body = body
        self._key = uuid4().hex
        self._last_id = ""
        self.id = ""
        self.status = "open"
        self.text = ""
        self.error: JsonObject | None = None
        self.usage: JsonObject = {}
        self.found: list[JsonObject] = []
        self.tool_calls: dict[str, JsonObject] = {}
        self._asked: dict[str, JsonObject] = {}

    @property
    def over(self) -> bool:
        """Whether the agent is done."""
        return self.status in {"completed", "failed", "stopped"}

    @property
    def requests(self) -> Sequence[JsonObject]:
        """What a person has to answer before it goes on, as `input.required` told it."""
        return list(self._asked.values())

    def __repr__(self) -> str:
        """Return the id and how it stands."""
        return f"{type(self).__name__}({self.id!r}, {self.status})"

    def raise_for_error(self) -> None:
        """Raise the error that the turn ended with, if it did."""
        if self.error is not None:
            raise error_of(424, self.error, {})

    def _path(self, part: str) -> str:
        return f"conversations/{self._conversation}/{part}"

    def _following(self) -> Following:
        def ends(event: Event) -> bool:
            return event.name in TURN_OVER or event.name == TURN_WAITS

        def opened(reply: Reply) -> None:
            self.id = reply.headers.get("turn-id", self.id)

        return Following(self._request, ends, opened=opened, last_id=self._last_id)

    def answered(self) -> str:
        """Return what the agent said; raise where it waits for a person."""
        if self.requests:
            raise InputNeeded(
                "The agent waits for a person.", "Look at the turn's requests, and answer() them."
            )
        return self.text

    def _request(self, last_id: str) -> Request:
        if not self.id:
            sent = Request("POST", API + self._path("messages/"), json=self._body, repeatable=True)
            return sent.with_headers(idempotency_key=self._key)
        asked = Request("GET", API + self._path(f"turns/{self.id}/events/"), repeatable=True)
        return asked.with_headers(last_event_id=last_id) if last_id else asked

    def _reply(
        self,
        request: Mapping[str, Any],
        approved: bool,
        fields: Mapping[str, Any],
    ) -> Operation:
        agreed, refused = _DECISIONS[request["kind"]]
        answer = {name: value for name, value in fields.items() if value is not None}
        answer["decision"] = agreed if approved else refused
        path = self._path(f"requests/{request['request']}/")
        yield from self._core.json("POST", path, json=answer)
        self._asked.pop(request["request"], None)

    def _take(self, event: Event) -> None:
        data = event.data if isinstance(event.data, dict) else {}
        self._last_id = event.id or self._last_id
        match event.name:
            case "text.delta":
                self.text += data.get("text", "")
            case "tools.found":
                self.found += data.get("tools", [])
            case "tool.call":
                self.text = ""  # the answer is what is said after the last call
                self.tool_calls[str(data.get("id"))] = dict(data)
            case "tool.result":
                self.tool_calls.setdefault(str(data.get("id")), {}).update(data)
            case "input.required" if data.get("request"):
                self._asked[data["request"]] = data
            case "input.answered":
                self._asked.pop(str(data.get("request")), None)
            case "turn.waiting":
                self.status = "waiting"
            case "turn.started" | "turn.resumed":
                self.status = "running"
            case "turn.completed":
                self.status, self.usage = data.get("status", "completed"), data.get("usage") or {}
            case "turn.failed":
                self.status, self.error = "failed", data.get("error") or {}
            case _:
                pass
