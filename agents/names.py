"""The names of agents, for records that keep only their ids."""

from collections.abc import Iterable
from uuid import UUID

from django.contrib.auth.models import User

from agents.models import Agent
from config.lib.ids import uuid_in


def names_of(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return id → name of those agents that are still there."""
    return dict(Agent.objects.filter(pk__in=list(ids)).values_list("pk", "name"))


def id_of(slug: str) -> UUID | None:
    """Return the id of the agent with this slug, or None."""
    return Agent.objects.filter(slug=slug).values_list("pk", flat=True).first()


def own_id_of(user: User, text: str) -> UUID | None:
    """Return the id of a person's own agent with this slug or id, or None."""
    by = {"pk": text} if uuid_in(text) else {"slug": text}
    return Agent.objects.filter(owner=user, **by).values_list("pk", flat=True).first()
