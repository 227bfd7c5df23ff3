"""Govern packages, tools and what was called."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from config.lib.errors import InvalidInput
from registry.models import ImportJob, Invocation, Package, Tool, ToolVersion
from registry.models.health import HealthState, in_state
from registry.models.package import ReviewStatus
from registry.services import (
    checked_hosts,
    package_allow_hosts,
    package_review,
    tool_limit_time,
    tool_review,
)


class ReadOnly:
    """For what the product itself writes: to be looked at, never added, changed or deleted."""

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ToolInline(ReadOnly, admin.TabularInline[Tool, Package]):
    model = Tool
    fields = ("wire_name", "export_name", "health_state", "version")
    readonly_fields = fields
    show_change_link = True
    extra = 0
    ordering = ("wire_name", "pk")


class VersionInline(ReadOnly, admin.TabularInline[ToolVersion, Tool]):
    model = ToolVersion
    fields = ("number", "reason", "author", "created_at")
    readonly_fields = fields
    show_change_link = True
    extra = 0
    ordering = ("-number",)


class Reviewed(admin.ModelAdmin[Any]):
    """For what is reviewed here and made elsewhere: only what review decides can be changed."""

    actions = ("approve", "reject", "quarantine")

    def review(self, item: Any, status: ReviewStatus) -> None:
        """Carry out a review."""
        raise NotImplementedError

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        self.review(obj, ReviewStatus(obj.review_status))

    @admin.action(description="Approve", permissions=["change"])
    def approve(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        """Let everyone with access use them."""
        self._review_all(request, chosen, ReviewStatus.APPROVED)

    @admin.action(description="Reject", permissions=["change"])
    def reject(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        """Let nobody use them, for good."""
        self._review_all(request, chosen, ReviewStatus.REJECTED)

    @admin.action(description="Quarantine", permissions=["change"])
    def quarantine(self, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        """Let nobody use them for now."""
        self._review_all(request, chosen, ReviewStatus.QUARANTINED)

    def _review_all(
        self, request: HttpRequest, chosen: QuerySet[Any], status: ReviewStatus
    ) -> None:
        for item in chosen:
            self.review(item, status)
            self.log_change(request, item, f"Review: {status.label}")
        count = len(chosen)
        name = self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural
        self.message_user(request, f"{count} {name} {status.label.lower()}.", messages.SUCCESS)


class PackageReviewForm(forms.ModelForm[Package]):
    """What a reviewer decides of a package."""

    def clean_allowed_hosts(self) -> list[str]:
        """Return the hosts, each in its one spelling."""
        try:
            return checked_hosts(self.cleaned_data["allowed_hosts"])
        except InvalidInput as error:
            raise ValidationError(error.message) from error


@admin.register(Package)
class PackageAdmin(Reviewed):
    list_display = (
        "name",
        "ecosystem",
        "version",
        "review_status",
        "tier",
        "added_by",
        "updated_at",
    )
    list_filter = ("review_status", "ecosystem", "tier", "category")
    list_select_related = ("added_by",)
    search_fields = ("name", "description")
    autocomplete_fields = ("added_by",)
    readonly_fields = (
        "ecosystem",
        "name",
        "version",
        "integrity",
        "artifact",
        "description",
        "category",
        "env",
        "frameworks",
        "tier",
        "downloads",
        "findings",
        "manifest",
        "added_by",
        "created_at",
        "updated_at",
    )
    fields = ("review_status", "allowed_hosts", *readonly_fields)
    form = PackageReviewForm
    inlines = (ToolInline,)
    ordering = ("name", "pk")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "allowed_hosts" in form.changed_data and isinstance(request.user, User):
            obj.allowed_hosts = form.initial["allowed_hosts"]
            package_allow_hosts(obj, form.cleaned_data["allowed_hosts"], by=request.user)

    def review(self, item: Package, status: ReviewStatus) -> None:
        """Review a package and so all of its tools."""
        package_review(item, status=status)


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
