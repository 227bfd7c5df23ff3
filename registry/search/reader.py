"""Read the catalogue into a replica, whole or what has changed."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from registry.models import Tool
from registry.search.catalogue import Entry, entries_after, entries_of, findable
from registry.search.document import SearchDocument
from registry.search.facts import Facts
from registry.search.position import Changes, Position, changes_between, position_now
from registry.search.replica import Replica

PAGE = 500
"""Tools that are read at once."""

MOST_CHANGED = 0.2
"""The share of the catalogue above which reading all of it costs less than reading what changed."""

LEAST_CHANGED = 2_000
"""Changes that are read one by one, however small the catalogue is."""

LATEST = 2**63 - 1

Holding = Callable[[], AbstractContextManager[object]]
"""Gives what has to be held while a replica is written that others read."""


@dataclass
class Progress:
    """How far a reading of the whole catalogue has come."""

    done: int = 0
    total: int = 0


class Outdated(Exception):
    """A replica can no longer be brought up to date; the message says why."""


@dataclass
class Reader:
    """A replica, and what of the catalogue it holds.

    `sees_own` is for a reader that looks through a connection whose own transaction is not at its
    end: what that transaction wrote is read again each time, since it may write it once more.
    """

    replica: Replica
    position: Position
    sees_own: bool = False
    read: dict[UUID, int] = field(default_factory=dict)
    changed: int = 0

    @classmethod
    def of_all(cls, progress: Progress, *, sees_own: bool = False) -> "Reader":
        """Read the whole catalogue; what changes meanwhile is left to `catch_up`."""
        position = position_now()
        progress.total, progress.done = findable().count(), 0
        documents: list[SearchDocument] = []
        facts: dict[str, Facts] = {}
        last: UUID | None = None
        while page := entries_after(last, PAGE):
            for entry in page:
                documents.append(entry.document)
                facts[entry.document.id] = entry.facts
            last = UUID(page[-1].document.id)
            progress.done += len(page)
        return cls(Replica.of(documents, facts), position, sees_own)

    def catch_up(self, holding: Holding = nullcontext) -> int:
        """Read what has changed; return how many tools that were.

        Raises Outdated where the tables are not those that were read, or too much has changed.
        """
        now = position_now()
        if now.tables != self.position.tables or now.newest < self.position.oldest:
            raise Outdated("the tables were written anew")
        changes = changes_between(self.position.oldest, LATEST if self.sees_own else now.newest)
        tools = self._affected(changes)
        if len(tools) > max(LEAST_CHANGED, MOST_CHANGED * len(self.replica)):
            raise Outdated(f"{len(tools)} tools have changed")
        for page in _pages(tools):
            found = {entry.document.id: entry for entry in entries_of(page)}
            for tool_id in map(str, page):
                with holding():
                    self._write(tool_id, found.get(tool_id))
                time.sleep(0)  # else a search that waits for the lock may wait for the whole page
        self.read = {} if self.sees_own else changes.tools | changes.packages
        self.position = now
        self.changed += len(tools)
        return len(tools)

    def is_whole(self) -> bool:
        """Say whether there are as many tools in the replica as in the catalogue."""
        return findable().count() == len(self.replica)

    def _affected(self, changes: Changes) -> list[UUID]:
        """Return the tools to read: changed, or of a changed package, and not read since."""
        tools = {row for row, xid in changes.tools.items() if self.read.get(row) != xid}
        packages = [row for row, xid in changes.packages.items() if self.read.get(row) != xid]
        if packages:
            of_them = Tool.objects.filter(package_id__in=packages, deleted_at=None)
            tools.update(of_them.values_list("pk", flat=True))
        return sorted(tools)

    def _write(self, tool_id: str, entry: Entry | None) -> None:
        if entry is None:
            self.replica.remove(tool_id)
        else:
            self.replica.put(entry.document, entry.facts)


def _pages(tools: Iterable[UUID]) -> Iterator[list[UUID]]:
    rest = iter(tools)
    while page := list(islice(rest, PAGE)):
        yield page
