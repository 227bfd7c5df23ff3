"""The page on which a tool is deprecated."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from config.lib.errors import InvalidInput, NotAllowed
from config.lib.form_errors import show_refusal
from config.lib.http import SignedInRequest
from registry.deprecated import deprecation_notice
from registry.deprecation import (
    LONGEST_NOTE,
    may_deprecate,
    successor_named,
    tool_deprecate,
    tool_undeprecate,
)
from registry.history import tool_with_history
from registry.models import Tool

LONGEST_NAME = 64


class DeprecationForm(forms.Form):
    """From when on, and what to use instead; the rules live in `registry.deprecation`."""

    on = forms.DateField(
        label="From",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="From this day on no agent finds it and nobody is offered it. "
        "Where it is in use, it goes on working.",
    )
    successor = forms.CharField(
        label="Use instead",
        required=False,
        max_length=LONGEST_NAME,
        widget=forms.TextInput(
            attrs={"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}
        ),
        help_text="The name that models call the successor by, such as translate_text.",
    )
    note = forms.CharField(
        required=False,
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="For people: why, and what to change. Models do not read it.",
    )


@login_required
@require_http_methods(["GET", "POST"])
def tool_deprecation(request: SignedInRequest, tool_id: UUID) -> HttpResponse:
    """Show the form, deprecate the tool, or with `action=withdraw` take it back."""
    tool = tool_with_history(request.user, tool_id)
    if not may_deprecate(request.user, tool):
        raise NotAllowed("Only the owner of a tool, or a governor, deprecates it.", "Ask one.")
    if request.POST.get("action") == "withdraw":
        tool_undeprecate(tool, by=request.user)
        messages.success(request, f"{tool.title} is no longer deprecated.")
        return redirect("registry:tool_detail", tool.pk)
    form = DeprecationForm(request.POST or None, initial=_initial(tool), label_suffix="")
    if form.is_valid() and _deprecated(request, tool, form):
        return redirect("registry:tool_detail", tool.pk)
    context = {"tool": tool, "form": form}
    return render(
        request, "registry/deprecation.html", context, status=422 if form.is_bound else 200
    )


def _deprecated(request: SignedInRequest, tool: Tool, form: DeprecationForm) -> bool:
    data = form.cleaned_data
    try:
        successor = successor_named(request.user, data["successor"])
        stored = tool_deprecate(
            tool, by=request.user, on=data["on"], successor=successor, note=data["note"]
        )
    except InvalidInput as error:
        show_refusal(form, error)
        return False
    messages.success(request, deprecation_notice(stored))
    return True


def _initial(tool: Tool) -> dict[str, object]:
    return {
        "on": tool.deprecated_on,
        "successor": tool.successor.wire_name if tool.successor else "",
        "note": tool.deprecation_note,
    }
