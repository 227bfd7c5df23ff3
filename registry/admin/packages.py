"""Govern packages."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from config.lib.errors import InvalidInput
from registry.admin import stopping
from registry.admin.base import ReadOnly, Reviewed
from registry.models import Package, Tool
from registry.models.package import ReviewStatus
from registry.services import checked_hosts, package_allow_hosts, package_review
from registry.stopping import package_resume, package_stop


class ToolInline(ReadOnly, admin.TabularInline[Tool, Package]):
    model = Tool
    fields = ("wire_name", "export_name", "health_state", "version")
    readonly_fields = fields
    show_change_link = True
    extra = 0
    ordering = ("wire_name", "pk")


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
    actions = (*Reviewed.actions, stopping.stop, stopping.resume)
    carry_out_stop = staticmethod(package_stop)
    carry_out_resume = staticmethod(package_resume)
    list_display = (
        "name",
        "ecosystem",
        "version",
        "review_status",
        "tier",
        "added_by",
        "updated_at",
        stopping.runs,
    )
    list_filter = (
        ("stopped_at", admin.EmptyFieldListFilter),
        "review_status",
        "ecosystem",
        "tier",
        "category",
    )
    list_select_related = ("added_by",)
    search_fields = ("name", "description")
    autocomplete_fields = ("added_by",)
    readonly_fields = (
        "stopped_at",
        "stopped_by",
        "stopped_reason",
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
