"""Write down what a turn does, before anybody is shown it."""

from uuid import UUID

from django.utils import timezone

from chat.calls import CallEnded, CallPaused, CallProgressed
from chat.event_log import EventLog
from chat.llm import (
    Compacted,
    Retried,
    Switched,
    TextDelta,
    ToolCallDraft,
    ToolCallReady,
    Usage,
)
from chat.loop import CallStarted, Finished, LoopEvent, Paused, Said, readable
from chat.models import Message
from chat.models.message import Role
from chat.resuming import Recorded
from chat.secrecy import Secrecy
from chat.threads import in_thread
from config.lib.jsontext import storable
from config.lib.masking import StreamMask
from config.lib.types import JsonObject

MOST_NOTES = 200
"""Progress notes of one call that are kept and shown."""


class Recorder:
    """Keeps the messages and the events of one turn; `usage` counts its tokens, if any.

    Nothing is written that `secrecy` knows as a secret, whoever said it.
    """

    def __init__(
        self, turn_id: UUID, log: EventLog, secrecy: Secrecy, recorded: Recorded | None = None
    ) -> None:
        recorded = recorded or Recorded()
        self._turn_id = turn_id
        self._log = log
        self._secrecy = secrecy
        self._words: StreamMask | None = None
        self._position = recorded.position
        self._first_answer = recorded.first_answer
        self._half_said: list[str] = []
        self._notes: dict[str, list[JsonObject]] = {}
        self.usage: Usage | None = recorded.usage

    def started(self, model: str) -> None:
        """Tell that the turn runs; nothing waits for it to be written."""
        self._log.append_soon("turn.started", {"model": model})

    def found(self, found: JsonObject) -> JsonObject:
        """Tell what the search for the user's message found; return what is to be kept of it."""
        found = self._secrecy.masker.value(storable(found))
        self._log.append_soon("tools.found", found)
        return found

    async def take(self, event: LoopEvent) -> None:
        """Keep and tell one event of the loop."""
        match event:
            case TextDelta(text):
                if self._words is None:
                    # as looked at before the model was asked: it can say nothing newer
                    self._words = StreamMask(self._secrecy.masker)
                await self._hear(self._words.take(text))
            case Said(text, calls):
                await self._said(text, calls)
            case CallStarted(call):
                masker = await in_thread(self._secrecy.look)
                arguments = masker.value(storable(readable(call.arguments)))
                data = {
                    "id": call.id,
                    "name": call.name,
                    "arguments": arguments,
                    "started_at": timezone.now().isoformat(),
                }
                await self._log.append("tool.call", data)
            case CallProgressed(call, note):
                await self._progressed(call, self._secrecy.masker.value(storable(note)))
            case CallEnded():
                await self._call_ended(event)
            case Usage():  # counted at once: a turn that fails later has cost this too
                self.usage = event if self.usage is None else self.usage + event
            case ToolCallDraft(id=call_id, name=name, size=size):
                data = {"id": call_id, "name": name, "size": size}
                await self._log.append("tool.drafting", data)
            case Retried(model=model, error=error, waits_ms=waits_ms):
                data = {"model": model, "error": error, "waits_ms": waits_ms}
                await self._log.append("model.retried", data)
            case Switched(model=model, to=to, error=error):
                data = {"from": model, "to": to, "error": error}
                await self._log.append("model.switched", data)
            case Compacted(told):
                await self._log.append("context.compacted", told)
            case CallPaused() | Paused() | Finished():
                pass  # the turn itself is told of it: see `chat.waiting` and `chat.turns`

    async def keep_half_said(self) -> None:
        """Keep the words of a message that was broken off, as what the agent said."""
        await self._hear_rest()
        text = "".join(self._half_said)
        if text:
            await self._said(text, ())

    async def _hear_rest(self) -> None:
        words, self._words = self._words, None
        await self._hear(words.rest() if words else "")

    async def _hear(self, text: str) -> None:
        if text:
            self._half_said.append(text)
            await self._log.say(text)

    async def _said(self, text: str, calls: tuple[ToolCallReady, ...]) -> None:
        masker = await in_thread(self._secrecy.look)
        await self._hear_rest()
        self._half_said.clear()
        await self._log.close()
        if not text and not calls:
            return
        await self._save(
            self._position,
            role=Role.ASSISTANT,
            content=masker.text(text),
            tool_calls=[
                {"id": call.id, "name": call.name, "arguments": masker.text(call.arguments)}
                for call in calls
            ],
        )
        self._first_answer = self._position + 1
        self._position += 1 + len(calls)

    async def _progressed(self, call: ToolCallReady, note: JsonObject) -> None:
        notes = self._notes.setdefault(call.id, [])
        if len(notes) < MOST_NOTES:
            notes.append(note)
            await self._log.append("tool.progress", {**note, "id": call.id})

    async def _call_ended(self, event: CallEnded) -> None:
        record = event.answer.for_record()
        if notes := self._notes.pop(event.call.id, None):
            record["progress"] = notes
        await self._save(
            self._first_answer + event.place,
            role=Role.TOOL,
            content=event.answer.for_model(),
            tool_call_id=event.call.id,
            result=record,
        )
        details = record.get("details") or {}
        if found := details.get("found"):
            await self._log.append("tools.found", {**found, "id": event.call.id})
        await self._log.append("tool.result", {"id": event.call.id, **record})

    async def _save(self, position: int, **fields: object) -> None:
        await in_thread(Message.objects.create, turn_id=self._turn_id, position=position, **fields)
