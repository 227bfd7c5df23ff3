"""Find the tools that fit a message: one index per process, kept fresh by NOTIFY."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from queue import Empty, SimpleQueue
from threading import Lock
from uuid import UUID

import numpy as np
from django.contrib.auth.models import User
from django.utils import timezone

from registry.changes import Follower, feed
from registry.deprecated import deprecation_notice, is_retired
from registry.models import Tool
from registry.models.health import BROKEN_STATES, HealthState
from registry.models.triggers import CHANGE_CHANNEL
from registry.search.catalogue import searchable, searchable_after
from registry.search.deadline import Deadline
from registry.search.document import SearchDocument
from registry.search.engine import Engine, Ranked
from registry.search.explain import Explanation, explain
from registry.search.in_force import weights_now
from registry.search.need import Need
from registry.search.weights import Weights
from registry.selectors import tools_usable_by
from registry.step_troubles import step_troubles

UPSTREAM_REST = timedelta(minutes=10)
"""For how long a tool is not offered after the service behind it did not answer."""

CANDIDATES = 100
"""How many of the best-ranked tools are checked against the caller's permissions."""

PAGE = 500
"""Tools that are read at once; between two pages the time is looked at."""

BEYOND_LIMIT = "enough tools found already"
BELOW_FLOOR = "does not fit well enough"


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One candidate; `parts` says how `score` (0–1) came about, `reason` why it is left out."""

    tool_id: UUID
    wire_name: str
    title: str
    score: float
    parts: Mapping[str, float]
    injected: bool
    reason: str = ""
    explanation: Explanation | None = None


@dataclass(frozen=True, kw_only=True)
class SearchAnswer:
    """The candidates for a query, best first, those left out included."""

    query: str
    hits: tuple[Hit, ...]
    took_ms: float

    @property
    def found(self) -> tuple[Hit, ...]:
        """Return the hits that fit."""
        return tuple(hit for hit in self.hits if hit.injected)

    @property
    def total(self) -> int:
        """Return how many tools fit, those beyond the limit included."""
        return sum(hit.injected or hit.reason == BEYOND_LIMIT for hit in self.hits)


@dataclass
class _Reading:
    """A new index that is being read from the database, as far as it has come."""

    index: Engine = field(default_factory=Engine)
    documents: dict[str, SearchDocument] = field(default_factory=dict)
    last: UUID | None = None


class SearchIndex:
    """The index of this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._reading: _Reading | None = None
        self._index = Engine()
        self._documents: dict[str, SearchDocument] = {}
        self._changes: SimpleQueue[str] = SimpleQueue()
        self._follower: Follower | None = None

    def __len__(self) -> int:
        return len(self._documents)

    def candidates(
        self,
        need: Need,
        deadline: Deadline,
        *,
        person: int | None = None,
        weights: Weights | None = None,
        explained: bool = False,
    ) -> list[tuple[Ranked, Explanation | None]]:
        """Return the best tools, best first, by the weights in force or by others.

        What is for its makers alone takes no place among what is found for others.
        """
        in_force = weights_now().weights
        with deadline.holding(self._lock):
            self._refresh(deadline)
            mask = np.zeros(self._index.size, dtype=np.bool_)
            found = (item for item in self._documents.values() if item.is_for(person))
            mask[[self._index.slot(item.id) for item in found]] = True
            self._index.adopt(in_force)
            ranked = self._index.rank(need, weights=weights, mask=mask, limit=CANDIDATES)
            deadline.check()
            if not explained:
                return [(hit, None) for hit in ranked]
            return list(zip(ranked, explain(self._index, need, ranked, weights), strict=True))

    def reset(self) -> None:
        """Forget everything and let go of the connection; the next search builds it anew."""
        with self._lock:
            follower, self._follower = self._follower, None
        if follower:
            feed.leave(follower)

    def _refresh(self, deadline: Deadline) -> None:
        """Bring the index up to date; what was read when the time is over is kept for the next."""
        if self._follower is None:
            self._follower = feed.follow(CHANGE_CHANNEL, self._changes.put)
            self._reading = _Reading()
        if self._reading is None and self._changes.empty():
            return
        with deadline.querying():
            self._read_on(deadline)
            while changed := self._drained():
                self._catch_up(changed, deadline)

    def _catch_up(self, changed: set[str], deadline: Deadline) -> None:
        if "" in changed:
            self._reading = _Reading()
            self._read_on(deadline)
            return
        try:
            self._load(changed)
            deadline.check()
        except Exception:
            for tool_id in changed:  # the next search has to know of them
                self._changes.put(tool_id)
            raise

    def _drained(self) -> set[str]:
        changed: set[str] = set()
        while True:
            try:
                changed.add(self._changes.get_nowait())
            except Empty:
                return changed

    def _read_on(self, deadline: Deadline) -> None:
        reading = self._reading
        if reading is None:
            return
        while page := searchable_after(reading.last, PAGE):
            for document in page:
                reading.index.put(document)
                reading.documents[document.id] = document
            reading.last = UUID(page[-1].id)
            deadline.check()
        self._index, self._documents, self._reading = reading.index, reading.documents, None

    def _load(self, tool_ids: set[str]) -> None:
        living = {document.id: document for document in searchable(map(UUID, tool_ids))}
        for tool_id in tool_ids:
            if document := living.get(tool_id):
                self._index.put(document)
                self._documents[tool_id] = document
            else:
                self._index.remove(tool_id)
                self._documents.pop(tool_id, None)


_process_index = SearchIndex()


def search(
    query: str,
    *,
    user: User,
    recent: Sequence[str] = (),
    limit: int = 5,
    exclude: frozenset[UUID] = frozenset(),
    scopes: frozenset[str] | None = None,
    floor: float | None = None,
    weights: Weights | None = None,
    explained: bool = False,
) -> SearchAnswer:
    """Rank the tools that `user` may use for a need told in words.

    `weights` are tried in place of those in force, `floor` in place of theirs. `explained` has
    each hit told in full how its score came about.

    Tools in `exclude` (already at hand), below `floor`, broken, beyond `limit`, or requiring
    scopes that are not in `scopes` are told with the reason and `injected=False`; tools that the
    person may not see are not told at all. Raises SearchTimeout after `SEARCH_SECONDS`.
    """
    started = time.perf_counter()
    deadline = Deadline()
    if floor is None:
        floor = (weights or weights_now().weights).floor
    candidates = _process_index.candidates(
        Need(text=query, recent=tuple(recent)),
        deadline,
        person=user.pk,
        weights=weights,
        explained=explained,
    )
    with deadline.querying():
        usable = tools_usable_by(user).in_bulk([UUID(ranked.id) for ranked, _ in candidates])
        troubles = step_troubles(usable.values())
    hits: list[Hit] = []
    places = limit
    for ranked, explanation in candidates:
        tool_id = UUID(ranked.id)
        tool = usable.get(tool_id)
        if tool is None:
            continue
        reason = _reason(tool, ranked.score, exclude, scopes, floor, places)
        if reason in ("", BEYOND_LIMIT) and tool_id in troubles:
            reason = f"broken: {troubles[tool_id]}"
        places -= not reason
        hits.append(
            Hit(
                tool_id=tool_id,
                wire_name=tool.wire_name,
                title=tool.title,
                score=ranked.score,
                parts=ranked.parts,
                injected=not reason,
                reason=reason,
                explanation=explanation,
            )
        )
    took_ms = (time.perf_counter() - started) * 1000
    return SearchAnswer(query=query, hits=tuple(hits), took_ms=round(took_ms, 2))


def _reason(
    tool: Tool,
    score: float,
    exclude: frozenset[UUID],
    scopes: frozenset[str] | None,
    floor: float,
    places: int,
) -> str:
    """Return why a candidate is left out, or nothing."""
    if tool.pk in exclude:
        return "already at hand"
    if reason := _unfit(tool):
        return reason
    if scopes is not None and (missing := set(tool.required_scopes) - scopes):
        return f"requires the scope {', '.join(sorted(missing))}"
    if score < floor:
        return BELOW_FLOOR
    return "" if places > 0 else BEYOND_LIMIT


def _unfit(tool: Tool) -> str:
    """Return why a tool would not help now; one that only needs a key is offered, and asks for it.

    A tool whose service was down is offered again after a while: its next call shows how it is.
    """
    if is_retired(tool):
        return deprecation_notice(tool).removesuffix(".")
    state = tool.health_state
    if state in BROKEN_STATES:
        return "broken"
    if state != HealthState.UPSTREAM_DOWN:
        return ""
    seen = tool.last_health_check_at
    return "its service is down" if seen and timezone.now() - seen < UPSTREAM_REST else ""


def indexed() -> int:
    """Return how many tools this process's index holds; 0 before the first search."""
    return len(_process_index)


def reset() -> None:
    """Drop this process's index and its change feed."""
    _process_index.reset()
