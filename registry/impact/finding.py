"""Ask everything that may use tools what a change of them would do."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import cache
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.module_loading import import_string

from registry.impact.parts import (
    Change,
    Dependent,
    Dependents,
    Hidden,
    Impact,
    Kind,
    Snapshot,
    by_urgency,
)
from registry.models import Invocation, Tool
from registry.models.invocation import Caller

MOST_CALLS = 10_000
"""Calls that are counted; of more it is said that there are at least as many."""

CALLS_OF_LAST = timedelta(days=30)


def impact_of(
    tool_ids: Collection[UUID],
    *,
    user: User,
    proposed: Mapping[UUID, Snapshot | None] | None = None,
    gone: bool = False,
) -> Impact:
    """Return what uses these tools, and what of it would break.

    `proposed` are the snapshots that would be live, None for a tool that goes; those of other
    tools count where a sequence calls them too. `gone` takes all of `tool_ids` away. The number of
    queries does not depend on how many use the tools.
    """
    after = dict(proposed or {})
    change = Change(
        asked=frozenset(tool_ids),
        tools=Tool.objects.select_related("successor").in_bulk({*tool_ids, *after}),
        after=after,
        reader=user,
        gone=gone,
    )
    found: list[Dependent] = []
    more, waiting = False, 0
    for dependents in all_dependents():
        answer = dependents.found(change, found)
        found += answer.dependents
        more, waiting = more or answer.more, waiting + answer.runs_waiting
    calls = _calls(change.asked)
    return Impact(
        change=change,
        agents=_told(found, Kind.AGENT),
        sequences=_told(found, Kind.SEQUENCE),
        hidden=_hidden(found),
        more=more,
        runs_waiting=waiting,
        calls=min(calls, MOST_CALLS),
        calls_capped=calls > MOST_CALLS,
    )


@cache
def all_dependents() -> tuple[Dependents, ...]:
    """Return the finders named in `TOOL_DEPENDENTS`, each told what those before it found."""
    return tuple(import_string(path)() for path in settings.TOOL_DEPENDENTS)


def _told(found: list[Dependent], kind: Kind) -> tuple[Dependent, ...]:
    return by_urgency(item for item in found if item.kind == kind and item.seen)


def _hidden(found: list[Dependent]) -> Hidden:
    hidden = [item for item in found if not item.seen]
    agents = sum(item.kind == Kind.AGENT for item in hidden)
    return Hidden(
        agents=agents,
        sequences=len(hidden) - agents,
        broken=sum(item.breaks for item in hidden),
    )


def _calls(tool_ids: frozenset[UUID]) -> int:
    """Count recent calls that were no health checks, up to one more than `MOST_CALLS`."""
    calls = Invocation.objects.filter(
        tool_id__in=tool_ids, created_at__gte=timezone.now() - CALLS_OF_LAST
    ).exclude(caller=Caller.HEALTH)
    return calls.order_by()[: MOST_CALLS + 1].count()
