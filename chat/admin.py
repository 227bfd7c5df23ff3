"""Govern conversations: see what was said and done; take one away."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from agents.models import Agent
from chat.models import Artifact, Conversation, ConversationSecret, Message, Turn, TurnEvent
from config.lib.admin_lists import LongList, named
from config.lib.ids import uuid_in


class RecordAdmin(LongList, admin.ModelAdmin[Any]):
    """What happened is not added to or changed by hand, and goes only with its conversation."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # a conversation may be deleted, and its turns and messages with it
        match = request.resolver_match
        return match is not None and "conversation" in (match.url_name or "")


@admin.register(Conversation)
class ConversationAdmin(LongList, admin.ModelAdmin[Conversation]):
    list_display = ("__str__", "user", "agent", "created_at", "updated_at")
    list_select_related = ("user", "agent")
    search_fields = ("user__username", "agent__slug")
    search_help_text = "A username or the address of an agent."
    ordering = ("-updated_at", "pk")

    def searched(self, rows: QuerySet[Conversation], words: str) -> QuerySet[Conversation]:
        """Return the conversations of a person or with an agent."""
        people, agents = User.objects.filter(username=words), Agent.objects.filter(slug=words)
        return rows.filter(named(words, user=people, agent=agents))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(ConversationSecret)
class ConversationSecretAdmin(RecordAdmin):
    """Governance sees that a value exists and may take it away; nobody sees it."""

    list_display = ("name", "conversation", "created_at", "expires_at", "replaced_at")
    list_select_related = ("conversation",)
    search_fields = ("name", "conversation__user__username")
    fields = ("name", "conversation", "created_at", "expires_at", "replaced_at")
    ordering = ("name", "pk")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("chat.delete_conversationsecret")


@admin.register(Artifact)
class ArtifactAdmin(RecordAdmin):
    list_display = ("name", "version", "conversation", "media_type", "size", "created_at")
    list_select_related = ("conversation",)
    search_fields = ("name", "conversation__user__username")
    fields = (
        *("name", "version", "conversation", "media_type", "size", "digest", "invocation_id"),
        "created_at",
    )
    ordering = ("-created_at", "pk")


@admin.register(Turn)
class TurnAdmin(RecordAdmin):
    list_display = ("id", "conversation", "number", "status", "model", "created_at", "finished_at")
    list_filter = ("status",)
    list_select_related = ("conversation",)
    search_fields = ("id", "conversation__id")
    search_help_text = "The id of a turn or of a conversation."
    ordering = ("-created_at", "pk")

    def searched(self, rows: QuerySet[Turn], words: str) -> QuerySet[Turn]:
        """Return one turn, or those of a conversation."""
        if not uuid_in(words):
            return rows.none()
        return rows.filter(Q(pk=words) | Q(conversation=words))


@admin.register(Message)
class MessageAdmin(RecordAdmin):
    list_display = ("turn", "position", "role", "content_start", "created_at")
    list_select_related = ("turn",)
    search_fields = ("turn__id",)
    search_help_text = "The id of a turn."
    ordering = ("-created_at", "pk")

    def searched(self, rows: QuerySet[Message], words: str) -> QuerySet[Message]:
        """Return the messages of a turn."""
        return rows.filter(turn=UUID(words)) if uuid_in(words) else rows.none()

    @admin.display(description="Content")
    def content_start(self, message: Message) -> str:
        return message.content[:80]


@admin.register(TurnEvent)
class TurnEventAdmin(RecordAdmin):
    list_display = ("turn", "number", "name")
    list_select_related = ("turn",)
    search_fields = ("turn__id",)
    search_help_text = "The id of a turn."
    ordering = ("-pk",)

    def searched(self, rows: QuerySet[TurnEvent], words: str) -> QuerySet[TurnEvent]:
        """Return the events of a turn."""
        return rows.filter(turn=UUID(words)) if uuid_in(words) else rows.none()
