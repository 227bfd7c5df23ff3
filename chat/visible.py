"""The tools that a model is told of: in a stable order, within a budget of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from uuid import UUID

from registry.specs import ToolSpec
from registry.toolset import Toolset


class Origin(StrEnum):
    """Why a tool is told of."""

    LINKED = "linked"
    FOUND = "found"
    """By this turn."""

    KEPT = "kept"
    """By an earlier turn of the conversation."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A tool that the model is told of; `tokens` is what its schema takes.

    `used_in` is the number of the last turn that found or called it.
    """

    spec: ToolSpec
    origin: Origin
    tokens: int
    used_in: int = 0


@dataclass(frozen=True, kw_only=True)
class Visible:
    """What is told of, in order: what is new comes last, so that the start can be cached.

    `fixed` are the tokens of what is always told (the search, the running of code); they count.
    """

    budget: int
    fixed: int = 0
    shown: tuple[Shown, ...] = ()

    @property
    def spent(self) -> int:
        """Return the tokens that all schemas take together."""
        return self.fixed + sum(each.tokens for each in self.shown)

    @cached_property
    def toolset(self) -> Toolset:
        """Return the tools by the names that the model sees."""
        return Toolset(each.spec for each in self.shown)

    def get(self, tool_id: UUID) -> Shown | None:
        """Return a tool that is told of."""
        return next((each for each in self.shown if each.spec.tool_id == tool_id), None)

    def linked(self, tools: Sequence[Shown]) -> tuple["Visible", list[Shown]]:
        """Return the set with those linked tools that fit, and those that do not."""
        shown, deferred, room = [*self.shown], [], self.budget - self.spent
        for each in tools:
            if each.tokens <= room:
                shown.append(each)
                room -= each.tokens
            else:
                deferred.append(each)
        return replace(self, shown=tuple(shown)), deferred

    def kept(self, tools: Sequence[Shown]) -> tuple["Visible", list[Shown]]:
        """Return the set with what was found before, in its order, and what no longer fits.

        The most recently used come first when there is not room for all.
        """
        room = self.budget - self.spent
        staying: set[UUID] = set()
        for each in sorted(tools, key=lambda each: -each.used_in):
            if each.tokens <= room:
                staying.add(each.spec.tool_id)
                room -= each.tokens
        shown = [each for each in tools if each.spec.tool_id in staying]
        gone = [each for each in tools if each.spec.tool_id not in staying]
        return replace(self, shown=(*self.shown, *shown)), gone

    def plus(self, tool: Shown) -> tuple["Visible", list[Shown]] | None:
        """Return the set with a find at its end, and what gave way to it; None without room.

        The least recently used give way, but no linked tool and none that the turn
        `tool.used_in` found or called. Raises NameClash where another tool has the name.
        """
        self.toolset.plus([tool.spec])
        gone: list[Shown] = []
        over = self.spent + tool.tokens - self.budget
        for each in sorted(self.shown, key=lambda each: each.used_in):
            if over <= 0:
                break
            if each.origin != Origin.LINKED and each.used_in < tool.used_in:
                gone.append(each)
                over -= each.tokens
        if over > 0:
            return None
        staying = tuple(each for each in self.shown if each not in gone)
        return replace(self, shown=(*staying, tool)), gone

    def used(self, tool_ids: frozenset[UUID], turn: int) -> "Visible":
        """Return the set in which these tools were last used by this turn."""
        shown = (
            replace(each, used_in=turn) if each.spec.tool_id in tool_ids else each
            for each in self.shown
        )
        return replace(self, shown=tuple(shown))
