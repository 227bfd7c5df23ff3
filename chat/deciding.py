"""The tools of a turn, with what a person decided on calls that waited."""

from collections.abc import Mapping
from dataclasses import replace

from chat.answers import Answer
from chat.injection import Toolbox
from chat.llm import ToolCallReady
from chat.pauses import Pause
from chat.resuming import Decision
from config.lib.types import JsonObject
from registry.context import Progress


class DecidedTools:
    """Gives the loop a toolbox; a call that a person decided on goes as decided."""

    def __init__(self, toolbox: Toolbox, decisions: Mapping[str, Decision]) -> None:
        self._toolbox = toolbox
        self._decisions = decisions

    def schemas(self) -> list[JsonObject]:
        """Return the tools in the shape of OpenAI's chat completions."""
        return self._toolbox.schemas()

    async def call(
        self, call: ToolCallReady, arguments: JsonObject, progress: Progress
    ) -> Answer | Pause:
        """Run a tool, or give the answer that a person's decision is.

        An approval holds for this call only, and whatever else is checked is checked anew.
        """
        decision = self._decisions.get(call.id, Decision())
        if decision.answer is not None:
            return decision.answer
        outcome = await self._toolbox.call(
            call.name, arguments, progress, call_id=call.id, approved=decision.approved
        )
        if decision.original is None or isinstance(outcome, Pause):
            return outcome
        changed = {"original_arguments": decision.original}
        return replace(outcome, details={**(outcome.details or {}), **changed})
