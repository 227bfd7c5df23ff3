"""Whose sequences use a tool."""

from uuid import UUID

from sequences.callers import live_callers


def owners_using(tool_id: UUID) -> set[int]:
    """Return the ids of the people with a sequence of which a step names the tool."""
    owners = live_callers([tool_id]).exclude(owner=None).order_by()
    return set(owners.values_list("owner_id", flat=True))
