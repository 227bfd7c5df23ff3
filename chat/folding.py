"""Fold a turn into parts: from its events while it is open, from its rows once it is over.

A running turn is folded from its events, one at a time, so that the page and the live stream
show the same; a turn that is over is folded from its messages, which are far fewer.
"""

from collections.abc import Iterable
from uuid import UUID

from django.utils.dateparse import parse_datetime

from chat.call_records import answer_taken, step_noted
from chat.events import Event
from chat.loop import readable
from chat.models import Message, Turn
from chat.models.input_request import InputKind
from chat.models.message import Role
from chat.models.turn import OPEN, TurnStatus
from chat.notes import NOTES, note_of, notes_of_step
from chat.parts import UNDER_WAY, Ask, CallCard, Change, Ending, Found, Group, Note, Part, Words
from chat.requests_shown import ask_of_event, ask_of_row
from config.lib.types import JsonObject, JsonValue
from registry.questions import ASK_USER

TOLD = ("decision", "changed", "text", "note")
"""What is shown of an answer."""


class TurnView:
    """The parts of one turn, in order; `number` is the last event that is in them.

    `may_label` tells that the person may say what the search should have found; `agent` is the
    agent's name where the agent is theirs.
    """

    def __init__(self, turn_id: UUID, *, may_label: bool = False, agent: str = "") -> None:
        self.turn_id = turn_id
        self.may_label = may_label
        self.agent = agent
        self.parts: list[Part] = []
        self.number = 0
        self.over = False
        self._made = 0
        self._calls: dict[str, CallCard] = {}
        self._asks: dict[str, Ask] = {}

    @property
    def waiting_for(self) -> list[Ask]:
        """Return what the person is still asked."""
        return [ask for ask in self._asks.values() if ask.answer is None and ask.open]

    def apply(self, event: Event) -> list[Change]:
        """Take one event in; return the parts to show anew."""
        self.number = event.number
        data = event.data
        match event.name:
            case "text.delta":
                return self._said(data["text"])
            case "tools.found":
                return self._found(data)
            case "tool.drafting":
                return self._drafted(data)
            case "tool.call":
                at = parse_datetime(data.get("started_at") or "")
                changes = self._call(data["id"], data["name"], data["arguments"])
                self._calls[data["id"]].started_at = at
                return changes
            case "tool.progress":
                return self._progressed(data)
            case "tool.result":
                return self._answered(data["id"], data)
            case "input.required" if data.get("request"):
                return self._asked(ask_of_event(data))
            case "input.answered":
                return self._decided(data)
            case "turn.started" | "turn.resumed":
                return self._resumed()
            case "turn.failed":
                return self._ended("failed", data["error"])
            case "turn.completed":
                return self._ended(data.get("status", TurnStatus.COMPLETED), None)
            case name if name in NOTES:
                return [*self._undrafted(), *self._noted(note_of(name, data))]
        return []

    def replay(self, turn: Turn) -> None:
        """Take in the saved rows of a turn that is over."""
        asks = [ask_of_row(row) for row in turn.input_requests.all()]
        notes = {step.number: notes_of_step(step) for step in turn.steps.all()}
        answers = 0
        for message in turn.messages.all():
            if message.role == Role.ASSISTANT:
                answers += 1
                for text in notes.get(answers, ()):
                    self._noted(text)
                self._replay_said(message, asks)
            elif message.role == Role.TOOL and message.result:
                self._answered(message.tool_call_id, message.result)

    def end(self, turn: Turn) -> None:
        """Take in how the turn ended."""
        self._ended(turn.status, turn.error)

    def show_found(self, found: JsonObject) -> None:
        """Take in what the search for the user's message found."""
        self._found(found)

    def _replay_said(self, message: Message, asks: list[Ask]) -> None:
        if message.content:
            self._said(message.content)
        for call in message.tool_calls:
            self._call(call["id"], call["name"], readable(call["arguments"]))
        ids = {call["id"] for call in message.tool_calls}
        for ask in asks:
            if ask.call_id in ids:
                self._asked(ask)

    def _new_id(self) -> str:
        self._made += 1
        return f"turn-{self.turn_id}-{self._made}"

    def _add(self, part: Part) -> list[Change]:
        """Put a part at the end; calls that it follows are folded up."""
        changes = self._quiet()
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Group) and not last.folded:
            last.folded = True
            changes.append(Change(last, new=False))
        part.id = part.id or self._new_id()
        self.parts.append(part)
        return [*changes, Change(part, new=True)]

    def _remove(self, part: Part) -> Change:
        self.parts.remove(part)
        return Change(part, new=False, gone=True)

    def _said(self, text: str) -> list[Change]:
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Words) and last.busy:
            last.text += text
            return [Change(last, new=False)]
        return self._add(Words(text=text, busy=True))

    def _quiet(self) -> list[Change]:
        """Mark what is being said as said."""
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Words) and last.busy:
            last.busy = False
            return [Change(last, new=False)]
        return []

    def _noted(self, text: str) -> list[Change]:
        return self._add(Note(text=text)) if text else []

    def _found(self, found: JsonObject) -> list[Change]:
        card = self._calls.get(found.get("id", ""))
        if card is None:
            missed = self.may_label and found.get("took_ms")  # nothing found where it looked
            telling = found.get("tools") or found.get("error") or found.get("visible") or missed
            turn_id = str(self.turn_id) if self.may_label else ""
            return self._add(Found(found=found, turn_id=turn_id)) if telling else []
        card.found = Found(id=f"{card.id}-found", found=found)
        return [Change(card, new=False)]

    def _drafted(self, data: JsonObject) -> list[Change]:
        card = self._calls.get(data["id"])
        changes = [] if card else self._call(data["id"], data["name"], None)
        card = self._calls[data["id"]]
        if not changes and card.status != "drafting":
            return []  # a late word on a call that is made already
        card.status, card.drafted = "drafting", data.get("size", 0)
        return changes or [Change(card, new=False, progress=True)]

    def _undrafted(self) -> list[Change]:
        """Take away the calls that the model never finished writing."""
        changes: list[Change] = []
        for call_id, card in list(self._calls.items()):
            if card.status == "drafting":
                del self._calls[call_id]
                changes += self._dropped(card)
        return changes

    def _dropped(self, card: CallCard) -> list[Change]:
        group = next(p for p in self.parts if isinstance(p, Group) and card in p.cards)
        if len(group.cards) == 1:
            return [self._remove(group)]
        group.cards.remove(card)
        return [Change(card, new=False, gone=True), Change(group, new=False)]

    def _call(self, call_id: str, name: str, arguments: JsonValue) -> list[Change]:
        if card := self._calls.get(call_id):  # it was drafted, or is taken up again
            card.name, card.arguments, card.status = name, arguments, "running"
            card.error = None
            return self._redrawn(card)
        card = CallCard(name=name, arguments=arguments, turn_id=str(self.turn_id))
        self._calls[call_id] = card
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Group):
            card.id = self._new_id()
            last.cards.append(card)
            into = Change(card, new=True, into=f"{last.id}-calls")
            return [into, Change(last, new=False)]
        group = Group(cards=[card])
        changes = self._add(group)
        card.id = self._new_id()
        return changes

    def _redrawn(self, card: CallCard) -> list[Change]:
        """Return the changes that show a card, and the line over it, as they are now."""
        group = next(p for p in self.parts if isinstance(p, Group) and card in p.cards)
        return [Change(card, new=False), Change(group, new=False)]

    def _progressed(self, note: JsonObject) -> list[Change]:
        card = self._calls.get(note["id"])
        if card is None:
            return []
        step_noted(card, note)
        return [Change(card, new=False, progress=True)]

    def _answered(self, call_id: str, record: JsonObject) -> list[Change]:
        card = self._calls.get(call_id)
        if card is None:
            return []
        answer_taken(card, record)
        return self._redrawn(card)

    def _asked(self, ask: Ask) -> list[Change]:
        """Show what is asked once, however often the turn tells of it."""
        if ask.request in self._asks:
            return []
        self._asks[ask.request] = ask
        ask.agent_name = self.agent
        card = self._calls.get(ask.call_id)
        if card and ask.kind == InputKind.QUESTION and card.name == ASK_USER:
            # the question stands there itself: a card would say it twice
            del self._calls[ask.call_id]
            return [*self._dropped(card), *self._add(ask)]
        changes = self._add(ask)
        if card and ask.answer is None and card.status == "running":
            card.status = "waiting"
            changes += self._redrawn(card)
        return changes

    def _decided(self, data: JsonObject) -> list[Change]:
        ask = self._asks.get(data["request"])
        if ask is None:
            return []
        ask.answer = {key: data[key] for key in TOLD if key in data}
        card = self._calls.get(ask.call_id)
        if card and data.get("arguments") is not None and not ask.asks_for_run:
            card.arguments = data["arguments"]  # what it is called with
        ask.answered_at = parse_datetime(data.get("answered_at") or "")
        changes = [Change(ask, new=False)]
        waits = any(other.call_id == ask.call_id for other in self.waiting_for)
        if card and card.status == "waiting" and not waits:
            card.status = "running"
            changes += self._redrawn(card)
        return changes

    def _resumed(self) -> list[Change]:
        """Go on where the turn broke off: how it had ended is no more."""
        self.over = False
        return [self._remove(part) for part in self.parts if isinstance(part, Ending)]

    def _ended(self, status: str, error: JsonObject | None) -> list[Change]:
        self.over = True
        changes = [*self._quiet(), *self._undrafted()]
        for card in self._calls.values():
            if card.status in UNDER_WAY:
                card.status = "stopped"
                changes += self._redrawn(card)
        for ask in self.waiting_for:
            ask.open = False
            changes.append(Change(ask, new=False))
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Group) and not last.folded:
            last.folded = True
            changes.append(Change(last, new=False))
        if status in {TurnStatus.FAILED, TurnStatus.STOPPED}:
            ending = Ending(status=status, error=error, turn_id=str(self.turn_id))
            changes += self._add(ending)
        return changes


def view_for(turn: Turn) -> TurnView:
    """Return an empty view of a turn, for the person whose conversation it is in."""
    agent = turn.conversation.agent
    is_own = agent.owner_id == turn.conversation.user_id
    return TurnView(turn.pk, may_label=is_own, agent=agent.name if is_own else "")


def view_of(turn: Turn, events: Iterable[Event] = ()) -> TurnView:
    """Return the view of a turn: while it is open by its events, once it is over by its rows."""
    view = view_for(turn)
    if turn.status in OPEN:
        for event in events:
            view.apply(event)
        return view
    if turn.found:
        view.show_found(turn.found)
    view.replay(turn)
    view.end(turn)
    return view
