"""What a governor should look at first."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, QuerySet
from django.utils import timezone

from registry.models import Package, Proposal, Tool
from registry.models.health import in_state
from registry.models.tool import Health
from registry.review.queue import (
    MOST_COUNTED,
    Tally,
    decided,
    tally_of,
    told,
    waiting,
    waiting_count,
)

SHOWN_WAITING = 12
SHOWN = 6
SOON = timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """What waits for a decision in another app: words for it, and where it is decided."""

    told: str
    url: str


_ELSEWHERE: list[Callable[[AnonymousUser | User], Elsewhere | None]] = []


def look_also(waiting: Callable[[AnonymousUser | User], Elsewhere | None]) -> None:
    """Take a function that tells what of another app waits, if this person decides about it."""
    _ELSEWHERE.append(waiting)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One proposal as a list shows it."""

    proposal: Proposal
    told: str
    tally: Tally


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What is on the first page; a part that the reader may not see is empty and not shown."""

    sees_proposals: bool
    sees_tools: bool
    waiting: list[Line] = field(default_factory=list)
    waiting_count: int = 0
    decided: list[Line] = field(default_factory=list)
    stopped_packages: list[Package] = field(default_factory=list)
    stopped_tools: list[Tool] = field(default_factory=list)
    broken: list[Tool] = field(default_factory=list)
    deprecated: list[Tool] = field(default_factory=list)
    elsewhere: list[Elsewhere] = field(default_factory=list)

    @property
    def waiting_told(self) -> str:
        """Return how many wait, as a word: “12”, or “1,000+”."""
        return (
            f"{MOST_COUNTED:,}+" if self.waiting_count >= MOST_COUNTED else f"{self.waiting_count}"
        )


def overview_for(user: User | AnonymousUser) -> Overview:
    """Return what a person of the console sees first."""
    sees_proposals = user.has_perm("registry.view_proposal")
    sees_tools = user.has_perm("registry.view_tool")
    sees_packages = user.has_perm("registry.view_package")
    stopped = _tools().exclude(stopped_at=None).order_by("-stopped_at", "pk")
    broken = _tools().filter(in_state(Health.BROKEN)).order_by("wire_name", "pk")
    return Overview(
        sees_proposals=sees_proposals,
        sees_tools=sees_tools,
        waiting=_lines(waiting(SHOWN_WAITING)) if sees_proposals else [],
        waiting_count=waiting_count() if sees_proposals else 0,
        decided=_lines(decided(SHOWN)) if sees_proposals else [],
        stopped_packages=_stopped_packages() if sees_packages else [],
        stopped_tools=_listed(stopped) if sees_tools else [],
        broken=_listed(broken) if sees_tools else [],
        deprecated=_deprecated() if sees_tools else [],
        elsewhere=[found for look in _ELSEWHERE if (found := look(user))],
    )


def _lines(proposals: list[Proposal]) -> list[Line]:
    return [
        Line(proposal=item, told=told(item), tally=tally_of(item.findings)) for item in proposals
    ]


def _tools() -> QuerySet[Tool]:
    return Tool.objects.filter(deleted_at=None).select_related("package", "successor")


def _listed(tools: QuerySet[Tool]) -> list[Tool]:
    """Return the first few, and one more where there are more than are shown."""
    return list(tools[: SHOWN + 1])


def _stopped_packages() -> list[Package]:
    stopped = Package.objects.exclude(stopped_at=None).defer("manifest")
    return list(stopped.order_by("-stopped_at", "pk")[: SHOWN + 1])


def _deprecated() -> list[Tool]:
    """Return the tools whose day comes within `SOON`, the next first."""
    today = timezone.now().date()
    ending = _tools().filter(deprecated_on__gte=today, deprecated_on__lte=today + SOON)
    return _listed(ending.order_by(F("deprecated_on"), "pk"))
