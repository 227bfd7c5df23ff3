"""Govern runs: all of them can be seen, none can be changed here."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from sequences.models import Run, RunStep


class RunStepInline(admin.TabularInline[RunStep, Run]):
    model = RunStep
    fields = (
        *("number", "tool_name", "tool_version", "status", "message"),
        *("input", "output", "error", "attempts", "started_at", "duration_ms"),
    )
    readonly_fields = fields
    ordering = ("number", "pk")
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Run)
class RunAdmin(admin.ModelAdmin[Run]):
    list_display = ("id", "tool", "status", "user", "agent", "caller", "created_at", "finished_at")
    list_filter = ("status", "caller", "created_at")
    list_select_related = ("tool", "user", "agent")
    search_fields = ("id", "tool__wire_name", "user__username")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "pk")
    inlines = (RunStepInline,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False
