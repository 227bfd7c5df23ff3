"""The use of one agent, and of all that a person answers for."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from agents import usage
from agents.selectors import agents_owned_by
from agents.usage import ModelSummary
from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from config.lib.plots import Plot, Series, counted, priced, stacked
from registry.usage import selectors
from registry.usage.periods import Period, period_of
from registry.usage.selectors import SITE, Scope
from registry.views import usage_parts as parts

MOST_AGENTS = 200
"""Agents of one person that are summed up together."""

NEVER_SHOWN = 50

Turns = Sequence[tuple[datetime, ModelSummary]]


@login_required
@require_GET
def agent_usage(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show what an agent used; `?format=csv&part=…` downloads one of the tables."""
    agent = usage.usage_visible_agent(request.user, slug)
    period = period_of(request.GET.get("period", ""))
    scope = Scope(agent_ids=[agent.pk])
    series = selectors.series(scope, period)
    turns = usage.model_series([agent.pk], period)
    tools = selectors.by_tool(scope, period)
    errors = selectors.errors(scope, period)
    never = usage.never_called(agent, period)
    if request.GET.get("format") == "csv":
        tables = {
            "calls": parts.calls_table(series),
            "tokens": _turns_table(turns),
            "tools": parts.tools_table(tools),
            "errors": parts.errors_table(errors),
            "never": parts.Table(
                header=("tool", "title"), rows=never.values_list("wire_name", "title")
            ),
        }
        asked = request.GET.get("part", "tools")
        return parts.downloaded(f"{agent.slug}-usage", period, tables, asked)
    context = {
        "agent": agent,
        "period": period,
        "periods": parts.period_choices(period),
        "total": selectors.total(scope, period),
        "models": usage.model_total([agent.pk], period),
        "plots": [*parts.call_plots(period, series), *_turn_plots(period, turns)],
        "tools": tools,
        "never": never[:NEVER_SHOWN],
        "errors": errors,
    }
    return render_page(request, "usage/agent.html", context, fragment="usage/_agent.html")


@login_required
@require_GET
def usage_overview(request: SignedInRequest) -> HttpResponse:
    """Show the use of a person's own agents; of everything to who may see all calls."""
    governs = request.user.has_perm("registry.view_invocation")
    everything = governs and request.GET.get("of") != "mine"
    period = period_of(request.GET.get("period", ""))
    agents = list(agents_owned_by(request.user)[:MOST_AGENTS])
    ids = None if everything else [agent.pk for agent in agents]
    scope = SITE if everything else Scope(agent_ids=ids)
    series, turns = selectors.series(scope, period), usage.model_series(ids, period)
    ranks = parts.rankings(scope, period)
    errors = selectors.errors(scope, period)
    models = usage.by_model(ids, period)
    if request.GET.get("format") == "csv":
        tables = {
            "calls": parts.calls_table(series),
            "tokens": _turns_table(turns),
            "models": _models_table(models),
            "errors": parts.errors_table(errors),
            **{order: parts.tools_table(tools) for order, _, tools in ranks},
        }
        return parts.downloaded("usage", period, tables, request.GET.get("part", "calls"))
    by_agent = usage.by_agent(agents, period)
    context = {
        "governs": governs,
        "everything": everything,
        "of": "&of=mine" if governs and not everything else "",
        "period": period,
        "periods": parts.period_choices(period),
        "total": selectors.total(scope, period),
        "models": usage.model_total(ids, period),
        "by_model": models,
        "plots": [*parts.call_plots(period, series), *_turn_plots(period, turns)],
        "ranks": ranks,
        "errors": errors,
        "agents": [
            (agent, by_agent.get(agent.pk, _NONE)) for agent in ([] if everything else agents)
        ],
    }
    return render_page(request, "usage/overview.html", context, fragment="usage/_overview.html")


def _turn_plots(period: Period, turns: Turns) -> list[Plot]:
    labels = [parts.bucket_label(period, start) for start, _ in turns]
    fresh = [sums.input_tokens - sums.cached_tokens for _, sums in turns]
    cached = [sums.cached_tokens for _, sums in turns]
    written = [sums.output_tokens for _, sums in turns]
    costs = [None if sums.cost is None else float(sums.cost) for _, sums in turns]
    tokens = [
        Series(name="Read", css="plot-1", values=fresh),
        Series(name="Read from cache", css="plot-3", values=cached),
        Series(name="Written", css="plot-2", values=written),
    ]
    return [
        stacked("tokens", "Tokens", labels, tokens, counted),
        stacked(
            "cost",
            "Cost of models",
            labels,
            [Series(name="US dollars", css="plot-1", values=costs)],
            priced,
        ),
    ]


def _turns_table(turns: Turns) -> parts.Table:
    return parts.Table(
        header=("from", *_TURN_COLUMNS),
        rows=[(start.isoformat(), *_cells(sums)) for start, sums in turns],
    )


def _models_table(models: Sequence[ModelSummary]) -> parts.Table:
    return parts.Table(
        header=("model", *_TURN_COLUMNS), rows=[(sums.model, *_cells(sums)) for sums in models]
    )


_NONE = ModelSummary()
_TURN_COLUMNS = (
    *("turns", "completed", "failed", "stopped", "input_tokens", "output_tokens"),
    *("cached_tokens", "unpriced", "cost_usd"),
)


def _cells(sums: ModelSummary) -> tuple[int | float | None, ...]:
    told = sums.as_json()
    return tuple(told[name] for name in _TURN_COLUMNS)
