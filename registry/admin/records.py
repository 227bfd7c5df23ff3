"""Read what was recorded: versions, calls and imports."""

from django.contrib import admin

from registry.admin.base import ReadOnly
from registry.models import ImportJob, Invocation, ToolVersion


@admin.register(ToolVersion)
class ToolVersionAdmin(ReadOnly, admin.ModelAdmin[ToolVersion]):
    list_display = ("tool", "number", "reason", "author", "created_at")
    list_select_related = ("tool", "author")
    search_fields = ("tool__wire_name", "digest")
    ordering = ("-created_at", "pk")


@admin.register(Invocation)
class InvocationAdmin(ReadOnly, admin.ModelAdmin[Invocation]):
    list_display = ("created_at", "tool", "user", "caller", "outcome", "error_code", "duration_ms")
    list_filter = ("outcome", "caller", "error_code")
    list_select_related = ("tool", "user")
    search_fields = ("tool__wire_name", "user__username", "error_code")
    date_hierarchy = "created_at"
    ordering = ("-created_at", "pk")


@admin.register(ImportJob)
class ImportJobAdmin(ReadOnly, admin.ModelAdmin[ImportJob]):
    list_display = ("name", "version", "status", "stage", "requested_by", "created_at")
    list_filter = ("status", "ecosystem")
    list_select_related = ("requested_by",)
    search_fields = ("name", "requested_by__username")
    ordering = ("-created_at", "pk")
