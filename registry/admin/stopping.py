"""Stop packages and tools in bulk, and let them run again, each time with a reason."""

from typing import Any, Protocol

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse

from config.lib.errors import DomainError
from registry.governance_forms import StopForm
from registry.models import Package, Tool


class Change(Protocol):
    """`tool_stop` and its like."""

    def __call__(self, item: Any, /, *, by: User | None, reason: str) -> Any: ...


@admin.action(description="Stop…", permissions=["change"])
def stop(model_admin: Any, request: HttpRequest, chosen: QuerySet[Any]) -> TemplateResponse | None:
    """Ask for the reason, and stop what was chosen."""
    return _asked(model_admin, request, chosen, action="stop")


@admin.action(description="Resume…", permissions=["change"])
def resume(
    model_admin: Any, request: HttpRequest, chosen: QuerySet[Any]
) -> TemplateResponse | None:
    """Ask for the reason, and let what was chosen run again."""
    return _asked(model_admin, request, chosen, action="resume")


def _asked(
    model_admin: Any, request: HttpRequest, chosen: QuerySet[Any], *, action: str
) -> TemplateResponse | None:
    resumes = action == "resume"
    form = StopForm(request.POST if "reason" in request.POST else None, resumes=resumes)
    if form.is_valid():
        _carried_out(model_admin, request, chosen, action, form.cleaned_data["reason"])
        return None
    context = {
        **model_admin.admin_site.each_context(request),
        "title": "Resume" if resumes else "Stop",
        "opts": model_admin.opts,
        "action": action,
        "chosen": chosen,
        "form": form,
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/registry/stop.html", context)


def _carried_out(
    model_admin: Any, request: HttpRequest, chosen: QuerySet[Any], action: str, reason: str
) -> None:
    """Change each; one that is so already is told and keeps nobody else waiting."""
    change: Change = getattr(model_admin, f"carry_out_{action}")
    done = 0
    for item in chosen:
        try:
            change(item, by=_person(request), reason=reason)
        except DomainError as error:
            model_admin.message_user(request, error.message, messages.WARNING)
        else:
            done += 1
    if done:
        word = "run again" if action == "resume" else "stopped"
        model_admin.message_user(request, f"{done} {word}.", messages.SUCCESS)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 - the admin lets nobody else in
    return request.user


@admin.display(boolean=True, description="runs")
def runs(item: Tool | Package) -> bool:
    """Say whether neither it nor its package is stopped."""
    package = item.package if isinstance(item, Tool) else None
    return item.stopped_at is None and (package is None or package.stopped_at is None)
