"""Govern tools."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.lib.types import JsonObject
from registry.admin.base import ReadOnly, Reviewed, StoppedFilter, acts, badge, shown_json
from registry.admin.bulk import Act, Chosen
from registry.console.figures import Figures, tool_figures
from registry.governing import Governed, tool_govern
from registry.models import Package, Tool, ToolVersion
from registry.models.health import HealthState, in_state
from registry.models.package import ReviewStatus
from registry.models.stoppable import LONGEST_REASON
from registry.review.standing import tool_decide
from registry.scope_field import ScopesField
from registry.selectors import tools_named
from registry.stopping import tool_resume, tool_stop

VERSIONS_SHOWN = 20
PACKAGES_SEARCHED = 50
_HEAVY = ("input_schema", "output_schema", "definition", "ai_agent", "description")


class VersionInline(ReadOnly, admin.TabularInline[ToolVersion, Tool]):
    verbose_name_plural = f"last {VERSIONS_SHOWN} versions"
    model = ToolVersion
    fields = ("number", "reason", "author", "created_at", "difference")
    readonly_fields = fields
    extra = 0
    ordering = ("-number",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolVersion]:
        recent = F("tool__version") - VERSIONS_SHOWN
        versions = super().get_queryset(request).filter(number__gt=recent)
        return versions.select_related("author").defer("snapshot")

    @admin.display(description="Changes")
    def difference(self, version: ToolVersion) -> SafeString:
        before = version.number - 1
        url = reverse("registry:version_diff", args=[version.tool_id, before, version.number])
        words = f"From version {before}" if before else "All that is new"
        return format_html('<a href="{}">{}</a>', url, words)


class HealthFilter(admin.SimpleListFilter):
    title = "health"
    parameter_name = "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("broken", "Broken"), *((state.value, state.label) for state in HealthState)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Tool]) -> QuerySet[Tool]:
        return queryset.filter(in_state(self.value() or "")) if self.value() else queryset


class LivingFilter(admin.SimpleListFilter):
    """Shows the tools that are there; those taken out only when they are asked for."""

    title = "presence"
    parameter_name = "presence"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("gone", "Taken out"), ("all", "All")]

    def choices(self, changelist: Any) -> Any:
        first, *others = super().choices(changelist)
        return [{**first, "display": "There"}, *others]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Tool]) -> QuerySet[Tool]:
        match self.value():
            case "all":
                return queryset
            case "gone":
                return queryset.exclude(deleted_at=None)
        return queryset.filter(deleted_at=None)


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
    stop_one = staticmethod(tool_stop)
    resume_one = staticmethod(tool_resume)
    list_display = (
        *("wire_name", "origin", "review", "health", "calls", "success", "agents", "waits"),
    )
    list_filter = (
        LivingFilter,
        "review_status",
        HealthFilter,
        "kind",
        "visibility",
        StoppedFilter,
    )
    search_fields = ("wire_name", "title", "package__name")
    search_help_text = "How words of its name or title begin, or the name of its package."
    fieldsets = (
        (
            None,
            {
                "fields": (
                    *("wire_name", "title", "kind", "package", "export_name", "review", "health"),
                    "shown_error",
                )
            },
        ),
        ("Limits", {"fields": (*Governed._fields, "reason")}),
        ("Stop", {"fields": ("stopped_at", "stopped_by", "stopped_reason")}),
        ("Deprecation", {"fields": ("deprecated_on", "successor", "deprecation_note")}),
        (
            "What it says of itself",
            {
                "fields": (
                    *("description", "category", "shown_input", "shown_output", "shown_guidance"),
                    "shown_definition",
                )
            },
        ),
        (
            "Who may use it",
            {"fields": ("owner", "team", "visibility")},
        ),
        (
            "History",
            {
                "fields": (
                    *("version", "unreviewed_versions", "quality", "last_health_check_at"),
                    *("created_at", "updated_at", "deleted_at"),
                )
            },
        ),
    )
    inlines = (VersionInline,)
    ordering = ("wire_name", "pk")
    shown_input = shown_json("input_schema")
    shown_output = shown_json("output_schema")
    shown_guidance = shown_json("ai_agent")
    shown_definition = shown_json("definition")
    shown_error = shown_json("health_error")
    decisions = acts("tools", "What uses them loses them at once.")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return all but the rules: a definition is changed by publishing a version."""
        named = flatten_fieldsets(self.fieldsets)
        return tuple(str(name) for name in named if name not in {*Governed._fields, "reason"})

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tool]:
        tools = super().get_queryset(request).select_related("package", "owner")
        return tools.defer(*_HEAVY, "package__manifest", "package__findings")

    def searched(self, rows: QuerySet[Tool], words: str) -> QuerySet[Tool]:
        """Return the tools that are named so, and those of packages that are."""
        packages = Package.objects.filter(name__icontains=words).order_by("name")
        ids = list(packages.values_list("pk", flat=True)[:PACKAGES_SEARCHED])
        rows, called = tools_named(rows, words)
        return rows.filter(called | Q(package__in=ids))

    def figures_of(self, rows: Sequence[Any]) -> Mapping[UUID, Figures]:
        """Return the figures of tools."""
        return tool_figures(rows)

    @admin.display(description="Health")
    def health(self, tool: Tool) -> SafeString:
        return badge(tool.health_state, tool.health_state.label)

    @admin.display(description="From", ordering="package__name")
    def origin(self, tool: Tool) -> str:
        return str(tool.package or f"{tool.owner} ({tool.get_kind_display().lower()})")

    @admin.display(description="Agents")
    def agents(self, tool: Any) -> str:
        return f"{tool.figures.agents:,}"

    def chosen(self, item: Tool, act: Act) -> Chosen:
        """Say what a tool is, and what stands in the way."""
        status = item.get_review_status_display().lower()
        return Chosen(
            item=item,
            title=item.wire_name,
            detail=f"{item.package}, {status}" if item.package else f"{item.owner}, {status}",
            obstacle=self.obstacle(item, act),
            url=reverse("admin:registry_tool_change", args=[item.pk]),
        )

    def decide(self, item: Tool, status: ReviewStatus, *, by: User, reason: str) -> None:
        """Review one tool."""
        tool_decide(item, status, by=by, reason=reason)

    def save_model(self, request: HttpRequest, obj: Tool, form: Any, change: bool) -> None:
        if set(form.changed_data) & set(Governed._fields):
            wanted = Governed(**{name: form.cleaned_data[name] for name in Governed._fields})
            reason = form.cleaned_data["reason"]
            tool_govern(obj, wanted, by=cast(User, request.user), reason=reason)
