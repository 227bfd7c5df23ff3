"""Look at agents, links, credentials and tokens; no value of a secret is ever shown."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from agents.models import (
    Agent,
    AgentTool,
    ApiToken,
    ApprovalRule,
    Arm,
    ArmTool,
    Credential,
    Experiment,
)
from agents.oauth.registration import waiting_clients
from agents.selectors import agents_by_tool
from config.lib.admin_lists import LongList, named
from registry.console.figures import count_agents_with
from registry.console.overview import Elsewhere, look_also
from registry.models import Tool

count_agents_with(agents_by_tool)


def programs_waiting(user: AnonymousUser | User) -> Elsewhere | None:
    """Tell whoever decides about them of programs that registered themselves."""
    if not user.has_perm("agents.change_oauthclient"):
        return None
    count = waiting_clients().count()
    if not count:
        return None
    told = "1 program waits" if count == 1 else f"{count} programs wait"
    url = reverse("admin:agents_oauthclient_changelist") + "?state__exact=waiting"
    return Elsewhere(told=f"{told} to be allowed or refused", url=url)


look_also(programs_waiting)


class OwnedAdmin(LongList, admin.ModelAdmin[Any]):
    """What a person makes and changes in the product, by its services."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadInline(admin.TabularInline[Any, Agent]):
    """Rows of an agent that its owner changes in the product."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class LinkInline(ReadInline):
    model = AgentTool
    fields = ("tool", "approval", "pinned_version", "name_override", "created_at")
    readonly_fields = fields
    ordering = ("tool__wire_name", "pk")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("tool")


class RuleInline(ReadInline):
    model = ApprovalRule
    fields = ("pattern", "effect", "created_at")
    readonly_fields = fields
    ordering = ("effect", "pattern")


@admin.register(Agent)
class AgentAdmin(OwnedAdmin):
    list_display = ("name", "slug", "owner", "visibility", "team", "discovery_mode", "updated_at")
    list_filter = ("visibility", "discovery_mode")
    list_select_related = ("owner", "team")
    search_fields = ("name", "slug", "owner__username")
    inlines = (LinkInline, RuleInline)
    ordering = ("name", "pk")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(AgentTool)
class AgentToolAdmin(OwnedAdmin):
    list_display = ("agent", "tool", "approval", "pinned_version", "created_at")
    list_filter = ("approval",)
    list_select_related = ("agent", "tool")
    search_fields = ("agent__slug", "tool__wire_name")
    search_help_text = "The address of an agent or the wire name of a tool."
    ordering = ("-pk",)

    def searched(self, rows: QuerySet[AgentTool], words: str) -> QuerySet[AgentTool]:
        """Return the links of an agent or to a tool."""
        tools = Tool.objects.filter(wire_name=words, deleted_at=None)
        return rows.filter(named(words, agent=Agent.objects.filter(slug=words), tool=tools))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ArmInline(admin.TabularInline[Arm, Experiment]):
    """What is compared; tools are named with the version they are held to."""

    model = Arm
    fields = ("letter", "discovery_mode", "carried")
    readonly_fields = fields
    extra = 0
    can_delete = False
    ordering = ("letter",)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> Any:
        links = ArmTool.objects.select_related("tool").order_by("tool__wire_name")
        return super().get_queryset(request).prefetch_related(Prefetch("links", links))

    @admin.display(description="Tools")
    def carried(self, arm: Arm) -> str:
        return ", ".join(map(_held, arm.links.all())) or "none"


def _held(link: ArmTool) -> str:
    pin = f" v{link.pinned_version}" if link.pinned_version else ""
    return f"{link.tool.wire_name}{pin}"


@admin.register(Experiment)
class ExperimentAdmin(OwnedAdmin):
    list_display = ("name", "agent", "state", "planned", "created_by", "started_at", "ended_at")
    list_filter = ("state",)
    list_select_related = ("agent", "created_by")
    search_fields = ("name", "agent__name", "created_by__username")
    inlines = (ArmInline,)
    ordering = ("-created_at", "pk")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Credential)
class CredentialAdmin(OwnedAdmin):
    """Governance sees that a credential exists and may take it away."""

    list_display = ("name", "owner", "agent", "updated_at")
    list_select_related = ("owner", "agent")
    search_fields = ("name", "owner__username")
    fields = ("name", "owner", "agent", "created_at", "updated_at")
    ordering = ("name", "pk")


@admin.register(ApiToken)
class ApiTokenAdmin(OwnedAdmin):
    """Governance sees that a token exists and may take it away."""

    list_display = ("name", "prefix", "user", "scopes", "expires_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    fields = ("name", "prefix", "user", "scopes", "expires_at", "last_used_at", "created_at")
    ordering = ("-created_at", "pk")
