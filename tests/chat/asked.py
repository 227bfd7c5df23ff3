"""Ask the scripted model without a turn."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.asking import Asking
from chat.errors import ModelError
from chat.llm import TextDelta, ToolCallReady, Usage
from chat.steps import Step
from tests.fakes.model_server import MODEL

CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Work out a sum.",
        "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}},
    },
}
MESSAGES = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "What is 17 times 23?"},
]


@dataclass
class Asked:
    """What a request brought: the events in order, the steps that were kept, how it failed."""

    events: list[Any] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    error: ModelError | None = None

    async def keep(self, step: Step) -> None:
        self.steps.append(step)

    @property
    def words(self) -> str:
        return "".join(event.text for event in self.of(TextDelta))

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(call.name, call.arguments) for call in self.of(ToolCallReady)]

    @property
    def usage(self) -> Usage | None:
        return next(iter(self.of(Usage)), None)

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]


def ask(
    *models: str,
    messages: Sequence[dict] = MESSAGES,
    tools: Sequence[dict] = (CALCULATOR,),
    protocol: str = "auto",
    answer_only: bool = False,
    times: int = 1,
    hear: Callable[[Any], None] = lambda event: None,
) -> Asked:
    """Ask models (the scripted one) through LiteLLM's HTTP path; `times` with one `Asking`.

    `hear` is called with each event before the asking goes on.
    """
    asked = Asked()
    asking = Asking(models or (MODEL,), protocol, asked)

    async def listen() -> None:
        for _ in range(times):
            async for event in asking(messages, tools, answer_only=answer_only):
                asked.events.append(event)
                hear(event)

    try:
        asyncio.run(listen())
    except ModelError as error:
        asked.error = error
    return asked
