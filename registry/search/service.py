"""Find the tools that fit a message."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from registry.deprecated import deprecation_notice, is_retired
from registry.models import Tool
from registry.models.health import BROKEN_STATES, HealthState
from registry.search.deadline import Deadline
from registry.search.dense import meaning
from registry.search.facts import Audience, Narrowing
from registry.search.in_force import weights_now
from registry.search.index import process_index
from registry.search.need import Need
from registry.search.replica import UPSTREAM_REST, Candidate
from registry.search.selection import BEYOND_LIMIT, COPY_AT_HAND, DUPLICATE, ENOUGH_OF_PACKAGE
from registry.search.variety import READ as COMPARED
from registry.search.variety import Hit, various, without
from registry.search.weights import Weights
from registry.selectors import tools_usable_by
from registry.step_troubles import step_troubles

SPARE = 10
"""Tools beyond the limit that are looked for, to be told of or to replace what has just gone."""

EVERYTHING = Narrowing()

_READ = (
    *("kind", "wire_name", "title", "version", "definition", "required_scopes", "import_health"),
    *("execution_health", "last_health_check_at", "deprecated_on", "deleted_at"),
    *("successor__wire_name", "successor__deleted_at"),
    *COMPARED,
)
"""What reasons are told by and copies are known by, and no more: a search reads two dozen tools."""

AT_HAND = "already at hand"
BELOW_FLOOR = "does not fit well enough"
NO_PLACE = (BEYOND_LIMIT, ENOUGH_OF_PACKAGE, DUPLICATE, COPY_AT_HAND)
"""Reasons of what would be given, were there no others."""


class Loading(NamedTuple):
    """How many tools have been read of how many."""

    done: int
    total: int


class Mode(StrEnum):
    """How a query is read."""

    WORDS = "words"
    REGEX = "regex"
    EXACT = "exact"
    PREFIX = "prefix"


@dataclass(frozen=True, kw_only=True)
class SearchAnswer:
    """The candidates for a query, best first, those left out included."""

    query: str
    hits: tuple[Hit, ...]
    took_ms: float
    beyond: int = 0
    """Tools that fit beside those of `hits`, which were not looked at any closer."""

    mode: Mode = Mode.WORDS

    dense: str = "off"
    """Whether likeness in meaning was used, or why not (`registry.search.dense.meaning.STATES`)."""

    tools: Mapping[UUID, Tool] = field(default_factory=dict, repr=False, compare=False)
    """The rows of the hits as they were judged, with what a tool is loaded by."""

    def without(self, tool_ids: frozenset[UUID]) -> "SearchAnswer":
        """Return the answer without some tools, which were told of elsewhere."""
        return replace(self, hits=without(self.hits, tool_ids))

    @property
    def found(self) -> tuple[Hit, ...]:
        """Return the hits that fit."""
        return tuple(hit for hit in self.hits if hit.injected)

    @property
    def total(self) -> int:
        """Return how many tools fit, copies and those beyond the limit included."""
        return self.beyond + sum(hit.injected or hit.reason in NO_PLACE for hit in self.hits)


def search(
    query: str,
    *,
    user: User,
    recent: Sequence[str] = (),
    queries: Sequence[str] = (),
    limit: int = 5,
    exclude: frozenset[UUID] = frozenset(),
    at_hand: frozenset[UUID] = frozenset(),
    scopes: frozenset[str] | None = None,
    floor: float | None = None,
    narrowing: Narrowing = EVERYTHING,
    weights: Weights | None = None,
    explained: bool = False,
    fold: bool = True,
) -> SearchAnswer:
    """Rank the tools that `user` may use for a need told in words.

    `recent` are the messages before it, `queries` what is wanted in a model's words, one need
    each. Tools in `exclude` or `at_hand`, below `floor`, broken, beyond `limit`, or requiring
    scopes that are not in `scopes` are told with the reason and `injected=False`; so are, unless
    `fold` is off, copies of what is given or works at hand, and more of one package than it may
    have. Those that are excluded hide no copy of themselves. Tools that the person may not see, or
    that `narrowing` leaves out, are not told at all. `weights` are tried in place of those in
    force, `floor` in place of theirs; `explained` has each hit told in full how its score came
    about. Raises SearchTimeout after `SEARCH_SECONDS`.
    """
    started = time.perf_counter()
    deadline = Deadline()
    tried = weights or weights_now().weights
    floor = tried.floor if floor is None else floor
    need = Need(text=query, recent=tuple(recent), queries=tuple(queries))
    asked = meaning.ask(need)
    audience = audience_of(user)
    meant = meaning.answer(asked)
    left_out = exclude | at_hand
    candidates = process_index.using(
        lambda replica: replica.rank(
            need,
            audience,
            now=timezone.now(),
            narrowing=narrowing,
            scopes=scopes,
            exclude=[str(tool_id) for tool_id in left_out],
            wanted=limit + SPARE,
            weights=weights,
            meant=meant,
            explained=explained,
        ),
        deadline,
    )
    judge = Judge(user, len(candidates), left_out, scopes, floor)
    per_package = int(tried.per_package) if fold else None
    judged: list[Hit] = []
    hits: list[Hit] = []
    rest = iter(candidates)
    while sum(hit.injected for hit in hits) < limit and (page := list(islice(rest, limit + SPARE))):
        with deadline.querying():
            judged.extend(judge.hits(page))
        hits = various(
            judged,
            judge.tools,
            user=user,
            limit=limit,
            per_package=per_package,
            text=" ".join((query, *queries)),
            fold=fold,
            at_hand=at_hand & judge.working,
        )
        if page[-1].ranked.score < floor:
            break  # what comes after fits even less
    beyond = sum(each.fits and each.ranked.score >= floor for each in rest)
    return SearchAnswer(
        query=query,
        hits=tuple(hits),
        took_ms=since(started),
        beyond=beyond,
        dense=meant.state,
        tools=judge.tools,
    )


def audience_of(user: User) -> Audience:
    """Return who a person is to the index."""
    return Audience(person=user.pk, teams=frozenset(user.groups.values_list("pk", flat=True)))


def since(started: float) -> float:
    """Return the milliseconds since a moment of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 2)


@dataclass
class Judge:
    """Asks the database about what the index found: it alone decides who may be given what."""

    user: User
    places: int
    exclude: frozenset[UUID]
    scopes: frozenset[str] | None
    floor: float = 0.0
    whys: Mapping[str, str] = field(default_factory=dict)
    tools: dict[UUID, Tool] = field(default_factory=dict)
    """Those of the hits."""

    working: set[UUID] = field(default_factory=set)
    """Those of the hits that nothing is wrong with, tools at hand among them."""

    def hits(self, candidates: Sequence[Candidate]) -> Iterator[Hit]:
        """Yield those that the person may use, each with why it is left out."""
        asked = [UUID(each.id) for each in candidates]
        tools = tools_usable_by(self.user).select_related(None)
        tools = tools.select_related("successor", "package").only(*_READ)
        usable = tools.in_bulk(asked)
        self.tools |= usable
        troubles = step_troubles(usable.values())
        for each in candidates:
            tool = usable.get(UUID(each.id))
            if tool is None:  # the database knows what the index has not heard of yet
                continue
            trouble = troubles.get(tool.pk, "")
            reason = self._reason(tool, each.ranked.score, trouble)
            if not (trouble or unfit(tool)):
                self.working.add(tool.pk)
            self.places -= not reason
            yield Hit(
                tool_id=tool.pk,
                wire_name=tool.wire_name,
                title=tool.title,
                score=each.ranked.score,
                parts=each.ranked.parts,
                injected=not reason,
                reason=reason,
                kind=tool.kind,
                why=self.whys.get(each.id, ""),
                explanation=each.explanation,
            )

    def _reason(self, tool: Tool, score: float, trouble: str) -> str:
        """Return why a candidate is left out, or nothing."""
        if tool.pk in self.exclude:
            return AT_HAND
        if reason := unfit(tool):
            return reason
        if self.scopes is not None and (missing := set(tool.required_scopes) - self.scopes):
            return f"requires the scope {', '.join(sorted(missing))}"
        if score < self.floor:
            return BELOW_FLOOR
        if trouble:
            return f"broken: {trouble}"
        return "" if self.places > 0 else BEYOND_LIMIT


def unfit(tool: Tool) -> str:
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


def warm() -> Loading | None:
    """Have this process's index loaded; return how far that is, or None where it is done."""
    process_index.warm()
    if process_index.is_loaded:
        return None
    progress = process_index.progress
    return Loading(progress.done, progress.total)


def indexed() -> int:
    """Return how many tools this process's index holds; 0 before it is loaded."""
    return len(process_index)


def age() -> float | None:
    """Return how many seconds ago this process's index was last as the catalogue is."""
    return process_index.age


def reset() -> None:
    """Drop this process's index, its vectors and its change feed."""
    meaning.reset()
    process_index.reset()
