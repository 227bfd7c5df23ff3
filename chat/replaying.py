"""Keep what a paused program's calls gave, and put together from what it is run again."""

from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from chat.models import InputRequest, ProgramCall
from chat.models.input_request import STOPPED, InputKind
from config.lib.types import JsonObject
from registry.models import Invocation
from registry.replay import Decided, Pause, PendingCall, RecordedCall, Replay, Start
from registry.results import ToolResult

START = "start"
"""The key of the row that keeps how a program began: its number is 0, no call has that."""


def replay_of(turn_id: UUID, call_id: str) -> Replay:
    """Return from what the program of this call is run: its first run when nothing is kept."""
    rows = list(ProgramCall.objects.filter(turn_id=turn_id, call_id=call_id).order_by("number"))
    begun = next((Start(**row.outcome) for row in rows if row.key == START), None)
    if begun is None or Invocation.objects.filter(pk=begun.invocation).exists():
        return Replay()  # it never waited, or it ended since: what runs now is another run
    return Replay(
        start=begun,
        recorded={row.key: _recorded(row) for row in rows if row.key != START},
        decided=_decided(turn_id, call_id),
        sink=partial(_keep_call, turn_id, call_id),
    )


def is_paused(turn_id: UUID, call_id: str) -> bool:
    """Tell whether a call is a program that waited and did not end, so that it is run again.

    It is not any more when its turn was stopped before all was answered.
    """
    begun = ProgramCall.objects.filter(turn_id=turn_id, call_id=call_id, key=START).first()
    if begun is None or Invocation.objects.filter(pk=begun.outcome["invocation"]).exists():
        return False
    asked = InputRequest.objects.filter(turn_id=turn_id, call_id=call_id)
    return not asked.filter(answer=STOPPED).exists()


@transaction.atomic
def keep(turn_id: UUID, call_id: str, result: ToolResult) -> tuple[PendingCall, ...]:
    """Keep the calls of a program that was paused; return those that wait for a person.

    `result` is `Failed(error=ProgramPaused())`; nothing is returned for any other. Each of them
    becomes an `InputRequest` with `inner_call` of its `key`.
    """
    told = (result.details or {}).get("pause")
    if told is None:
        return ()
    pause = Pause.of(told)
    start: JsonObject = {
        "invocation": pause.start.invocation,
        "seed": pause.start.seed,
        "clock": pause.start.clock,
    }
    place = {"turn_id": turn_id, "call_id": call_id}
    rows = [ProgramCall(**place, key=START, number=0, tool_name="", outcome=start)]
    rows += [
        ProgramCall(
            **place,
            key=call.key,
            number=call.number,
            tool_name=call.tool,
            outcome=call.outcome,
            invocation_id=call.invocation,
            duration_ms=call.duration_ms,
        )
        for call in pause.calls
    ]
    # of another run of the same call, which ended, nothing counts any more
    kept = ProgramCall.objects.filter(**place)
    if kept.filter(key=START).exclude(outcome=start).exists():
        kept.delete()
    # what an earlier pause kept is kept already
    ProgramCall.objects.bulk_create(rows, ignore_conflicts=True)
    return pause.pending


def _keep_call(turn_id: UUID, call_id: str, key: str, call: RecordedCall | None) -> None:
    """Keep a call at once that a program makes after its pause."""
    place: JsonObject = {"turn_id": turn_id, "call_id": call_id, "key": key}
    if call is None:
        ProgramCall.objects.filter(**place).delete()
        return
    ProgramCall.objects.update_or_create(
        **place,
        defaults={
            "number": call.number,
            "tool_name": call.tool,
            "outcome": call.outcome,
            "invocation_id": call.invocation,
            "duration_ms": call.duration_ms,
        },
    )


def _recorded(row: ProgramCall) -> RecordedCall:
    return RecordedCall(
        key=row.key,
        number=row.number,
        tool=row.tool_name,
        outcome=row.outcome,
        invocation=str(row.invocation_id) if row.invocation_id else None,
        duration_ms=row.duration_ms,
    )


def _decided(turn_id: UUID, call_id: str) -> dict[str, Decided]:
    """Return by key what a person said to the calls; one call may have waited more than once."""
    answered = InputRequest.objects.filter(
        turn_id=turn_id, call_id=call_id, answered_at__isnull=False
    ).exclude(Q(inner_call="") | Q(answer=STOPPED))
    told: dict[str, dict[str, object]] = {}
    for request in answered.order_by("answered_at"):
        told.setdefault(request.inner_call, {}).update(_said(request))
    return {key: Decided(**said) for key, said in told.items()}  # type: ignore[arg-type]


def _said(request: InputRequest) -> dict[str, object]:
    answer = request.answer or {}
    decision = answer.get("decision")
    if request.kind == InputKind.APPROVAL:
        return {
            "approved": decision == "approve",
            "arguments": answer.get("arguments"),
            "note": answer.get("note") or "",
        }
    if decision == "skip":
        return {"skipped": True}
    return {"answer": answer.get("text") or ""} if request.kind == InputKind.QUESTION else {}
