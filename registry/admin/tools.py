"""Govern tools."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from config.lib.types import JsonObject
from registry.admin import stopping
from registry.admin.base import ReadOnly, Reviewed
from registry.governing import Governed, tool_govern
from registry.models import Tool, ToolVersion
from registry.models.health import HealthState, in_state
from registry.models.package import ReviewStatus
from registry.models.stoppable import LONGEST_REASON
from registry.scope_field import ScopesField
from registry.services import tool_review
from registry.stopping import tool_resume, tool_stop


class VersionInline(ReadOnly, admin.TabularInline[ToolVersion, Tool]):
    model = ToolVersion
    fields = ("number", "reason", "author", "created_at")
    readonly_fields = fields
    show_change_link = True
    extra = 0
    ordering = ("-number",)


class HealthFilter(admin.SimpleListFilter):
    title = "health"
    parameter_name = "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, state.label) for state in HealthState]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Tool]) -> QuerySet[Tool]:
        return queryset.filter(in_state(self.value() or "")) if self.value() else queryset


class ToolGovernanceForm(forms.ModelForm[Tool]):
    """What a governor decides of a tool; a change of its limits needs a reason."""

    required_scopes = ScopesField(
        help_text="Such as mail:send, separated by spaces.",
    )
    reason = forms.CharField(
        required=False,
        max_length=LONGEST_REASON,
        help_text="Why scopes, limits or the cost are changed; it is kept in the history.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if field := self.fields.get("required_scopes"):  # not there for who may only look
            field.known = list(self.instance.required_scopes)  # type: ignore[attr-defined]

    def clean(self) -> JsonObject:
        """Ask for a reason where something is changed that needs one."""
        data: JsonObject = super().clean() or {}
        if set(self.changed_data) & set(Governed._fields) and not data.get("reason", "").strip():
            self.add_error("reason", "Say in a few words why.")
        return data


@admin.register(Tool)
class ToolAdmin(Reviewed):
    form = ToolGovernanceForm
    actions = (*Reviewed.actions, stopping.stop, stopping.resume)
    carry_out_stop = staticmethod(tool_stop)
    carry_out_resume = staticmethod(tool_resume)
    list_display = (
        "wire_name",
        "title",
        "kind",
        "package",
        "owner",
        "visibility",
        "review_status",
        "health_state",
        stopping.runs,
    )
    list_filter = (
        ("stopped_at", admin.EmptyFieldListFilter),
        "kind",
        "review_status",
        HealthFilter,
        "visibility",
        "category",
        ("deleted_at", admin.EmptyFieldListFilter),
    )
    list_select_related = ("package", "owner")
    search_fields = ("wire_name", "title", "description", "package__name")
    fields = (
        "review_status",
        "required_scopes",
        "calls_per_minute",
        "cost_per_call",
        "timeout_seconds",
        "reason",
        "stopped_at",
        "stopped_by",
        "stopped_reason",
        "wire_name",
        "title",
        "kind",
        "package",
        "export_name",
        "description",
        "category",
        "owner",
        "team",
        "visibility",
        "version",
        "quality",
        "import_health",
        "execution_health",
        "health_error",
        "last_health_check_at",
        "input_schema",
        "output_schema",
        "ai_agent",
        "definition",
        "created_at",
        "updated_at",
        "deleted_at",
    )
    readonly_fields = fields[6:]  # a definition is changed by publishing a version, never here
    inlines = (VersionInline,)
    ordering = ("wire_name", "pk")

    def review(self, item: Tool, status: ReviewStatus) -> None:
        """Review one tool."""
        tool_review(item, status=status)

    def save_model(self, request: HttpRequest, obj: Tool, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if set(form.changed_data) & set(Governed._fields) and isinstance(request.user, User):
            wanted = Governed(**{name: form.cleaned_data[name] for name in Governed._fields})
            tool_govern(obj, wanted, by=request.user, reason=form.cleaned_data["reason"])
