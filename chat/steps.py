"""Keep what the model saw, request by request, and tell it to the owner of the conversation."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Max

from chat.llm import Compacted, ModelEvent, Notice, Retried, Switched, Usage
from chat.models import ModelStep
from chat.threads import in_thread
from config.lib.jsontext import storable
from config.lib.masking import Masker
from config.lib.types import JsonObject


@dataclass
class Step:
    """One request to a model, as it goes on; `sent` is what the last try of it was told."""

    model: str
    tools: Sequence[JsonObject]
    sent: Sequence[JsonObject]
    protocol: str = "native"
    attempts: list[JsonObject] = field(default_factory=list)
    compaction: JsonObject | None = None
    usage: Usage | None = None
    error: JsonObject | None = None
    first_token_ms: int | None = None
    _began: float = field(default_factory=time.monotonic)
    _waited_ms: int = 0

    def hear(self, event: ModelEvent | Notice) -> None:
        """Take note of what the request brought."""
        match event:
            case Usage():
                self.usage = event
            case Retried():
                self._waited_ms = event.waits_ms
            case Compacted(told):
                self.compaction = told
            case Switched():
                pass
            case _:
                if self.first_token_ms is None:
                    self.first_token_ms = self.elapsed_ms()

    def tried(self, model: str, error: str = "") -> None:
        """Take note of a try that is over: with an error's code, or with the answer."""
        told: JsonObject = {"model": model, "waited_ms": self._waited_ms}
        self.attempts.append({**told, "error": error} if error else told)
        self._waited_ms = 0

    def elapsed_ms(self) -> int:
        """Return the time since the request was begun, with all tries and waits."""
        return round((time.monotonic() - self._began) * 1000)


class StepLog:
    """Writes the steps of one turn; nothing that `look` knows to mask is written."""

    def __init__(self, turn_id: UUID, look: Callable[[], Masker]) -> None:
        self._turn_id = turn_id
        self._look = look
        self._number: int | None = None
        self._last: Step | None = None

    async def keep(self, step: Step) -> None:
        """Write a step that is over, in one row."""
        await in_thread(self._write, step, step.elapsed_ms())

    def _write(self, step: Step, duration_ms: int) -> None:
        if self._number is None:  # a turn that was paused goes on where its steps ended
            steps = ModelStep.objects.filter(turn_id=self._turn_id)
            self._number = steps.aggregate(last=Max("number"))["last"] or 0
        self._number += 1
        shared = _shared(self._last.sent, step.sent) if self._last else 0
        same_tools = self._last is not None and list(self._last.tools) == list(step.tools)
        masker = self._look()
        ModelStep.objects.create(
            turn_id=self._turn_id,
            number=self._number,
            model=step.model,
            shared=shared,
            messages=masker.value(storable(list(step.sent[shared:]))),
            tools=None if same_tools else masker.value(storable(list(step.tools))),
            attempts=step.attempts,
            compaction=step.compaction,
            protocol=step.protocol,
            usage=step.usage.as_json() if step.usage else {},
            cost=step.usage.cost if step.usage else None,
            first_token_ms=step.first_token_ms,
            duration_ms=duration_ms,
            error=masker.value(storable(step.error)),
        )
        self._last = step


@dataclass(frozen=True)
class SeenStep:
    """A step with all that the model saw: the messages and the tools in full."""

    row: ModelStep
    messages: list[JsonObject]
    tools: list[JsonObject]


def steps_of(turn_id: UUID) -> list[SeenStep]:
    """Return the steps of a turn, in order."""
    seen: list[SeenStep] = []
    messages: list[JsonObject] = []
    tools: list[JsonObject] = []
    for row in ModelStep.objects.filter(turn_id=turn_id).order_by("number"):
        messages = [*messages[: row.shared], *row.messages]
        tools = tools if row.tools is None else row.tools
        seen.append(SeenStep(row, messages, tools))
    return seen


def _shared(before: Sequence[JsonObject], now: Sequence[JsonObject]) -> int:
    """Return how many messages two requests have in common from the start."""
    count = 0
    for old, new in zip(before, now, strict=False):
        if old is not new and old != new:
            break
        count += 1
    return count
