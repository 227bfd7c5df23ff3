"""Govern agents, links, credentials (never their values) and tokens."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from agents.models import Agent, AgentTool, ApiToken, Credential
from agents.selectors import agents_by_tool
from registry.console.figures import count_agents_with

count_agents_with(agents_by_tool)


class LinkInline(admin.TabularInline[AgentTool, Agent]):
    model = AgentTool
    extra = 0
    autocomplete_fields = ("tool",)


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin[Agent]):
    list_display = ("name", "slug", "owner", "visibility", "team", "discovery_mode", "updated_at")
    list_filter = ("visibility", "discovery_mode", "team")
    list_select_related = ("owner", "team")
    search_fields = ("name", "slug", "description", "owner__username")
    autocomplete_fields = ("owner", "team")
    readonly_fields = ("created_at", "updated_at")
    inlines = (LinkInline,)
    ordering = ("name", "pk")


@admin.register(AgentTool)
class AgentToolAdmin(admin.ModelAdmin[AgentTool]):
    list_display = ("agent", "tool", "approval", "pinned_version", "created_at")
    list_filter = ("approval",)
    list_select_related = ("agent", "tool")
    search_fields = ("agent__name", "tool__wire_name")
    autocomplete_fields = ("agent", "tool")
    ordering = ("agent__name", "pk")


class SecretsAdmin(admin.ModelAdmin[Any]):
    """A person makes these; governance sees that they exist and may take them away."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Credential)
class CredentialAdmin(SecretsAdmin):
    list_display = ("name", "owner", "agent", "updated_at")
    list_select_related = ("owner", "agent")
    search_fields = ("name", "owner__username")
    fields = ("name", "owner", "agent", "created_at", "updated_at")
    ordering = ("name", "pk")


@admin.register(ApiToken)
class ApiTokenAdmin(SecretsAdmin):
    list_display = ("name", "prefix", "user", "scopes", "expires_at", "last_used_at")
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    fields = ("name", "prefix", "user", "scopes", "expires_at", "last_used_at", "created_at")
    ordering = ("-created_at", "pk")
