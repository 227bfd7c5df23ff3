"""Who may hear of an event, at the moment at which it is told."""

from collections.abc import Callable, Mapping

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from registry.models import EventSubscription, Package, PendingEvent, Tool
from registry.models.event_types import EventType
from registry.selectors import tools_visible_to

REVIEWS = "registry.change_package"
"""The permission of whoever decides on what is proposed."""


def hearers(
    event: PendingEvent, tool: Tool | None, package: Package | None
) -> list[EventSubscription]:
    """Return the subscriptions that an event is for: wanted by them, and their owner may know."""
    wanted = EventSubscription.objects.filter(
        active=True, types__contains=[event.type], owner__is_active=True
    ).select_related("owner")
    if event.type in _OF_TOOLS:
        wanted = wanted.filter(owner_id__in=_users_of(tool))
    elif event.type != EventType.REVIEW_OPENED:
        wanted = wanted.filter(owner_id=event.facts["user"])
    narrowed = [each for each in wanted if _fits(each, event, tool, package)]
    may_know = _MAY_KNOW.get(event.type)
    return [each for each in narrowed if may_know(each.owner, tool)] if may_know else narrowed


def may_review(user: User, tool: Tool | None = None) -> bool:
    """Tell whether somebody is told of what waits for review."""
    return user.has_perm(REVIEWS)


def _sees(user: User, tool: Tool | None) -> bool:
    return tool is not None and tools_visible_to(user).filter(pk=tool.pk).exists()


def _users_of(tool: Tool | None) -> set[int]:
    """Return the ids of a tool's owner and of the owners of agents and sequences that use it."""
    if tool is None:
        return set()
    makers = {tool.owner_id, tool.package.added_by_id if tool.package else None}
    users = {user for path in settings.TOOL_USERS for user in import_string(path)(tool.pk)}
    return users | {maker for maker in makers if maker is not None}


_OF_TOOLS = (EventType.TOOL_BROKEN, EventType.TOOL_HEALTHY)

_MAY_KNOW: Mapping[str, Callable[[User, Tool | None], bool]] = {
    EventType.REVIEW_OPENED: may_review,
    EventType.TOOL_BROKEN: _sees,
    EventType.TOOL_HEALTHY: _sees,
}


def _fits(
    subscription: EventSubscription,
    event: PendingEvent,
    tool: Tool | None,
    package: Package | None,
) -> bool:
    """Tell whether an event passes the filters of a subscription."""
    if subscription.agent_id and str(subscription.agent_id) != event.facts.get("agent"):
        return False
    if subscription.tool_id is None or (tool and tool.pk == subscription.tool_id):
        return True
    return package is not None and package.tools.filter(pk=subscription.tool_id).exists()
