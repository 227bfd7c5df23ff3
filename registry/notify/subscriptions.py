"""Make, change and delete event subscriptions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from config.lib.errors import InvalidInput, NotAllowed
from config.lib.ids import uuid_in
from config.lib.jsontext import clean_text
from config.lib.sealing import seal
from registry.models import EventSubscription, Tool
from registry.models.event_subscription import OffReason
from registry.models.event_types import EventType
from registry.notify.errors import EventAddressRefused, TooManySubscriptions
from registry.notify.hearing import may_review
from registry.notify.sending import require_address
from registry.notify.signing import new_secret
from registry.selectors import tools_visible_to

MOST = 20
"""Subscriptions of a person."""

LONGEST_NOTE = 80
OLD_SECRET_FOR = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class SubscriptionPlan:
    """What a person asks for; `tool` is the wire name or id, `agent` the slug or id, "" for all."""

    url: str
    types: Sequence[str] = field(default_factory=tuple)
    note: str = ""
    tool: str = ""
    agent: str = ""


def subscription_create(user: User, plan: SubscriptionPlan) -> tuple[EventSubscription, str]:
    """Make a subscription and return it with its secret, which is not shown again.

    Raises InvalidInput with `extra.problems` by field, EventAddressRefused, NotAllowed and
    TooManySubscriptions.
    """
    secret = new_secret()
    subscription = EventSubscription(owner=user, secret=seal(secret))
    _take(subscription, plan)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # two at once are counted one by one
        if EventSubscription.objects.filter(owner=user).count() >= MOST:
            raise TooManySubscriptions(
                f"You have {MOST} event subscriptions already.", "Delete one that is not needed."
            )
        subscription.save(force_insert=True)
    return subscription, secret


def subscription_change(
    subscription: EventSubscription, plan: SubscriptionPlan
) -> EventSubscription:
    """Change what a subscription is told and where; raises what `subscription_create` does."""
    moved = subscription.url
    taken = _take(subscription, plan)
    if subscription.url != moved:
        subscription.failing_since = None
    subscription.save(update_fields=[*taken, "failing_since"])
    return subscription


def subscription_switch(subscription: EventSubscription, *, active: bool) -> EventSubscription:
    """Switch a subscription on or off; what waits is sent once it is on again."""
    if active:
        subscription.off_reason, subscription.off_at = "", None
        subscription.failing_since = None
    elif subscription.active:
        subscription.off_reason, subscription.off_at = OffReason.OWNER, timezone.now()
    subscription.active = active
    subscription.save(update_fields=["active", "off_reason", "off_at", "failing_since"])
    return subscription


@transaction.atomic
def subscription_update(
    subscription: EventSubscription, changes: Mapping[str, Any], *, active: bool | None = None
) -> EventSubscription:
    """Change some of a subscription and switch it, both or neither; `changes` as in the plan."""
    if changes:
        subscription_change(subscription, plan_of(subscription, **changes))
    if active is not None:
        subscription_switch(subscription, active=active)
    return subscription


def subscriptions_switch_off(rows: "QuerySet[EventSubscription]") -> int:
    """Switch subscriptions off in the name of governance; return how many were on."""
    return rows.filter(active=True).update(
        active=False, off_reason=OffReason.GOVERNOR, off_at=timezone.now()
    )


def secret_rotate(subscription: EventSubscription) -> str:
    """Give a subscription another secret and return it; the old one signs too, for a day."""
    secret, now = new_secret(), timezone.now()
    subscription.previous_secret = bytes(subscription.secret or b"")
    subscription.previous_until = now + OLD_SECRET_FOR
    subscription.secret, subscription.secret_set_at = seal(secret), now
    subscription.save(
        update_fields=["previous_secret", "previous_until", "secret", "secret_set_at"]
    )
    return secret


def subscription_delete(subscription: EventSubscription) -> None:
    """Delete a subscription with its deliveries; nothing more is sent."""
    subscription.delete()


def plan_of(subscription: EventSubscription, **changes: Any) -> SubscriptionPlan:
    """Return what a subscription is, with changes."""
    present = {
        "url": subscription.url,
        "types": subscription.types,
        "note": subscription.note,
        "tool": str(subscription.tool_id or ""),
        "agent": str(subscription.agent_id or ""),
    }
    return SubscriptionPlan(**{**present, **changes})


def _take(subscription: EventSubscription, plan: SubscriptionPlan) -> list[str]:
    """Write a plan into a row that is not saved yet; return the names of the fields."""
    user = subscription.owner
    types = sorted(set(plan.types), key=EventType.values.index) if _known(plan.types) else []
    if not types:
        raise _problem("types", f"Choose some of: {', '.join(EventType.values)}.")
    if EventType.REVIEW_OPENED in types and not may_review(user):
        raise NotAllowed("Only reviewers are told what waits for review.", "Leave it out.")
    if len(plan.note) > LONGEST_NOTE:
        raise _problem("note", f"A note has at most {LONGEST_NOTE} characters.")
    if plan.url != subscription.url:
        try:
            subscription.url = require_address(plan.url)
        except EventAddressRefused as error:
            error.extra["problems"] = [{"path": "$.url", "message": error.message}]
            raise
    values = {
        "types": types,
        "note": clean_text(plan.note.strip()),
        "tool": _tool_of(user, subscription, plan.tool.strip()),
        "agent_id": _agent_of(user, subscription, plan.agent.strip()),
    }
    for name, value in values.items():
        setattr(subscription, name, value)
    return ["url", *values]


def _known(types: Sequence[str]) -> bool:
    return all(each in EventType.values for each in types)


def _problem(field_name: str, message: str) -> InvalidInput:
    problem = {"path": f"$.{field_name}", "message": message}
    return InvalidInput("This event subscription cannot be kept.", message, problems=[problem])


def _tool_of(user: User, subscription: EventSubscription, text: str) -> Tool | None:
    if not text:
        return None
    if text == str(subscription.tool_id):
        return subscription.tool
    by = {"pk": found} if (found := uuid_in(text)) else {"wire_name": clean_text(text)}
    tool = tools_visible_to(user).filter(**by).first()
    if tool is None:
        raise _problem("tool", "There is no such tool or sequence, or you may not see it.")
    return tool


def _agent_of(user: User, subscription: EventSubscription, text: str) -> UUID | None:
    if not text:
        return None
    if text == str(subscription.agent_id):
        return subscription.agent_id
    found: UUID | None = import_module(settings.AGENT_NAMES).own_id_of(user, clean_text(text))
    if found is None:
        raise _problem("agent", "You have no such agent.")
    return found
