"""Narrow the catalogue: the same filters for the page and for the REST API."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from config.lib.jsontext import clean_text
from registry.deprecated import retired
from registry.models import Tool
from registry.models.health import HealthState, in_state
from registry.needs import packages_lacking_keys
from registry.search.service import FLOOR, search
from registry.selectors import tools_visible_to

MINE = "me"
LONGEST_TEXT = 500
MOST_FOUND = 100
BEHIND_ALL = MOST_FOUND + 1
"""Rank of a tool whose name contains the query but that the search did not find."""


@dataclass(frozen=True, kw_only=True)
class ToolFilters:
    """What was asked for; an empty text does not narrow. `owner` is a username or `me`."""

    q: str = ""
    kind: str = ""
    category: str = ""
    health: str = ""
    visibility: str = ""
    owner: str = ""

    @classmethod
    def of(cls, data: Mapping[str, str]) -> "ToolFilters":
        """Read the filters from a query string; an unknown choice narrows to nothing."""
        texts = {name: clean_text(data.get(name, "")) for name in cls.__annotations__}
        return cls(**{name: text.strip()[:LONGEST_TEXT] for name, text in texts.items()})

    def query(self, **changes: str) -> str:
        """Return these filters as a query string, some of them changed."""
        return urlencode({name: text for name, text in {**asdict(self), **changes}.items() if text})

    @property
    def narrow(self) -> bool:
        """Tell whether anything narrows the list."""
        return any(asdict(self).values())


def tools_listed(user: User, filters: ToolFilters) -> QuerySet[Tool]:
    """Return the visible tools that pass the filters.

    With a query each has a `rank` and the best match comes first: what the search found, then
    names that contain the query; one whose deprecation has begun only by its exact name. Without
    a query they stand in the order of their titles.
    """
    tools = tools_visible_to(user).filter(_narrowed(user, filters))
    if not filters.q:
        return tools.order_by("title", "pk")
    hits = search(filters.q, user=user, limit=MOST_FOUND).hits
    found = [hit.tool_id for hit in hits if hit.score >= FLOOR]
    named = Q(wire_name__icontains=filters.q) | Q(title__icontains=filters.q)
    tools = tools.filter(~retired() | Q(wire_name=filters.q))
    ranks = [When(pk=tool_id, then=Value(rank)) for rank, tool_id in enumerate(found)]
    return (
        tools.filter(Q(pk__in=found) | named)
        .annotate(rank=Case(*ranks, default=Value(BEHIND_ALL), output_field=IntegerField()))
        .order_by("rank", "title", "pk")
    )


def categories_visible_to(user: User) -> list[str]:
    """Return the categories of the tools a person may see, in order."""
    named = tools_visible_to(user).exclude(category="")
    return list(named.order_by("category").values_list("category", flat=True).distinct())


def _narrowed(user: User, filters: ToolFilters) -> Q:
    where = Q()
    if filters.kind:
        where &= Q(kind=filters.kind)
    if filters.category:
        where &= Q(category=filters.category)
    if filters.visibility:
        where &= Q(visibility=filters.visibility)
    if filters.owner:
        where &= Q(owner=user) if filters.owner == MINE else Q(owner__username=filters.owner)
    return where & _health(filters.health, user)


def _health(health: str, user: User) -> Q:
    """Narrow to a state; who has no key for a tool finds it among those that need one."""
    if not health:
        return Q()
    if health == HealthState.NEEDS_KEY:
        return in_state(health) | Q(package__in=packages_lacking_keys(user))
    return in_state(health)
