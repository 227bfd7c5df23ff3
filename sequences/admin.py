"""Govern runs, which can only be seen here, and what starts them, which can be switched off."""

from typing import Any, TypeVar

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.http import HttpRequest

from config.lib.admin_lists import LongList, named
from config.lib.changes import changing
from config.lib.ids import uuid_in
from registry.models import Tool
from sequences.models import Run, RunStep, Schedule, Webhook
from sequences.triggers.standing import switch_off


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
        runs = Run.objects.filter(pk=words) if uuid_in(words) else Run.objects.none()
        people = User.objects.filter(username=words)
        return rows.filter(named(words, tool=tools, user=people, pk=runs))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False


Row = TypeVar("Row", Schedule, Webhook)


class TriggerAdmin(LongList, admin.ModelAdmin[Row]):
    """What starts runs by itself: governors see all of it and switch it off, nobody's secrets."""

    list_filter = ("enabled",)
    list_select_related = ("tool", "owner")
    search_fields = ("tool__wire_name", "owner__username", "id")
    search_help_text = "The wire name of a sequence, a username or an id."
    ordering = ("-created_at", "pk")
    actions = ("switch_off",)

    def searched(self, rows: QuerySet[Row], words: str) -> QuerySet[Row]:
        """Return those of a sequence or of a person, or the one."""
        tools = Tool.objects.filter(wire_name=words, deleted_at=None)
        own = rows.filter(pk=words) if uuid_in(words) else rows.none()
        people = User.objects.filter(username=words)
        return rows.filter(named(words, tool=tools, owner=people, pk=own))

    @admin.action(description="Switch off", permissions=["change"])
    def switch_off(self, request: HttpRequest, rows: QuerySet[Row]) -> None:
        """Switch them off; their owners are told who did it, and can switch them on again."""
        with changing(reason=f"Switched off by {request.user}"):
            count = switch_off(rows)
        self.message_user(request, f"{count} switched off.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Schedule)
class ScheduleAdmin(TriggerAdmin[Schedule]):
    list_display = ("id", "tool", "owner", "cron", "timezone", "enabled", "next_at", "last_at")
    fields = (
        *("tool", "owner", "name", "cron", "timezone", "scopes", "enabled"),
        *("next_at", "last_at", "last_error", "created_at"),
    )
    readonly_fields = fields


@admin.register(Webhook)
class WebhookAdmin(TriggerAdmin[Webhook]):
    list_display = ("id", "tool", "owner", "signing", "enabled", "last_at")
    fields = (
        *("tool", "owner", "name", "signing", "secret_set_at", "input_mapping", "scopes"),
        *("enabled", "last_at", "last_error", "created_at"),
    )
    readonly_fields = fields
