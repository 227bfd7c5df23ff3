"""Read what was recorded: versions, calls and imports."""

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from config.lib.admin_lists import LongList, named
from registry.admin.base import ReadOnly
from registry.audit.calls import DECISIONS, for_reader
from registry.models import ImportJob, Invocation, Tool, ToolVersion, Upload

_HEAVY = tuple(
    f"tool__{name}" for name in ("input_schema", "output_schema", "definition", "description")
)


def tools_called(words: str) -> QuerySet[Tool]:
    """Return the living tool with this wire name."""
    return Tool.objects.filter(wire_name=words, deleted_at=None)


@admin.register(ToolVersion)
class ToolVersionAdmin(ReadOnly, LongList, admin.ModelAdmin[ToolVersion]):
    list_display = ("tool", "number", "reason", "author", "created_at")
    list_select_related = ("tool", "author")
    search_fields = ("tool__wire_name",)
    search_help_text = "The wire name of a tool."
    ordering = ("-created_at", "pk")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolVersion]:
        return super().get_queryset(request).defer("snapshot", *_HEAVY)

    def searched(self, rows: QuerySet[ToolVersion], words: str) -> QuerySet[ToolVersion]:
        """Return the versions of a tool."""
        return rows.filter(named(words, tool=tools_called(words)))


class DecisionFilter(admin.SimpleListFilter):
    """Tells calls by what became of the request to make them."""

    title = "decision"
    parameter_name = "decision"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return DECISIONS

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Invocation]
    ) -> QuerySet[Invocation]:
        return queryset.filter(decision=self.value()) if self.value() else queryset


@admin.register(Invocation)
class InvocationAdmin(ReadOnly, LongList, admin.ModelAdmin[Invocation]):
    list_display = ("created_at", "tool", "user", "caller", "outcome", "decision", "duration_ms")
    list_filter = ("outcome", "caller", DecisionFilter)
    list_select_related = ("tool", "user")
    fields = (
        *("created_at", "tool", "tool_version", "caller", "user", "agent_id", "turn_id", "run_id"),
        *("parent_id", "outcome", "phase", "error_code", "decision", "duration_ms", "cost"),
        *("error", "arguments", "output"),
    )
    search_fields = ("tool__wire_name", "user__username", "error_code")
    search_help_text = "The wire name of a tool, a username or the code of an error."
    ordering = ("-created_at", "pk")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Invocation]:
        return super().get_queryset(request).defer(*_HEAVY)

    def searched(self, rows: QuerySet[Invocation], words: str) -> QuerySet[Invocation]:
        """Return the calls of a tool, of a person or with an error."""
        people = User.objects.filter(username=words)
        found = named(words, tool=tools_called(words), user=people)
        error = Q(error_code=words) & ~Q(error_code="")
        return rows.filter(error if found == Q(pk=None) else found)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Invocation | None:
        """Return a call as the person may read it."""
        call = super().get_object(request, object_id, from_field)
        return call and for_reader(cast(User, request.user), call)


@admin.register(ImportJob)
class ImportJobAdmin(ReadOnly, LongList, admin.ModelAdmin[ImportJob]):
    list_display = ("name", "version", "status", "stage", "requested_by", "created_at")
    list_filter = ("status", "ecosystem")
    list_select_related = ("requested_by",)
    search_fields = ("name", "requested_by__username")
    ordering = ("-created_at", "pk")


@admin.register(Upload)
class UploadAdmin(ReadOnly, admin.ModelAdmin[Upload]):
    """Whose module it is and what it is known by; its files are code and stay with the sandbox."""

    list_display = ("name", "filename", "size", "added_by", "created_at")
    list_select_related = ("added_by",)
    search_fields = ("name", "=digest")
    fields = ("name", "filename", "digest", "size", "added_by", "created_at")
    ordering = ("-created_at", "pk")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Upload]:
        return super().get_queryset(request).defer("files")
