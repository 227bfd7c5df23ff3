"""Govern event subscriptions: see whose programs are told of what, and switch them off."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from config.lib.admin_lists import LongList, named
from config.lib.changes import changing
from config.lib.ids import uuid_in
from registry.admin.base import OnlyFiltered
from registry.models import EventSubscription
from registry.notify.subscriptions import subscriptions_switch_off


@admin.register(EventSubscription)
class EventSubscriptionAdmin(OnlyFiltered, LongList, admin.ModelAdmin[EventSubscription]):
    """Shows where events go, without the secrets and without what may be secret in an address."""

    list_display = ("id", "owner", "host", "active", "off_reason", "failing_since", "created_at")
    list_filter = ("active",)
    list_select_related = ("owner",)
    search_fields = ("owner__username", "id")
    search_help_text = "A username or the id of a subscription."
    ordering = ("-created_at", "pk")
    actions = ("switch_off",)
    fields = (
        *("owner", "host", "note", "types", "tool", "agent_id", "secret_set_at"),
        *("active", "off_reason", "off_at", "failing_since", "created_at"),
    )
    readonly_fields = fields

    def searched(
        self, rows: QuerySet[EventSubscription], words: str
    ) -> QuerySet[EventSubscription]:
        """Return those of a person, or the one."""
        own = rows.filter(pk=words) if uuid_in(words) else rows.none()
        return rows.filter(named(words, owner=User.objects.filter(username=words), pk=own))

    @admin.action(description="Switch off", permissions=["change"])
    def switch_off(self, request: HttpRequest, rows: QuerySet[EventSubscription]) -> None:
        """Switch them off; their owners are told that a governor did, and can switch them on."""
        with changing(reason=f"Switched off by {request.user}"):
            count = subscriptions_switch_off(rows)
        self.message_user(request, f"{count} switched off.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
