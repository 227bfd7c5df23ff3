"""Which schedules and webhooks a person sees: their own."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from config.lib.errors import NotFound
from sequences.models import Schedule, Webhook


def schedules_of(user: User) -> QuerySet[Schedule]:
    """Return a person's schedules, the newest first."""
    rows = Schedule.objects.filter(owner=user, tool__deleted_at=None)
    return rows.select_related("tool", "owner").order_by("-created_at", "pk")


def schedule_of(user: User, schedule_id: UUID) -> Schedule:
    """Return one of a person's schedules or raise NotFound."""
    found = schedules_of(user).filter(pk=schedule_id).first()
    if found is None:
        raise NotFound("There is no such schedule among yours.", "Look at “When it runs”.")
    return found


def webhooks_of(user: User) -> QuerySet[Webhook]:
    """Return a person's webhooks, the newest first."""
    rows = Webhook.objects.filter(owner=user, tool__deleted_at=None)
    return rows.select_related("tool", "owner").order_by("-created_at", "pk")


def webhook_of(user: User, webhook_id: UUID) -> Webhook:
    """Return one of a person's webhooks or raise NotFound."""
    found = webhooks_of(user).filter(pk=webhook_id).first()
    if found is None:
        raise NotFound("There is no such webhook among yours.", "Look at “When it runs”.")
    return found
