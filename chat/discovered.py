"""What searches found for a conversation, kept from one turn or process to the next."""

from collections.abc import Iterable
from itertools import count
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from chat.models import Conversation, DiscoveredTool, Turn


def discovered_for(turn: Turn, *, kept: bool) -> QuerySet[DiscoveredTool]:
    """Return what a turn starts with of what was found, in the order in which it is told.

    With `kept`, that is all that did not give way; else what the turn found before it paused.
    """
    rows = DiscoveredTool.objects.filter(conversation=turn.conversation_id, evicted_at=None)
    return (rows if kept else rows.filter(found_in=turn)).order_by("place")


@transaction.atomic
def tools_discovered(turn: Turn, found: Iterable[UUID], evicted: Iterable[UUID] = ()) -> None:
    """Keep what a turn found, behind all that was found before, and what gave way to it.

    What is told of already keeps its place. The conversation is locked, so that two processes
    give no place twice. Of a turn that is not saved, a trial, nothing is kept.
    """
    if turn._state.adding:
        return
    Conversation.objects.select_for_update(no_key=True).get(pk=turn.conversation_id)
    rows = DiscoveredTool.objects.filter(conversation=turn.conversation_id)
    if gone := list(evicted):
        rows.filter(tool__in=gone).update(evicted_at=timezone.now())
    wanted = list(dict.fromkeys(found))
    known = {row.tool_id: row for row in rows.filter(tool__in=wanted)}
    last = rows.aggregate(last=Max("place"))["last"]
    place = count(0 if last is None else last + 1)
    told = []
    for tool_id in wanted:
        row = known.get(tool_id)
        stays = row is not None and row.evicted_at is None and row.found_in_id == turn.pk
        told.append(
            DiscoveredTool(
                conversation_id=turn.conversation_id,
                tool_id=tool_id,
                place=row.place if row and stays else next(place),
                found_in=turn,
                used_in=turn.number,
            )
        )
    DiscoveredTool.objects.bulk_create(
        told,
        update_conflicts=True,
        unique_fields=["conversation", "tool"],
        update_fields=["place", "found_in", "used_in", "evicted_at"],
    )


def tools_used(turn: Turn, tool_ids: Iterable[UUID]) -> None:
    """Note that a turn found again, or called, what was found before."""
    rows = DiscoveredTool.objects.filter(conversation=turn.conversation_id)
    rows.filter(tool__in=list(tool_ids), used_in__lt=turn.number).update(used_in=turn.number)


def tools_evicted(turn: Turn, tool_ids: Iterable[UUID]) -> None:
    """Note that tools gave way, for want of room."""
    rows = DiscoveredTool.objects.filter(conversation=turn.conversation_id, evicted_at=None)
    rows.filter(tool__in=list(tool_ids)).update(evicted_at=timezone.now())
