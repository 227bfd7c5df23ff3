"""Shapes of conversations on the wire."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chat.api.request_serializers import InputRequestSerializer
from chat.models import Artifact, Conversation, ConversationSecret, Message, QueuedMessage, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.selectors import Branches, branches_of
from chat.waiting import open_requests
from config.lib.api_bodies import Body, VariablesField
from config.lib.types import JsonObject


class ConversationSerializer(serializers.ModelSerializer[Conversation]):
    """A conversation as lists tell it."""

    agent = serializers.CharField(source="agent.slug", read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    updatedAt = serializers.DateTimeField(source="updated_at", read_only=True)

    class Meta:
        model = Conversation
        fields = ("id", "title", "agent", "createdAt", "updatedAt")


class MessageSerializer(serializers.ModelSerializer[Message]):
    """One message of a turn."""

    toolCalls = serializers.JSONField(source="tool_calls", read_only=True)
    toolCallId = serializers.CharField(source="tool_call_id", read_only=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = Message
        fields = ("role", "content", "toolCalls", "toolCallId", "result", "createdAt")


class BranchesSerializer(serializers.Serializer[Branches]):
    """Which of the turns that follow the same one it is, counted from 1."""

    index = serializers.IntegerField()
    count = serializers.IntegerField()
    previous = serializers.UUIDField(allow_null=True)
    next = serializers.UUIDField(allow_null=True)


class TurnSerializer(serializers.ModelSerializer[Turn]):
    """A turn with its messages; `answer` is what the agent said last.

    `requests` are what it waits for, while it does.
    """

    conversation = serializers.UUIDField(source="conversation_id", read_only=True)
    messages = MessageSerializer(many=True, read_only=True)
    answer = serializers.SerializerMethodField()
    branches = serializers.SerializerMethodField()
    requests = serializers.SerializerMethodField()
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    finishedAt = serializers.DateTimeField(source="finished_at", read_only=True, allow_null=True)

    class Meta:
        model = Turn
        fields = (
            "id",
            "conversation",
            "number",
            "branches",
            "status",
            "model",
            "answer",
            "requests",
            "found",
            "usage",
            "error",
            "messages",
            "createdAt",
            "finishedAt",
        )

    def get_answer(self, turn: Turn) -> str:
        """Return the last words of the agent, or nothing while there are none."""
        said = [m.content for m in turn.messages.all() if m.role == Role.ASSISTANT]
        return said[-1] if said else ""

    @extend_schema_field(BranchesSerializer)
    def get_branches(self, turn: Turn) -> JsonObject:
        """Return where it stands among the branches; of many turns they are read at once."""
        found = self.context.get("branches") or branches_of([turn])
        return dict(BranchesSerializer(found[turn.pk]).data)

    @extend_schema_field(InputRequestSerializer(many=True))
    def get_requests(self, turn: Turn) -> list[Any]:
        """Return what a waiting turn asks of the person; of any other turn nothing."""
        rows = open_requests(turn.pk) if turn.status == TurnStatus.WAITING else []
        return list(InputRequestSerializer(rows, many=True).data)


class ConversationDetailSerializer(ConversationSerializer):
    """A conversation with its latest turns, in order."""

    turns = TurnSerializer(many=True, read_only=True)

    class Meta(ConversationSerializer.Meta):
        fields = (*ConversationSerializer.Meta.fields, "turns")  # type: ignore[assignment]


class StartSerializer(Body):
    """Opens a conversation."""

    agent = serializers.CharField(help_text="The agent's slug.")
    title = serializers.CharField(required=False, allow_blank=True, default="")


class RenameSerializer(Body):
    """What of a conversation can be changed."""

    always = ("title",)

    title = serializers.CharField(min_length=1)


class ArtifactSerializer(serializers.ModelSerializer[Artifact]):
    """An artifact without its content, which is at `url`."""

    mediaType = serializers.CharField(source="media_type", read_only=True)
    invocation = serializers.UUIDField(source="invocation_id", read_only=True, allow_null=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    url = serializers.SerializerMethodField()

    class Meta:
        model = Artifact
        fields = (
            *("id", "name", "version", "mediaType", "size", "digest", "invocation", "createdAt"),
            "url",
        )

    def get_url(self, artifact: Artifact) -> str:
        """Return the place of the content in the REST API."""
        return reverse("artifact-content", args=[artifact.pk])


class VariableSerializer(serializers.ModelSerializer[ConversationSecret]):
    """A variable of a conversation; its value is never shown."""

    expiresAt = serializers.DateTimeField(source="expires_at", read_only=True)

    class Meta:
        model = ConversationSecret
        fields = ("name", "expiresAt")


class VariablesSerializer(Body):
    """Values for the tools of a conversation."""

    env = VariablesField(
        help_text="Name → value, such as EXA_API_KEY. Kept sealed, for hours, never shown.",
    )


class QueuedSerializer(serializers.ModelSerializer[QueuedMessage]):
    """A message that waits until the agent is done with those before it."""

    createdAt = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = QueuedMessage
        fields = ("id", "content", "createdAt")


class PlaceSerializer(serializers.Serializer[QueuedMessage]):
    """Where a message waits; `position` counts from 1."""

    queued = serializers.UUIDField()
    position = serializers.IntegerField()


class EditSerializer(Body):
    """A message in the place of another one."""

    content = serializers.CharField(allow_blank=True, trim_whitespace=False)


class SendSerializer(Body):
    """A message, and variables for the tools of this conversation."""

    content = serializers.CharField(allow_blank=True, trim_whitespace=False)
    env = VariablesField(
        required=False,
        help_text="Name → value, such as EXA_API_KEY. Kept sealed, for hours, never shown.",
    )
    queue = serializers.BooleanField(
        default=False,
        help_text="While the agent is not done with the last message, let this one wait for it.",
    )
