"""Narrow the catalogue: the same filters for the page and for the REST API."""

from dataclasses import dataclass
from typing import ClassVar

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL

from config.lib.text_filters import TextFilters
from registry.deprecated import retired
from registry.models import Tool
from registry.models.health import Health, HealthState, in_state
from registry.models.tool import MERIT
from registry.needs import packages_lacking_keys
from registry.search.facts import Narrowing
from registry.search.in_force import weights_now
from registry.search.service import search
from registry.selectors import tools_named, tools_visible_to

MINE = "me"
BY_QUALITY = "quality"
MOST_FOUND = 100
MOST_CATEGORIES = 100
LISTED = 0.5
"""The share of the floor from which a tool is listed: who looks may see more than a model does."""

BEHIND_ALL = MOST_FOUND + 1
"""Rank of a tool whose name fits the query but that the search did not find."""

BROKEN_RANK = BEHIND_ALL + 1
"""Rank of a tool that is broken, however well it fits."""


@dataclass(frozen=True, kw_only=True)
class ToolFilters(TextFilters):
    """What was asked for; an empty text does not narrow. `owner` is a username or `me`.

    `sort` of `quality` puts the best first; a query has an order of its own.
    """

    orders: ClassVar[frozenset[str]] = frozenset({"sort"})

    q: str = ""
    kind: str = ""
    category: str = ""
    health: str = ""
    visibility: str = ""
    owner: str = ""
    sort: str = ""


def tools_listed(user: User, filters: ToolFilters) -> QuerySet[Tool]:
    """Return the visible tools that pass the filters.

    With a query each has a `rank` and the best match comes first: what the search found, then
    names with words that begin so, then what is broken; one whose deprecation has begun only by
    its exact name. Without a query they stand in the order of their titles, or of their quality,
    broken ones last.
    """
    tools = tools_visible_to(user).filter(_narrowed(user, filters))
    if not filters.q and filters.sort == BY_QUALITY:
        return tools.order_by(MERIT.desc(), "title", "pk")
    if not filters.q:
        return tools.order_by("title", "pk")
    narrowing = Narrowing(kind=filters.kind, category=filters.category)
    hits = search(filters.q, user=user, limit=MOST_FOUND, narrowing=narrowing, fold=False).hits
    floor = LISTED * weights_now().weights.floor
    found = [hit.tool_id for hit in hits if hit.score >= floor]
    tools, named = tools_named(tools, filters.q)
    ranks = [
        When(in_state(Health.BROKEN), then=Value(BROKEN_RANK)),
        *(When(pk=tool_id, then=Value(rank)) for rank, tool_id in enumerate(found)),
    ]
    tools = tools.filter(~retired() | Q(wire_name=filters.q))
    return (
        tools.filter(Q(pk__in=found) | named)
        .annotate(rank=Case(*ranks, default=Value(BEHIND_ALL), output_field=IntegerField()))
        .order_by("rank", "title", "pk")
    )


def categories_visible_to(user: User) -> list[str]:
    """Return the categories of the tools a person may see, in order, at most `MOST_CATEGORIES`.

    The index is asked for the next category after the last, as often as there are categories,
    instead of reading every tool.
    """
    tools = tools_visible_to(user).select_related(None).order_by("category").values("category")
    first, first_values = tools.filter(category__gt="")[:1].query.sql_with_params()
    after = RawSQL("seen.category", ())
    later, later_values = tools.filter(category__gt=after)[:1].query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE seen AS (({first}) UNION ALL SELECT ({later}) FROM seen "  # noqa: S608
            "WHERE seen.category IS NOT NULL) "
            "SELECT category FROM seen WHERE category IS NOT NULL LIMIT %s",
            [*first_values, *later_values, MOST_CATEGORIES],
        )
        return [category for (category,) in cursor.fetchall()]


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
