"""Govern tools."""

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from registry.admin.base import ReadOnly, Reviewed
from registry.models import Tool, ToolVersion
from registry.models.health import HealthState, in_state
from registry.models.package import ReviewStatus
from registry.services import tool_limit_time, tool_review


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


@admin.register(Tool)
class ToolAdmin(Reviewed):
    list_display = (
        "wire_name",
        "title",
        "kind",
        "package",
        "owner",
        "visibility",
        "review_status",
        "health_state",
    )
    list_filter = (
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
        "timeout_seconds",
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
        "deprecated_on",
        "successor",
        "deprecation_note",
        "version",
        "quality",
        "required_scopes",
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
    readonly_fields = fields[2:]  # a definition is changed by publishing a version, never here
    inlines = (VersionInline,)
    ordering = ("wire_name", "pk")

    def review(self, item: Tool, status: ReviewStatus) -> None:
        """Review one tool."""
        tool_review(item, status=status)

    def save_model(self, request: HttpRequest, obj: Tool, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "timeout_seconds" in form.changed_data:
            tool_limit_time(obj, seconds=obj.timeout_seconds, author=cast(User, request.user))
