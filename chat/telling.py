"""Why these tools: what a person is told of a search, and of what the model may call."""

from collections.abc import Iterable, Iterator, Mapping
from uuid import UUID

from chat.visible import Origin, Shown, Visible
from config.lib.types import JsonObject
from registry.search.selection import (
    BEYOND_LIMIT,
    COPY_AT_HAND,
    DUPLICATE,
    ENOUGH_OF_PACKAGE,
)
from registry.search.service import AT_HAND, BELOW_FLOOR, Mode, SearchAnswer
from registry.search.variety import Hit
from registry.specs import ToolSpec

SHOWN_REJECTED = 5
"""Candidates told of beside those that were injected."""

NO_ROOM = "no room in the budget for schemas"

_CAUSES = {
    AT_HAND: "at_hand",
    BELOW_FLOOR: "score",
    BEYOND_LIMIT: "limit",
    ENOUGH_OF_PACKAGE: "limit",
    DUPLICATE: "duplicate",
    COPY_AT_HAND: "duplicate",
    NO_ROOM: "budget",
    "was refused by review": "review",
    "was deleted": "deleted",
    "was deleted just now": "deleted",
    "was stopped by a governor": "stopped",
    "you may no longer use it": "permission",
    "this agent is set to deny it": "denied",
}


def cause_of(reason: str, *, judged: bool = False) -> str:
    """Return in a word why a tool was left out; `judged` says that the search gave the reason."""
    if reason.startswith("requires the scope"):
        return "permission"
    return _CAUSES.get(reason, "health" if judged and reason else "other" if reason else "")


def shown_hits(answer: SearchAnswer) -> Iterator[Hit]:
    """Yield what is given and the best that is not; a copy is told of with what it copies."""
    rejected = SHOWN_REJECTED
    for hit in answer.hits:
        if hit.injected or (rejected > 0 and hit.reason != DUPLICATE):
            rejected -= not hit.injected
            yield hit


def entry_of_hit(hit: Hit, reason: str, spec: ToolSpec | None, tokens: int) -> JsonObject:
    """Return a candidate as it is told: `{name, title, score, parts, injected, …}`."""
    return {
        "name": spec.wire_name if spec else hit.wire_name,
        "title": hit.title,
        "score": hit.score,
        "parts": dict(hit.parts),
        "injected": not reason,
        "reason": reason,
        "cause": cause_of(reason, judged=bool(hit.reason)),
        "tokens": tokens,
        "duplicates": [each.wire_name for each in hit.duplicates],
    }


def entry_of(name: str, title: str, reason: str, *, judged: bool = False) -> JsonObject:
    """Return a tool that was linked, or found before, and could not be loaded, as it is told."""
    return {
        "name": name,
        "title": title,
        "score": 0.0,
        "parts": {},
        "injected": False,
        "reason": reason,
        "cause": cause_of(reason, judged=judged),
        "duplicates": [],
        "mode": Mode.WORDS.value,
        "why": "",
    }


def account_of(
    visible: Visible,
    *,
    hidden: Mapping[UUID, int],
    deferred: Iterable[Shown],
    evicted: Iterable[Shown],
) -> JsonObject:
    """Return what the model is told of and what it takes: `{visible, tokens, deferred, evicted}`.

    `tokens.spent` are those of all schemas of the request, those of the search and of the running
    of code included. `tokens.saved` are those that the schemas of `hidden` would take besides:
    linked tools that are not told of, what this turn evicted, and the candidates of its searches
    that were not injected; not the thousands that nobody looked at.
    """
    return {
        "visible": [
            {"name": each.spec.wire_name, "origin": each.origin.value, "tokens": each.tokens}
            for each in visible.shown
        ],
        "tokens": {
            "spent": visible.spent,
            "budget": visible.budget,
            "saved": sum(hidden.values()),
            "fixed": visible.fixed,
            **_by_origin(visible),
        },
        "deferred": _named(deferred),
        "evicted": _named(evicted),
    }


def _by_origin(visible: Visible) -> JsonObject:
    totals = dict.fromkeys((origin.value for origin in Origin), 0)
    for each in visible.shown:
        totals[each.origin.value] += each.tokens
    return totals


def _named(tools: Iterable[Shown]) -> list[JsonObject]:
    return [{"name": each.spec.wire_name, "tokens": each.tokens} for each in tools]
