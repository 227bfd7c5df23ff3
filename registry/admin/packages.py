"""Govern packages."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.lib.errors import InvalidInput
from registry.admin.base import ReadOnly, Reviewed, StoppedFilter, acts, badge, shown_json
from registry.admin.bulk import Act, Chosen
from registry.console.figures import Figures, package_figures, tools_of_packages
from registry.models import Package, Tool
from registry.models.package import ReviewStatus
from registry.review.standing import package_decide
from registry.services import checked_hosts, package_allow_hosts
from registry.stopping import package_resume, package_stop


class ToolInline(ReadOnly, admin.TabularInline[Tool, Package]):
    model = Tool
    fields = ("name", "export_name", "health", "version")
    readonly_fields = fields
    extra = 0
    ordering = ("wire_name", "pk")

    @admin.display(description="Wire name")
    def name(self, tool: Tool) -> SafeString:
        url = reverse("admin:registry_tool_change", args=[tool.pk])
        return format_html('<a href="{}">{}</a>', url, tool.wire_name)

    @admin.display(description="Health")
    def health(self, tool: Tool) -> SafeString:
        return badge(tool.health_state, tool.health_state.label)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tool]:
        heavy = ("input_schema", "output_schema", "definition", "ai_agent", "description")
        return super().get_queryset(request).filter(deleted_at=None).defer(*heavy)


class PackageReviewForm(forms.ModelForm[Package]):
    """What a reviewer decides of a package beside its review."""

    def clean_allowed_hosts(self) -> list[str]:
        """Return the hosts, each in its one spelling."""
        try:
            return checked_hosts(self.cleaned_data["allowed_hosts"])
        except InvalidInput as error:
            raise ValidationError(error.message) from error


@admin.register(Package)
class PackageAdmin(Reviewed):
    stop_one = staticmethod(package_stop)
    resume_one = staticmethod(package_resume)
    list_display = (
        *("named", "ecosystem", "review", "tools", "calls", "success", "found", "waits"),
    )
    list_filter = ("review_status", "ecosystem", StoppedFilter)
    search_fields = ("name",)
    readonly_fields = (
        *("name", "ecosystem", "version", "review", "added_by", "description", "category"),
        *("tier", "downloads", "integrity", "artifact", "shown_env", "frameworks"),
        *(
            "shown_findings",
            "shown_manifest",
            "stopped_at",
            "stopped_by",
            "stopped_reason",
            "created_at",
            "updated_at",
        ),
    )
    fieldsets = (
        (None, {"fields": ("name", "ecosystem", "version", "review", "allowed_hosts")}),
        ("Stop", {"fields": ("stopped_at", "stopped_by", "stopped_reason")}),
        (
            "What it says of itself",
            {"fields": ("description", "category", "tier", "frameworks", "shown_env", "downloads")},
        ),
        (
            "What was pinned",
            {"fields": ("integrity", "artifact", "shown_findings", "shown_manifest")},
        ),
        ("History", {"fields": ("added_by", "created_at", "updated_at")}),
    )
    form = PackageReviewForm
    inlines = (ToolInline,)
    ordering = ("name", "pk")
    shown_env = shown_json("env")
    shown_manifest = shown_json("manifest")
    decisions = acts("packages", "What uses their tools loses them at once.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Package]:
        return super().get_queryset(request).defer("manifest").select_related("added_by")

    def figures_of(self, rows: Sequence[Any]) -> Mapping[UUID, Figures]:
        """Return the figures of packages; each row is told its tools as well."""
        ids = [row.pk for row in rows]
        counts = tools_of_packages(ids)
        for row in rows:
            row.tool_counts = counts.get(row.pk, {"tools": 0, "broken": 0})
        return package_figures(ids)

    @admin.display(description="Package", ordering="name")
    def named(self, package: Package) -> str:
        return str(package)

    @admin.display(description="Tools")
    def tools(self, package: Any) -> SafeString | str:
        counts = package.tool_counts
        if counts["broken"]:
            return badge("broken", f"{counts['broken']} of {counts['tools']} broken")
        return str(counts["tools"])

    @admin.display(description="Findings")
    def found(self, package: Package) -> str:
        return str(len(package.findings)) if package.findings else ""

    @admin.display(description="Findings of the import")
    def shown_findings(self, package: Package) -> SafeString | None:
        rows = ((item.get("path", ""), item.get("message", "")) for item in package.findings)
        lines = format_html_join("", "<li><code>{}</code> {}</li>", rows)
        return format_html('<ul class="found">{}</ul>', lines) if package.findings else None

    def chosen(self, item: Package, act: Act) -> Chosen:
        """Say what a package is, and what stands in the way."""
        return Chosen(
            item=item,
            title=str(item),
            detail=f"{item.get_ecosystem_display()}, {item.get_review_status_display().lower()}",
            obstacle=self.obstacle(item, act),
            url=reverse("admin:registry_package_change", args=[item.pk]),
        )

    def decide(self, item: Package, status: ReviewStatus, *, by: User, reason: str) -> None:
        """Review a package and so all of its tools."""
        package_decide(item, status, by=by, reason=reason)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if "allowed_hosts" in form.changed_data and isinstance(request.user, User):
            obj.allowed_hosts = form.initial["allowed_hosts"]
            hosts = form.cleaned_data["allowed_hosts"]
            package_allow_hosts(obj, hosts, by=request.user, reason="Set in the admin.")
