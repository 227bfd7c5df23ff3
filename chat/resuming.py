"""Take up a turn again from what is recorded of it, in whichever process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from chat.answers import Answer
from chat.events import events_after
from chat.habits import Step
from chat.llm import ToolCallReady, Usage
from chat.loop import Begun, Said
from chat.models import InputRequest, Message, Turn
from chat.models.input_request import InputKind
from chat.models.message import Role
from config.lib.types import JsonObject
from registry.errors import ApprovalDenied, MissingCredential

RESUMED = "turn.resumed"
CONTINUED, ANSWERED = "continued", "answered"
"""Why a turn goes on: `cause` of its event."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Where a turn's record goes on; that of a new turn begins behind the user's message.

    `first_answer` is the position of the answer to the first call of the last message.
    """

    position: int = 1
    first_answer: int = 0
    usage: Usage | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a person said to a call: its answer, or that it is made, with which rights."""

    approved: bool = False
    answer: Answer | None = None
    original: JsonObject | None = None
    """The arguments that the model sent, where the person changed them."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a turn stands. `messages` are those that the loop is not told of by `begun`."""

    recorded: Recorded = field(default_factory=Recorded)
    begun: Begun = field(default_factory=Begun)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    is_new: bool = True

    @property
    def open_message(self) -> int | None:
        """Return the position of the message whose calls are not all answered."""
        return self.recorded.first_answer - 1 if self.begun.said else None


def standing_of(turn: Turn) -> Standing:
    """Return how a turn stands that a process has just taken."""
    rows = list(turn.messages.order_by("position"))
    events = turn.events.filter(name__in=("turn.started", RESUMED)).order_by("number")
    told = list(events.values_list("name", "data"))
    continued = [data for name, data in told if name == RESUMED and data.get("cause") == CONTINUED]
    since = continued[-1]["position"] if continued else 0
    return Standing(
        recorded=recorded_of(turn, rows),
        begun=replace(
            _begun([row for row in rows if row.position >= since]),
            ids=frozenset(call["id"] for row in rows for call in row.tool_calls),
        ),
        decisions=_decisions(turn),
        is_new=not told,
    )


def recorded_of(turn: Turn, rows: Sequence[Message]) -> Recorded:
    """Return where the record of a turn goes on; `rows` are its messages, in order."""
    said = [row for row in rows if row.role == Role.ASSISTANT]
    first = said[-1].position + 1 if said else 0
    counted = turn.usage or {}
    usage = Usage(**{**_tokens(counted), "cost": turn.cost}) if counted else None
    return Recorded(
        position=first + len(said[-1].tool_calls) if said else 1, first_answer=first, usage=usage
    )


def open_calls(rows: Sequence[Message]) -> list[tuple[int, ToolCallReady]]:
    """Return the calls of a turn that have no answer, each with the position of that answer."""
    answered = {row.tool_call_id for row in rows if row.role == Role.TOOL}
    return [
        (row.position + 1 + place, ToolCallReady(**call))
        for row in rows
        for place, call in enumerate(row.tool_calls)
        if call["id"] not in answered
    ]


def half_said(turn_id: UUID, rows: Sequence[Message]) -> str:
    """Return the words of a message that was broken off by the end of its process."""
    words: list[str] = []
    for event in events_after(turn_id, 0):
        if event.name == "text.delta":
            words.append(event.data["text"])
        else:
            words.clear()
    text = "".join(words)
    said = [row for row in rows if row.role == Role.ASSISTANT]
    is_kept = bool(said) and not said[-1].tool_calls and said[-1].content == text
    return "" if is_kept else text


def _tokens(counted: JsonObject) -> JsonObject:
    return {key: counted.get(key, 0) for key in ("input_tokens", "output_tokens", "cached_tokens")}


def _begun(rows: Sequence[Message]) -> Begun:
    answers = {row.tool_call_id: row.content for row in rows if row.role == Role.TOOL}
    said = [row for row in rows if row.role == Role.ASSISTANT]
    steps = [[ToolCallReady(**call) for call in row.tool_calls] for row in said]
    last: Said | None = None
    known: dict[int, str] = {}
    if steps and any(call.id not in answers for call in steps[-1]):
        last = Said(said[-1].content, tuple(steps.pop()))
        known = {i: answers[call.id] for i, call in enumerate(last.calls) if call.id in answers}
    past: list[Step] = [[(call, answers[call.id]) for call in step] for step in steps]
    return Begun(steps=len(said), past=past, said=last, answers=known)


def _decisions(turn: Turn) -> dict[str, Decision]:
    """Return by call what was decided; a call may have been asked about more than once."""
    rows = InputRequest.objects.filter(turn=turn, inner_call="", answered_at__isnull=False)
    told: dict[str, Decision] = {}
    for row in rows.order_by("answered_at", "pk"):
        told[row.call_id] = _decision(row, told.get(row.call_id, Decision()))
    return told


def _decision(row: InputRequest, before: Decision) -> Decision:
    answer = row.answer or {}
    if "run_request" in row.asked:
        return before  # its run was answered; the call is made as it was
    match row.kind, answer.get("decision"):
        case InputKind.APPROVAL, "approve":
            changed = answer.get("arguments") is not None
            return Decision(approved=True, original=row.asked.get("arguments") if changed else None)
        case InputKind.APPROVAL, _:
            note = answer.get("note") or ""
            denied = ApprovalDenied(
                f"A person denied this call{f': “{note}”' if note else '.'}",
                "Do not make this call again. Go on without it, or say what is missing.",
                note=note,
            )
            return Decision(answer=Answer.failed(denied, tool=row.tool_name))
        case InputKind.CREDENTIAL, "skip":
            names = list(row.asked.get("names") or ())
            lacking = MissingCredential(
                f"{row.tool_name} needs {', '.join(names)}, which is not set. The user was asked "
                "and did not give it.",
                "Go on without this tool, or say what it is needed for.",
                missing=names,
            )
            return Decision(answer=Answer.failed(lacking, tool=row.tool_name))
        case InputKind.QUESTION, "answer":
            return Decision(answer=Answer(status="succeeded", value=answer.get("text") or ""))
        case InputKind.QUESTION, _:
            note = "The user chose not to answer. Go on with what you know."
            return Decision(answer=Answer(status="succeeded", value={"answer": None, "note": note}))
    return before
