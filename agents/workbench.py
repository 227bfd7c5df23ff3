"""Try a message: what the ranking finds for it, by the weights in force and by others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from uuid import UUID

from django.contrib.auth.models import User

from agents.access import linked_tools
from agents.models import Agent, AgentTool
from agents.models.agent import DiscoveryMode
from agents.models.agent_tool import Approval
from agents.relevance_words import Why, why
from registry.loading import code_ids
from registry.search.explain import Explanation
from registry.search.facts import Narrowing
from registry.search.in_force import Change, Decided, changes_between, weights_now
from registry.search.reading import ReadMessage, read_message
from registry.search.service import EVERYTHING, SearchAnswer, search
from registry.search.variety import Hit
from registry.search.weights import Weights

DENIED = "this agent is set to deny it"
FOUND = 5
"""Tools that are found where no agent says how many."""

MOST_LEFT_OUT = 25
"""Tools beside those that are found whose reason is told."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is tried: a message after earlier ones, to an agent or to nobody in particular.

    `queries` is what a model would ask for beside it, `narrowing` what is not searched at all.
    `weights` None are those in force. `limit` None is what the agent takes.
    """

    message: str
    earlier: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    narrowing: Narrowing = EVERYTHING
    agent: Agent | None = None
    limit: int | None = None
    weights: Weights | None = None


@dataclass(frozen=True, kw_only=True)
class Place:
    """A tool that is found, and its rank by the other weights; None where those find it not."""

    hit: Hit
    rank: int
    other: int | None

    @property
    def moved(self) -> str:
        """Return how it came here from the other weights: in, up, down or same."""
        if self.other is None:
            return "in"
        if self.rank == self.other:
            return "same"
        return "up" if self.rank < self.other else "down"


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What came out. `saved` is what the weights in force find, where others are tried."""

    asked: Asked
    in_force: Decided
    weights: Weights
    read: ReadMessage
    found: Sequence[Place]
    left_out: Sequence[Hit]
    unseen: int
    why: Why | None
    saved: Sequence[Place] = field(default_factory=list)
    changes: Sequence[Change] = field(default_factory=list)
    took_ms: float
    explained_ms: float

    @property
    def agent_does_not_search(self) -> bool:
        """Tell whether the agent has its linked tools alone, whatever is found here."""
        agent = self.asked.agent
        return agent is not None and agent.discovery_mode == DiscoveryMode.LINKED


def tried(user: User, asked: Asked) -> Tried:
    """Rank the tools that `user` may use as a turn with the agent would, and say why.

    Raises SearchTimeout.
    """
    in_force = weights_now()
    weights = asked.weights or in_force.weights
    changes = changes_between(in_force.weights, weights)
    circumstances = _Circumstances(user, asked)
    # Timed apart from the explaining, which no turn waits for.
    plain = circumstances.searched(None)
    started = perf_counter()
    answer = circumstances.searched(weights if changes else None, explained=True)
    explained_ms = (perf_counter() - started) * 1000
    left_out = [hit for hit in answer.hits if not hit.injected]
    return Tried(
        asked=asked,
        in_force=in_force,
        weights=weights,
        read=read_message(asked.message, _corrected(answer)),
        found=_places(answer, plain),
        left_out=left_out[:MOST_LEFT_OUT],
        why=_why(answer),
        unseen=max(0, len(left_out) - MOST_LEFT_OUT),
        saved=_places(plain, answer) if changes else [],
        changes=changes,
        took_ms=plain.took_ms,
        explained_ms=round(explained_ms, 1),
    )


class _Circumstances:
    """What decides beside the weights which tools are found."""

    def __init__(self, user: User, asked: Asked) -> None:
        self._user, self._asked, agent = user, asked, asked.agent
        self._limit = asked.limit or (agent.max_found_tools if agent else FOUND)
        self._scopes = frozenset(agent.scopes) if agent else None
        linked = linked_tools(agent, user).values_list("pk", flat=True) if agent else ()
        self._at_hand = frozenset(linked) | code_ids()
        self._denied = _denied_by(agent)

    def searched(self, weights: Weights | None, *, explained: bool = False) -> SearchAnswer:
        answer = search(
            self._asked.message,
            user=self._user,
            recent=self._asked.earlier,
            queries=self._asked.queries,
            narrowing=self._asked.narrowing,
            limit=self._limit,
            at_hand=self._at_hand,
            scopes=self._scopes,
            weights=weights,
            explained=explained,
        )
        # As in a turn, where what is denied is found and not loaded.
        hits = (
            replace(hit, injected=False, reason=DENIED)
            if hit.injected and hit.tool_id in self._denied
            else hit
            for hit in answer.hits
        )
        return replace(answer, hits=tuple(hits))


def _denied_by(agent: Agent | None) -> frozenset[UUID]:
    if agent is None:
        return frozenset()
    links = AgentTool.objects.filter(agent=agent, approval=Approval.DENY)
    return frozenset(links.values_list("tool_id", flat=True))


def _places(answer: SearchAnswer, other: SearchAnswer) -> list[Place]:
    ranks = {hit.tool_id: rank for rank, hit in enumerate(other.found, start=1)}
    return [
        Place(hit=hit, rank=rank, other=ranks.get(hit.tool_id))
        for rank, hit in enumerate(answer.found, start=1)
    ]


def _best(answer: SearchAnswer) -> Explanation | None:
    """Return the explanation of what is found first, or comes nearest."""
    hits = sorted(answer.hits, key=lambda hit: not hit.injected)
    return next((hit.explanation for hit in hits if hit.explanation), None)


def _corrected(answer: SearchAnswer) -> Mapping[str, tuple[str, ...]]:
    best = _best(answer)
    return best.corrected if best else {}


def _why(answer: SearchAnswer) -> Why | None:
    best = _best(answer)
    return (
        why(best.relevance, {str(hit.tool_id): hit.title for hit in answer.hits}) if best else None
    )
