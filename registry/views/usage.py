"""The use of one tool: all of it for who answers for it, the own calls for everybody else."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from config.lib.htmx import render_page
from config.lib.http import SignedInRequest
from registry.selectors import tools_visible_to
from registry.usage import selectors
from registry.usage.periods import period_of
from registry.usage.selectors import Scope
from registry.usage.visibility import sees_all_calls, usage_visible_tool
from registry.views import usage_parts as parts


@login_required
@require_GET
def tool_usage(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show how a tool was used; `?format=csv&part=…` downloads one of the tables."""
    tool = usage_visible_tool(request.user, tool_id)
    period = period_of(request.GET.get("period", ""))
    everyone = sees_all_calls(request.user, tool)
    scope = Scope(tool_id=tool.pk, user_id=None if everyone else request.user.pk)
    series = selectors.series(scope, period)
    errors = selectors.errors(scope, period) if everyone else []
    if request.GET.get("format") == "csv":
        tables = {"calls": parts.calls_table(series)}
        if everyone:
            tables["errors"] = parts.errors_table(errors)
        asked = request.GET.get("part", "calls")
        return parts.downloaded(f"{tool.wire_name}-usage", period, tables, asked)
    context = {
        "tool": tool,
        "everyone": everyone,
        "period": period,
        "periods": parts.period_choices(period),
        "total": selectors.total(scope, period),
        "plots": parts.call_plots(period, series),
        "errors": errors,
        "may_open": tools_visible_to(request.user).filter(pk=tool.pk).exists(),
    }
    return render_page(request, "usage/tool.html", context, fragment="usage/_tool.html")
