"""What agents have used: the tokens and costs of their models, and linked tools they never call."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Trunc

from agents.models import Agent, AgentTool, ModelUsage
from agents.selectors import agents_visible_to, links_of
from config.lib.errors import NotFound
from config.lib.types import JsonObject
from registry.models import Tool, ToolUsageDay, UsagePending
from registry.usage import selectors
from registry.usage.periods import Period, ever, period_of
from registry.usage.selectors import Scope

TOOLS_SHOWN = 10
"""Tools that the page of an agent names as those it called most."""

_ALL = (
    *("turns", "completed", "failed", "stopped", "input_tokens", "output_tokens"),
    *("cached_tokens", "unpriced"),
)


@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """Turns, tokens and cost (US dollars; None: not known) of one or several models.

    `unpriced` turns used a model whose price is not known, so `cost` leaves them out.
    """

    model: str = ""
    turns: int = 0
    completed: int = 0
    failed: int = 0
    stopped: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    unpriced: int = 0
    cost: Decimal | None = None

    @property
    def tokens(self) -> int:
        """Return all tokens, those that were read and those that were written."""
        return self.input_tokens + self.output_tokens

    def as_json(self) -> JsonObject:
        """Return the shape that the REST API tells."""
        told: JsonObject = {name: getattr(self, name) for name in _ALL}
        return {**told, "cost_usd": None if self.cost is None else float(self.cost)}


@dataclass(frozen=True, kw_only=True)
class Usage:
    """How often an agent called its tools; `by_tool` is `{wire name: calls}`, most first."""

    total_tools_available: int
    total_tool_calls: int
    by_tool: dict[str, int]

    @property
    def most_used_tool(self) -> str | None:
        """Return the wire name of the tool that was called most, if any was."""
        return next(iter(self.by_tool), None)


def usage_of(agent: Agent, period: Period | None = None) -> Usage:
    """Count the calls that an agent has made, in a period or ever."""
    told = selectors.by_tool(Scope(agent_ids=[agent.pk]), period or ever())
    by_tool: dict[str, int] = {}
    for tool in sorted(told, key=lambda tool: (-tool.sums.calls, tool.name)):
        by_tool[tool.name] = by_tool.get(tool.name, 0) + tool.sums.calls
    return Usage(
        total_tools_available=links_of(agent).count(),
        total_tool_calls=sum(by_tool.values()),
        by_tool=by_tool,
    )


def lately_used(agent: Agent) -> Usage:
    """Count the calls of the last 30 days, and those of the tools that were called most."""
    scope, period = Scope(agent_ids=[agent.pk]), period_of("30d")
    most = selectors.ranked(scope, period, selectors.MOST, TOOLS_SHOWN)
    return Usage(
        total_tools_available=links_of(agent).count(),
        total_tool_calls=selectors.count(scope, period),
        by_tool={tool.name: tool.sums.calls for tool in most},
    )


def usage_visible_agent(user: User, slug: str) -> Agent:
    """Return an agent whose use a person may see: their own, shared ones, all to an auditor."""
    agents = Agent.objects.select_related("owner", "team")
    if not user.has_perm("registry.view_invocation"):
        agents = agents_visible_to(user)
    agent = agents.filter(slug=slug).first()
    if agent is None:
        raise NotFound(f"There is no agent “{slug}”, or you may not see it.", "See your agents.")
    return agent


def model_total(agents: Sequence[UUID] | None, period: Period) -> ModelSummary:
    """Return the turns of these agents (None: of all) in one sum."""
    row = _within(agents, period).aggregate(**_aggregates())
    return _summary(row)


def model_series(
    agents: Sequence[UUID] | None, period: Period
) -> list[tuple[datetime, ModelSummary]]:
    """Return the sum of each bucket, oldest first; empty ones included."""
    buckets = _within(agents, period).annotate(bucket=Trunc("hour", period.grain, tzinfo=UTC))
    found = {row["bucket"]: _summary(row) for row in _grouped(buckets, "bucket")}
    return [(start, found.get(start, ModelSummary())) for start in period.starts]


def by_model(agents: Sequence[UUID] | None, period: Period) -> list[ModelSummary]:
    """Return the sum of each model, most turns first."""
    told = [_summary(row) for row in _grouped(_within(agents, period), "model")]
    return sorted(told, key=lambda sums: (-sums.turns, sums.model))


def by_agent(agents: Sequence[Agent], period: Period) -> dict[UUID, ModelSummary]:
    """Return agent id → its turns, of those that had any."""
    rows = _grouped(_within([agent.pk for agent in agents], period), "agent_id")
    return {row["agent_id"]: _summary(row) for row in rows}


def never_called(agent: Agent, period: Period) -> QuerySet[Tool]:
    """Return the linked tools that an agent did not call in the days of a period."""
    called = ToolUsageDay.objects.filter(
        tool=OuterRef("pk"), agent_id=agent.pk, day__gte=period.since.date()
    )
    waiting = UsagePending.objects.filter(tool_id=OuterRef("pk"), agent_id=agent.pk)
    linked = AgentTool.objects.filter(agent=agent).values("tool")
    return (
        Tool.objects.filter(pk__in=linked, deleted_at=None)
        .exclude(Exists(called))
        .exclude(Exists(waiting))
        .order_by("wire_name", "pk")
    )


def _within(agents: Sequence[UUID] | None, period: Period) -> QuerySet[ModelUsage]:
    rows = ModelUsage.objects.filter(hour__gte=period.since, hour__lt=period.until).order_by()
    if agents is None:
        return rows.filter(agent_id=None)
    return rows.filter(agent_id__in=agents)


def _grouped(rows: QuerySet[ModelUsage], key: str) -> list[dict[str, Any]]:
    return list(rows.values(key).annotate(**_aggregates()))


def _aggregates() -> dict[str, Sum]:
    return {f"sum_{name}": Sum(name) for name in (*_ALL, "cost")}


def _summary(row: dict[str, Any]) -> ModelSummary:
    counts = {name: row[f"sum_{name}"] or 0 for name in _ALL}
    return ModelSummary(model=row.get("model", ""), cost=row["sum_cost"], **counts)
