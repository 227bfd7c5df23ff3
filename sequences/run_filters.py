"""Narrow a person's runs: the same filters for the page and for the REST API."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_date
from redis import RedisError

from config.lib.ids import uuid_in
from config.lib.paging import MOST_COUNTED
from config.lib.text_filters import TextFilters
from registry.models import Tool
from sequences.models import Run
from sequences.models.run import PAUSED, STARTED_BY, RunStatus
from sequences.selectors import runs_of

TEST = "test"
STARTED = (
    *(
        (kind, STARTED_BY[kind])
        for kind in ("browser", "chat", "rest", "mcp", "schedule", "webhook")
    ),
    (TEST, "A test of a draft"),
)
"""Whoever may have started a run. Tests are listed only where they are asked for."""

HEX_DIGITS = 32
BADGE_SECONDS = 15
"""How long the number in the navigation may be behind."""


@dataclass(frozen=True, kw_only=True)
class RunFilters(TextFilters):
    """What was asked for; an empty text does not narrow.

    `tool` is a wire name or an id, `started` one of `STARTED`, `since` and `until` are days
    (YYYY-MM-DD, UTC, both included), `q` is how the id of a run begins.
    """

    status: str = ""
    tool: str = ""
    started: str = ""
    since: str = ""
    until: str = ""
    q: str = ""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """How many runs of a person go on once somebody has said something."""

    waiting: int = 0
    attention: int = 0

    @property
    def total(self) -> int:
        """Return how many there are of both sorts."""
        return self.waiting + self.attention


def runs_listed(user: User, filters: RunFilters) -> QuerySet[Run]:
    """Return a person's runs that pass the filters, the newest first, inner ones left out."""
    where = Q(parent_step=None) & _started(filters.started)
    if filters.status:
        where &= Q(status=filters.status)
    if filters.tool:
        tool = uuid_in(filters.tool)
        named = Tool.objects.filter(wire_name=filters.tool).values_list("pk", flat=True)
        where &= Q(tool__in=[tool] if tool else list(named))
    where &= _days(filters)
    if filters.q:
        where &= _begins(filters.q)
    return runs_of(user).filter(where).order_by("-created_at", "pk")


def _started(started: str) -> Q:
    if started == TEST:
        return Q(tool_version=None)
    published = Q(tool_version__isnull=False)
    return published & Q(caller=started) if started else published


def _days(filters: RunFilters) -> Q:
    """Narrow to days; what is no day narrows to nothing."""
    where = Q()
    for text, bound, later in (
        (filters.since, "created_at__gte", timedelta()),
        (filters.until, "created_at__lt", timedelta(days=1)),
    ):
        if not text:
            continue
        day = _day(text)
        if day is None:
            return Q(pk__in=())
        where &= Q(**{bound: day + later})
    return where


def _day(text: str) -> datetime | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    if day is None or not 1 < day.year < 9999:  # noqa: PLR2004
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _begins(text: str) -> Q:
    """Narrow to the ids that begin so, by a range of the primary key."""
    digits = text.replace("-", "").lower()
    if not digits or len(digits) > HEX_DIGITS or set(digits) - set("0123456789abcdef"):
        return Q(pk__in=())
    first, last = (UUID(digits.ljust(HEX_DIGITS, fill)) for fill in "0f")
    return Q(pk__gte=first, pk__lte=last)


def waiting_of(user: User) -> Waiting:
    """Count a person's runs that wait for somebody, and keep the number for the navigation."""
    statuses = list(runs_paused(user).values_list("status", flat=True)[: MOST_COUNTED + 1])
    found = Waiting(
        waiting=statuses.count(RunStatus.WAITING), attention=statuses.count(RunStatus.ATTENTION)
    )
    try:
        cache.set(_key(user), found.total, BADGE_SECONDS)
    except (RedisError, OSError):
        return found
    return found


def runs_paused(user: User) -> QuerySet[Run]:
    """Return a person's runs that wait for somebody, the longest waiting first."""
    paused = Run.objects.filter(user=user, status__in=PAUSED, parent_step=None)
    return paused.select_related("tool", "draft").order_by("created_at", "pk")


def waiting_told(user: User) -> int | None:
    """Return the number that was counted a moment ago; None when it has to be counted."""
    try:
        told: int | None = cache.get(_key(user))
    except (RedisError, OSError):
        return 0
    return told


def _key(user: User) -> str:
    return f"runs-waiting:{user.pk}"
