"""What lists say of tools beside their rows: few queries a page, whatever the page's length."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, Q, Sum
from django.utils import timezone

from registry.models import Proposal, Tool, ToolUsageDay
from registry.models.proposal import ProposalState

PERIOD = timedelta(days=30)

Counted = Callable[[Collection[UUID]], Mapping[UUID, int]]
_AGENTS: list[Counted] = []


def count_agents_with(count: Counted) -> None:
    """Take the function that counts the agents of each tool; agents stand above this app."""
    _AGENTS[:] = [count]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The use of one tool, or of a package's tools, in the last 30 days."""

    calls: int = 0
    succeeded: int = 0
    judged: int = 0
    agents: int = 0
    proposal: UUID | None = None

    @property
    def success(self) -> str:
        """Return the share of the calls that reached the tool and succeeded, in words."""
        return f"{self.succeeded / self.judged:.0%}" if self.judged else ""


NONE = Figures()


def tool_figures(tools: Collection[Tool]) -> dict[UUID, Figures]:
    """Return the figures of these tools, by id; three queries."""
    ids = [tool.pk for tool in tools]
    used = _use(Q(tool_id__in=ids), "tool_id")
    agents = _agents(ids)
    opened = _opened("tool", ids)
    return {
        pk: Figures(**used.get(pk, {}), agents=agents.get(pk, 0), proposal=opened.get(pk))
        for pk in ids
    }


def package_figures(ids: Collection[UUID]) -> dict[UUID, Figures]:
    """Return the figures of these packages, by id; two queries."""
    used = _use(Q(tool__package_id__in=ids), "tool__package_id")
    opened = _opened("package", ids)
    return {pk: Figures(**used.get(pk, {}), proposal=opened.get(pk)) for pk in ids}


def _use(condition: Q, key: str) -> dict[UUID, dict[str, int]]:
    since = (timezone.now() - PERIOD).date()
    rows = (
        ToolUsageDay.objects.filter(condition, day__gte=since)
        .values(key)
        .annotate(sum_calls=Sum("calls"), sum_succeeded=Sum("succeeded"), sum_failed=Sum("failed"))
        .order_by()
    )
    return {
        row[key]: {
            "calls": row["sum_calls"],
            "succeeded": row["sum_succeeded"],
            "judged": row["sum_succeeded"] + row["sum_failed"],
        }
        for row in rows
    }


def _agents(ids: Collection[UUID]) -> Mapping[UUID, int]:
    return _AGENTS[0](ids) if _AGENTS and ids else {}


def _opened(subject: str, ids: Collection[UUID]) -> dict[UUID, UUID]:
    rows = Proposal.objects.filter(**{f"{subject}_id__in": ids}, state=ProposalState.OPEN)
    return dict(rows.values_list(f"{subject}_id", "pk").order_by())


def tools_of_packages(ids: Collection[UUID]) -> dict[UUID, dict[str, int]]:
    """Return `{tools, broken}` of each package: its living tools, and those that do not work."""
    broken = Q(import_health="broken") | Q(execution_health="broken")
    rows = (
        Tool.objects.filter(package_id__in=ids, deleted_at=None)
        .values("package_id")
        .annotate(tools=Count("pk"), broken=Count("pk", filter=broken))
        .order_by()
    )
    return {
        row["package_id"]: {"tools": row["tools"], "broken": row["broken"]}
        for row in rows
        if row["package_id"] is not None
    }
