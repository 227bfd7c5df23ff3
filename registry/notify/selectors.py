"""Which event subscriptions and deliveries a person sees: their own."""

from importlib import import_module
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from config.lib.errors import NotFound
from registry.models import EventDelivery, EventSubscription
from registry.models.event_subscription import DeliveryStatus


def subscriptions_of(user: User) -> QuerySet[EventSubscription]:
    """Return a person's subscriptions, the newest first."""
    rows = EventSubscription.objects.filter(owner=user).select_related("tool", "owner")
    return rows.order_by("-created_at", "pk")


def subscriptions_counted(user: User) -> QuerySet[EventSubscription]:
    """Return the same, each with how many deliveries `waiting` and how many `failed`."""
    return subscriptions_of(user).annotate(
        waiting=_count_in(DeliveryStatus.WAITING), failed=_count_in(DeliveryStatus.FAILED)
    )


def _count_in(status: DeliveryStatus) -> Coalesce:
    rows = EventDelivery.objects.filter(subscription=OuterRef("pk"), status=status).order_by()
    return Coalesce(
        Subquery(rows.values("subscription").annotate(count=Count("pk")).values("count")), 0
    )


def subscription_of(user: User, subscription_id: UUID) -> EventSubscription:
    """Return one of a person's subscriptions or raise NotFound."""
    found = subscriptions_of(user).filter(pk=subscription_id).first()
    if found is None:
        raise NotFound("There is no such event subscription among yours.")
    return found


def agent_name(subscription: EventSubscription) -> str:
    """Return the name of the agent whose runs it is narrowed to, or "" where it is not."""
    if subscription.agent_id is None:
        return ""
    names = import_module(settings.AGENT_NAMES).names_of([subscription.agent_id])
    return str(names.get(subscription.agent_id, "an agent that was deleted"))


def deliveries_of(subscription: EventSubscription) -> QuerySet[EventDelivery]:
    """Return what was sent or waits to be, the newest first."""
    return subscription.deliveries.order_by("-created_at", "pk")


def delivery_of(user: User, subscription_id: UUID, delivery_id: UUID) -> EventDelivery:
    """Return one delivery of a person's subscription or raise NotFound."""
    subscription = subscription_of(user, subscription_id)
    found = subscription.deliveries.filter(pk=delivery_id).first()
    if found is None:
        raise NotFound("There is no such delivery, or it is no longer kept.")
    found.subscription = subscription
    return found
