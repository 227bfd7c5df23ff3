"""Govern runs: all of them can be seen, none can be changed here."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.http import HttpRequest

from config.lib.admin_lists import LongList, is_uuid, named
from registry.models import Tool
from sequences.models import Run, RunStep


class RunStepInline(admin.TabularInline[RunStep, Run]):
    model = RunStep
    fields = (
        *("number", "iteration", "title", "tool_name", "tool_version", "status", "message"),
        *("input", "output", "error", "attempts", "started_at", "duration_ms"),
    )
    readonly_fields = fields
    ordering = (F("number"), F("iteration").asc(nulls_first=True), "pk")
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Run)
class RunAdmin(LongList, admin.ModelAdmin[Run]):
    list_display = ("id", "tool", "status", "user", "agent", "caller", "created_at", "finished_at")
    list_filter = ("status",)
    list_select_related = ("tool", "user", "agent")
    search_fields = ("tool__wire_name", "user__username", "id")
    search_help_text = "The wire name of a sequence, a username or the id of a run."
    ordering = ("-created_at", "pk")
    inlines = (RunStepInline,)

    def searched(self, rows: QuerySet[Run], words: str) -> QuerySet[Run]:
        """Return the runs of a sequence or of a person, or the one run."""
        tools = Tool.objects.filter(wire_name=words, deleted_at=None)
        runs = Run.objects.filter(pk=words) if is_uuid(words) else Run.objects.none()
        people = User.objects.filter(username=words)
        return rows.filter(named(words, tool=tools, user=people, pk=runs))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False
