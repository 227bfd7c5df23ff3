"""The catalogue, and the page of one tool."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from config.lib.htmx import render_page, wants_fragment
from config.lib.http import SignedInRequest
from config.lib.paging import CappedPaginator
from config.lib.types import JsonObject
from registry.calling import call_directly, direct_context, launch
from registry.context import CallContext
from registry.deprecated import is_retired
from registry.deprecation import may_deprecate
from registry.effects import known_of, scopes_within
from registry.errors import InvalidArguments, ToolError
from registry.filters import ToolFilters, categories_visible_to, tools_listed
from registry.media import media_in, without_media
from registry.models import Tool
from registry.models.invocation import Caller
from registry.needs import tell_needs
from registry.quality.scoring import quality_parts, score_of
from registry.results import Failed, Succeeded, ToolResult
from registry.review.drafts import tool_as_asked
from registry.schema_forms import arguments_from_form
from registry.selectors import invocations_of, tool_visible_to, versions_of
from registry.step_troubles import step_troubles
from registry.usage.tokens import tokens_of
from registry.views.display import (
    asked_by,
    filter_chips,
    parameters_of,
    pretty,
    problems_by_field,
    try_fields,
)
from registry.views.health_strip import health_strip
from registry.views.health_words import health_note
from registry.views.mending import mending_of
from registry.views.proposals import last_refusal, proposal_shown, version_waiting
from registry.views.stopping import limits_of

TOOLS_A_PAGE = 24
CALLS_SHOWN = 8
VERSIONS_SHOWN = 20


@login_required
@require_GET
def tool_list(request: SignedInRequest) -> HttpResponse:
    """Show the catalogue, searched and filtered."""
    filters = ToolFilters.of(request.GET.dict())
    page = CappedPaginator(tools_listed(request.user, filters), TOOLS_A_PAGE).get_page(
        request.GET.get("page")
    )
    page.object_list = list(page.object_list)
    tell_needs(page.object_list, request.user)
    context = {
        "filters": filters,
        "chips": filter_chips(filters),
        "categories": categories_visible_to(request.user),
        "page": page,
        "query": filters.query(),
    }
    return render_page(
        request, "registry/tool_list.html", context, fragment="registry/_tool_results.html"
    )


@login_required
@require_GET
def tool_detail(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show all there is to know about a tool, and a form to try it."""
    tool = tool_visible_to(request.user, tool_id)
    asked = tool_as_asked(request.user, tool, request.GET.get("version", ""))
    return render(request, "registry/tool_detail.html", _context(request, asked))


@login_required
@require_http_methods(["GET", "POST"])
def tool_try(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Call the tool with what the form says, and show how it ended beside the form.

    A tool that runs in the background, such as a sequence, leads to the page of its run.
    """
    tool = tool_visible_to(request.user, tool_id)
    if request.method == "GET":
        return redirect("registry:tool_detail", tool_id)
    sent = request.POST.dict()
    asked = tool_as_asked(request.user, tool, sent.get("version", ""))
    try:
        arguments = arguments_from_form(asked.input_schema, sent)
    except InvalidArguments as error:
        shown = _context(request, asked, sent=sent, errors=error.extra["fields"])
        return _tried(request, shown, status=422)
    context = direct_context(request.user, caller=Caller.BROWSER)
    result = _started_or_called(tool, arguments, context, asked.version)
    if isinstance(result, str):
        return HttpResponseClientRedirect(result) if wants_fragment(request) else redirect(result)
    tool.refresh_from_db()  # the call may have changed its health
    asked = tool_as_asked(request.user, tool, str(asked.version))
    shown = _context(request, asked, sent=sent, result=result, errors=_errors_of(result))
    return _tried(request, shown, status=422 if shown["errors"] else 200)


def _started_or_called(
    tool: Tool, arguments: JsonObject, context: CallContext, version: int
) -> ToolResult | str:
    """Return the address of the run that was started, or how the call ended."""
    try:
        run = launch(tool, arguments, context, version=version)
    except ToolError as error:
        return Failed(error=error, duration_ms=0, invocation_id=None)
    return run["page"] if run else call_directly(tool, arguments, context, version=version)


def _tried(request: SignedInRequest, context: dict[str, Any], *, status: int) -> HttpResponse:
    return render_page(
        request,
        "registry/tool_detail.html",
        context,
        fragment="registry/_tool_tried.html",
        status=status,
    )


def _errors_of(result: ToolResult) -> dict[str, str]:
    if isinstance(result, Failed) and isinstance(result.error, InvalidArguments):
        return problems_by_field(result.error.extra)
    return {}


def _context(
    request: SignedInRequest,
    tool: Tool,
    *,
    sent: dict[str, str] | None = None,
    result: ToolResult | None = None,
    errors: dict[str, str] | None = None,
) -> dict[str, Any]:
    tell_needs([tool], request.user)
    parts = quality_parts(tool)
    waiting = proposal_shown(tool, request.user) if tool.package is None else None
    return {
        "waiting": waiting,
        "waiting_version": version_waiting(tool, request.user),
        "refusal": None if waiting or tool.package else last_refusal(tool, request.user),
        "tool": tool,
        "note": health_note(tool),
        "step_trouble": step_troubles([tool]).get(tool.pk, ""),
        "mending": mending_of(tool.package, request.user, tool),
        "asks": asked_by(tool),
        "parameters": parameters_of(tool.input_schema),
        "schema": pretty(tool.input_schema),
        "output_schema": pretty(tool.output_schema) if tool.output_schema else "",
        "limits": limits_of(tool, request.user),
        "quality": parts,
        "score": score_of(parts),
        "strip": health_strip(tool),
        "tokens": tokens_of(tool),
        "known": known_of(tool),
        "steps_require": scopes_within(tool.definition if tool.kind == "sequence" else None),
        "versions": versions_of(tool)[:VERSIONS_SHOWN],
        "calls": invocations_of(tool, request.user)[:CALLS_SHOWN],
        "is_retired": is_retired(tool),
        "may_deprecate": may_deprecate(request.user, tool),
        "is_own": tool.owner_id == request.user.pk,
        "fields": try_fields(tool.input_schema, sent, errors or {}),
        "errors": errors or {},
        "failed": result if isinstance(result, Failed) else None,
        "succeeded": result if result is not None and not isinstance(result, Failed) else None,
        "output": _shown(result),
        "media": media_in(result.output, result.details) if isinstance(result, Succeeded) else [],
    }


def _shown(result: ToolResult | None) -> str:
    return pretty(without_media(result.output)) if isinstance(result, Succeeded) else ""
