"""What a change of tools is, and what is told of each thing that it touches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol
from uuid import UUID

from django.contrib.auth.models import User

from config.lib.types import JsonObject
from registry.models import Tool
from registry.schemas import canonical_digest

Snapshot = Mapping[str, Any]
"""What a version keeps of a tool; read here: input_schema, output_schema, definition,
required_scopes."""

MOST_NAMED = 5
"""Names in a sentence."""

MOST_LISTED = 200
"""Agents, and sequences, that are looked at one by one; where there are more, that is said."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """What would become of some tools, and who asks.

    `asked` are the tools in question. `after` are proposed snapshots by tool, None: the tool goes;
    it may name further tools that change together with them. With `gone`, all of `asked` go.
    """

    asked: frozenset[UUID]
    tools: Mapping[UUID, Tool]
    after: Mapping[UUID, Snapshot | None]
    reader: User
    gone: bool = False

    def takes_away(self, tool_id: UUID) -> bool:
        """Tell whether nobody could call this tool any more, pinned or not."""
        if tool_id in self.asked and self.gone:
            return True
        return tool_id in self.after and self.after[tool_id] is None

    def proposed(self, tool_id: UUID) -> Snapshot | None:
        """Return what the tool would be, None where it stays as it is or goes."""
        return self.after.get(tool_id)


class Kind(StrEnum):
    """What can use a tool."""

    AGENT = "agent"
    SEQUENCE = "sequence"


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """One thing that would break, or (`breaks` false) only read worse: where, what, what to do."""

    where: str
    message: str
    step: int | None = None
    field: str | None = None
    breaks: bool = True


@dataclass(frozen=True, kw_only=True)
class Use:
    """One tie to a tool: a link, or a step. `kept`: its pin keeps it as it is."""

    tool_id: UUID
    tool: str
    how: str
    step: int | None = None
    pinned: int | None = None
    kept: bool = False


@dataclass(frozen=True, kw_only=True)
class Dependent:
    """An agent, or a sequence at one version, that uses what changes.

    `version` is None for an agent; `state` tells which version it is: live, staged (it waits for
    review) or pinned (an old one that something still calls). `path` are the sequences between it
    and the tool. `seen` says whether the reader may be told of it; `url` is empty where there is
    no page for them.
    """

    kind: Kind
    id: UUID
    name: str
    owner: str
    url: str = ""
    seen: bool = True
    version: int | None = None
    state: str = "live"
    uses: tuple[Use, ...] = ()
    path: tuple[str, ...] = ()
    troubles: tuple[Trouble, ...] = ()

    @property
    def kept(self) -> bool:
        """Tell whether a pin keeps every one of its ties, so that it is not touched."""
        return all(use.kept for use in self.uses)

    @property
    def breaks(self) -> bool:
        """Tell whether it would stop working somewhere."""
        return any(trouble.breaks for trouble in self.troubles)

    @property
    def label(self) -> str:
        """Return its name, or for who may not be told of it, that it is another's."""
        return self.name if self.seen else f"a {self.kind} of another person"

    @property
    def how(self) -> str:
        """Return its ties in words: `linked, pinned to v2`, `step 3 and step 4`."""
        return ", ".join(dict.fromkeys(use.how for use in self.uses))


class Dependents(Protocol):
    """One kind of thing that may use tools; its class is named in `TOOL_DEPENDENTS`."""

    def found(self, change: Change, through: Sequence[Dependent]) -> "Found":
        """Return what uses the tools of the change, or a dependent in `through`."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one kind of dependent answers. `more`: there are others that were not looked at."""

    dependents: tuple[Dependent, ...] = ()
    more: bool = False
    runs_waiting: int = 0


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """Dependents of other people, that are only counted."""

    agents: int = 0
    sequences: int = 0
    broken: int = 0

    @property
    def words(self) -> str:
        """Return `2 agents and 1 sequence of other people`, or nothing."""
        parts = [_counted(self.agents, "agent"), _counted(self.sequences, "sequence")]
        told = " and ".join(part for part in parts if part)
        return f"{told} of other people" if told else ""


@dataclass(frozen=True, kw_only=True)
class Impact:
    """What a change would do, as one reader may be told it."""

    change: Change
    agents: tuple[Dependent, ...] = ()
    sequences: tuple[Dependent, ...] = ()
    hidden: Hidden = field(default_factory=Hidden)
    more: bool = False
    runs_waiting: int = 0
    calls: int = 0
    calls_capped: bool = False

    @property
    def dependents(self) -> tuple[Dependent, ...]:
        """Return all that the reader may be told of, sequences first."""
        return (*self.sequences, *self.agents)

    @property
    def pins(self) -> list[tuple[Dependent, Use]]:
        """Return every tie that names a version."""
        return [(item, use) for item in self.dependents for use in item.uses if use.pinned]

    @property
    def troubles(self) -> list[tuple[Dependent, Trouble]]:
        """Return everything that is told of any dependent."""
        return [(item, trouble) for item in self.dependents for trouble in item.troubles]

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing at all uses the tools."""
        return not self.dependents and not self.hidden.words and not self.runs_waiting

    @property
    def breaks(self) -> bool:
        """Tell whether anything would stop working, seen or not."""
        return self.hidden.broken > 0 or any(item.breaks for item in self.dependents)

    @cached_property
    def digest(self) -> str:
        """Return what stands for all that would break; who agrees to it agrees to just this."""
        told: JsonObject = {
            "hidden": self.hidden.broken,
            "troubles": sorted(
                [str(item.id), trouble.where, trouble.message]
                for item, trouble in self.troubles
                if trouble.breaks
            ),
        }
        return canonical_digest(told)

    @property
    def summary(self) -> str:
        """Return one sentence: how many of what break, of how many."""
        broken = [item for item in self.dependents if item.breaks]
        agents = sum(item.kind == Kind.AGENT for item in broken)
        names = ", ".join(
            f"“{name}”" for name in dict.fromkeys(item.name for item in broken[:MOST_NAMED])
        )
        parts = [_counted(agents, "agent"), _counted(len(broken) - agents, "sequence")]
        told = " and ".join(part for part in parts if part)
        if told:
            told = f"{told}: {names}{' and others' if len(broken) > MOST_NAMED else ''}"
        if self.hidden.broken:
            others = f"{self.hidden.broken} of other people"
            told = f"{told}; and {others}" if told else others
        return f"This breaks {told}." if told else "Nothing breaks by this."


def by_urgency(dependents: Iterable[Dependent]) -> tuple[Dependent, ...]:
    """Return what breaks first, then what is touched, then what a pin keeps.

    Of these what is nearer to the tool comes first, because it is mended first; then by name.
    """

    def rank(item: Dependent) -> tuple[bool, bool, int, str, int]:
        return not item.breaks, item.kept, len(item.path), item.name.lower(), item.version or 0

    return tuple(sorted(dependents, key=rank))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
