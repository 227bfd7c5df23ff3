"""A turn as the page shows it: parts, folded from the turn's events or from its messages.

A running turn is folded from its events, one at a time, so that the page and the live stream
show the same; a turn that is over is folded from its messages, which are far fewer.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from chat.events import Event
from chat.loop import readable
from chat.models import Message, Turn
from chat.models.message import Role
from chat.models.turn import OPEN, TurnStatus
from chat.pictures import Segment, budget_segments, score_segments
from config.lib.types import JsonObject, JsonValue
from registry.code_tool import RUN_CODE
from registry.media import Media, media_in


@dataclass
class Part:
    """One piece of a turn; `id` is unique on the page."""

    id: str = ""
    template: str = ""


@dataclass
class Words(Part):
    """Something the agent said; `busy` while it is still saying it."""

    template: str = "chat/_words.html"
    text: str = ""
    busy: bool = False


WAYS = {"words": "by words", "exact": "by name", "regex": "by pattern"}
"""How a search went, by its mode."""

ORIGINS = {"linked": "Linked", "kept": "Kept from before", "found": "Found now"}
"""Why a model is told of a tool."""


@dataclass
class Found(Part):
    """Why these tools: what a search found, and what the model is told of, as
    `chat.injection.Toolbox.discover` tells it.

    `turn_id` is given where the person may say what it should have found.
    """

    template: str = "chat/_found.html"
    found: JsonObject = field(default_factory=dict)
    turn_id: str = ""

    @property
    def injected(self) -> list[JsonObject]:
        """Return the tools that were added."""
        return [tool for tool in self.found.get("tools", []) if tool["injected"]]

    @property
    def ways(self) -> str:
        """Return how it was searched: `by name and by pattern`."""
        modes = self.found.get("mode", "").split()
        return " and ".join(WAYS[mode] for mode in modes if mode in WAYS) or WAYS["words"]

    @property
    def searched(self) -> bool:
        """Tell whether it was searched at all; earlier turns, which do not say so, all did."""
        return bool(self.found.get("searched", True))

    @property
    def candidates(self) -> list[tuple[JsonObject, list[Segment]]]:
        """Return the tools that were looked at, each with its score as a bar."""
        return [(tool, score_segments(tool)) for tool in self.found.get("tools", [])]

    @property
    def budget(self) -> list[Segment]:
        """Return what the schemas take, as a bar."""
        return budget_segments(self.found.get("tokens") or {})

    @property
    def origins(self) -> list[tuple[str, list[JsonObject]]]:
        """Return the tools that the model is told of, by why it is."""
        visible = self.found.get("visible", [])
        groups = (
            (words, [tool for tool in visible if tool["origin"] == origin])
            for origin, words in ORIGINS.items()
        )
        return [(words, tools) for words, tools in groups if tools]


@dataclass
class CallCard(Part):
    """A tool call; `steps` is `[{number, message, status}]` of a sequence's run, or the calls that
    a program makes, as it goes. `invocation` is the one whose page tells all of them."""

    template: str = "chat/_call.html"
    name: str = ""
    arguments: JsonValue = None
    status: str = "running"
    output: JsonValue = None
    error: JsonObject | None = None
    duration_ms: int | None = None
    run_id: str = ""
    steps: list[JsonObject] = field(default_factory=list)
    logs: list[JsonObject] = field(default_factory=list)
    invocation: str = ""
    media: list[Media] = field(default_factory=list)
    found: Found | None = None
    turn_id: str = ""
    artifact: JsonObject | None = None
    saved: list[JsonObject] = field(default_factory=list)

    @property
    def code(self) -> str:
        """Return the program that the call runs, or nothing."""
        given = self.arguments.get("code") if isinstance(self.arguments, dict) else None
        return given if self.name == RUN_CODE and isinstance(given, str) else ""


@dataclass
class Ending(Part):
    """How a turn ended that did not end with an answer: `failed` or `stopped`."""

    template: str = "chat/_ending.html"
    status: str = ""
    error: JsonObject | None = None


@dataclass(frozen=True)
class Change:
    """A part that is new or that now looks different."""

    part: Part
    new: bool


class TurnView:
    """The parts of one turn, in order; `number` is the last event that is in them.

    `may_label` tells that the person may say what the search should have found.
    """

    def __init__(self, turn_id: UUID, *, may_label: bool = False) -> None:
        self.turn_id = turn_id
        self.may_label = may_label
        self.parts: list[Part] = []
        self.number = 0
        self.over = False
        self._calls: dict[str, CallCard] = {}

    def apply(self, event: Event) -> list[Change]:
        """Take one event in; return the parts to show anew."""
        self.number = event.number
        data = event.data
        match event.name:
            case "text.delta":
                return self._said(data["text"])
            case "tools.found":
                return self._found(data)
            case "tool.call":
                return [*self._quiet(), self._call(data["id"], data["name"], data["arguments"])]
            case "tool.progress":
                return self._progressed(data)
            case "tool.result":
                return self._answered(data["id"], data)
            case "turn.failed":
                return self._ended("failed", data["error"])
            case "turn.completed":
                return self._ended(data.get("status", TurnStatus.COMPLETED), None)
        return []

    def replay(self, messages: Iterable[Message]) -> None:
        """Take in the saved messages of a turn that is over."""
        for message in messages:
            if message.role == Role.ASSISTANT:
                if message.content:
                    self._said(message.content)
                for call in message.tool_calls:
                    self._quiet()
                    self._call(call["id"], call["name"], readable(call["arguments"]))
            elif message.role == Role.TOOL and message.result:
                self._answered(message.tool_call_id, message.result)

    def end(self, turn: Turn) -> None:
        """Take in how the turn ended."""
        self._ended(turn.status, turn.error)

    def show_found(self, found: JsonObject) -> None:
        """Take in what the search for the user's message found."""
        self._found(found)

    def _add(self, part: Part) -> Change:
        part.id = f"turn-{self.turn_id}-{len(self.parts) + 1}"
        self.parts.append(part)
        return Change(part, new=True)

    def _said(self, text: str) -> list[Change]:
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Words) and last.busy:
            last.text += text
            return [Change(last, new=False)]
        return [self._add(Words(text=text, busy=True))]

    def _quiet(self) -> list[Change]:
        """Mark what is being said as said."""
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Words) and last.busy:
            last.busy = False
            return [Change(last, new=False)]
        return []

    def _found(self, found: JsonObject) -> list[Change]:
        card = self._calls.get(found.get("id", ""))
        if card is None:
            missed = self.may_label and found.get("took_ms")  # nothing found where it looked
            telling = found.get("tools") or found.get("error") or found.get("visible") or missed
            turn_id = str(self.turn_id) if self.may_label else ""
            return [self._add(Found(found=found, turn_id=turn_id))] if telling else []
        card.found = Found(id=f"{card.id}-found", found=found)
        return [Change(card, new=False)]

    def _call(self, call_id: str, name: str, arguments: JsonValue) -> Change:
        self._calls[call_id] = card = CallCard(
            name=name, arguments=arguments, turn_id=str(self.turn_id)
        )
        return self._add(card)

    def _progressed(self, note: JsonObject) -> list[Change]:
        card = self._calls.get(note["id"])
        if card is None:
            return []
        _step_noted(card, note)
        return [Change(card, new=False)]

    def _answered(self, call_id: str, record: JsonObject) -> list[Change]:
        card = self._calls.get(call_id)
        if card is None:
            return []
        details = record.get("details") or {}
        card.status = record["status"]
        card.output = record.get("output")
        card.error = record.get("error")
        card.duration_ms = record.get("duration_ms")
        card.run_id = details.get("run_id", card.run_id)
        card.logs = details.get("logs") or []
        card.artifact = details.get("artifact")
        card.saved = details.get("artifacts") or []
        card.invocation = details.get("invocation", "")
        card.media = media_in({"content": record.get("media")})
        if found := details.get("found"):
            card.found = Found(id=f"{card.id}-found", found=found)
        if log := details.get("log"):
            card.steps = [_step_logged(entry) for entry in log]
        elif called := details.get("calls"):
            card.steps = [dict(entry) for entry in called]
        elif not card.steps:
            for note in record.get("progress", []):
                _step_noted(card, note)
        return [Change(card, new=False)]

    def _ended(self, status: str, error: JsonObject | None) -> list[Change]:
        self.over = True
        changes = self._quiet()
        for card in self._calls.values():
            if card.status == "running":
                card.status = "stopped"
                changes.append(Change(card, new=False))
        if status in {TurnStatus.FAILED, TurnStatus.STOPPED}:
            changes.append(self._add(Ending(status=status, error=error)))
        return changes


def may_label(turn: Turn) -> bool:
    """Tell whether the person who sees the turn may say what its search should have found."""
    return turn.conversation.agent.owner_id == turn.conversation.user_id


def view_of(turn: Turn, events: Iterable[Event] = ()) -> TurnView:
    """Return the view of a turn: while it runs by its events, once it is over by its rows."""
    view = TurnView(turn.pk, may_label=may_label(turn))
    if turn.status in OPEN:
        for event in events:
            view.apply(event)
        return view
    if turn.found:
        view.show_found(turn.found)
    view.replay(turn.messages.all())
    view.end(turn)
    return view


def _step_noted(card: CallCard, note: JsonObject) -> None:
    """Add a progress note to a card; a later note of the same step replaces the earlier one."""
    card.run_id = note.get("run") or card.run_id
    message, number = note.get("message", ""), note.get("step")
    step: dict[str, Any] = {"number": number, "message": message, "status": note.get("status", "")}
    for place, earlier in enumerate(card.steps):
        if number is not None and earlier["number"] == number:
            card.steps[place] = step
            return
    card.steps.append(step)


def _step_logged(entry: JsonObject) -> JsonObject:
    return {
        "number": entry.get("stepNumber"),
        "message": entry.get("message") or entry.get("tool"),
        "status": entry.get("status", ""),
    }
