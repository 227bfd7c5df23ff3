"""The pages on which a person makes, changes and deletes an HTTP tool."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from config.lib.errors import Conflict, NotFound
from config.lib.http import SignedInRequest
from registry.api_definition import ApiInvalid
from registry.api_forms import ApiToolForm
from registry.api_tools import ApiFields, api_tool_impact, api_tool_save, new_api_tool
from registry.impact.agreement import FIELD, AgreementNeededError, require_agreement
from registry.impact.asked import impact_of_end
from registry.impact.parts import Impact
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.review.drafts import draft_of, saved_words
from registry.selectors import tool_owned_by
from registry.services import tool_delete
from registry.views.impact import shown


@login_required
@require_http_methods(["GET", "POST"])
def api_tool_create(request: SignedInRequest) -> HttpResponse:
    """Show the form of a new HTTP tool, and save it."""
    return _answered(request, None)


@login_required
@require_http_methods(["GET", "POST"])
def api_tool_edit(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the form of one of a person's own HTTP tools, and save it."""
    return _answered(request, draft_of(_own(request.user, tool_id)))


@login_required
@require_http_methods(["GET", "POST"])
def api_tool_delete(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show who uses one of a person's own HTTP tools, and delete it."""
    tool = _own(request.user, tool_id)
    if request.method == "GET":
        context = {"tool": tool, **shown(impact_of_end(tool, user=request.user))}
        return render(request, "registry/tool_delete.html", context)
    tool_delete(tool)
    messages.success(request, f"{tool.title} is deleted. Its history is kept.")
    return redirect("registry:tool_list")


def _answered(request: SignedInRequest, tool: Tool | None) -> HttpResponse:
    sent = request.POST if request.method == "POST" else None
    form = ApiToolForm(sent, user=request.user, tool=tool)
    impact: Impact | None = None
    if form.is_bound and form.is_valid():
        try:
            saved = _saved(request.user, tool, form, request.POST.get(FIELD, ""))
        except ApiInvalid as error:
            form.tell(error.problems)
        except AgreementNeededError as error:
            impact = error.impact
        except Conflict as error:
            form.add_error("name", f"{error.message} {error.hint}")
        else:
            messages.success(request, saved_words(saved))
            return redirect("registry:tool_detail", saved.pk)
    status = 422 if form.is_bound else 200
    context = {"form": form, "tool": tool, "impact": impact}
    return render(request, "registry/api_tool_form.html", context, status=status)


def _saved(user: User, tool: Tool | None, form: ApiToolForm, agreed: str) -> Tool:
    data = form.cleaned_data
    fields = ApiFields(
        name=data["name"],
        description=data["description"],
        definition=form.definition(),
        input_schema=data["input_schema"],
        visibility=data["visibility"],
        team=data.get("team"),
        required_scopes=data["required_scopes"],
        reason=data.get("reason", ""),
    )
    if tool is not None:
        require_agreement(api_tool_impact(tool, author=user, fields=fields), agreed)
    return api_tool_save(tool or new_api_tool(user), author=user, fields=fields)


def _own(user: User, tool_id: UUID) -> Tool:
    tool = tool_owned_by(user, tool_id)
    if tool.kind != ToolKind.API or tool.package_id is not None:
        raise NotFound("This tool was not made on this page.", "Look at it in the catalogue.")
    return tool
