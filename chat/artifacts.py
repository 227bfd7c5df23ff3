"""Keep what is too long to be told as artifacts of the conversation, and read them again."""

import json
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from chat.answers import Answer
from chat.models import Artifact, Conversation
from config.lib.jsontext import size_of
from registry.artifact_store import ArtifactRejected, ArtifactStore


class ConversationArtifacts(ArtifactStore):
    """The artifacts of one conversation."""

    owner = "conversation"

    def __init__(self, conversation_id: UUID) -> None:
        self._conversation_id = conversation_id

    def rows(self) -> QuerySet[Artifact]:
        """Return the rows of the conversation's artifacts."""
        return Artifact.objects.filter(conversation_id=self._conversation_id)

    def lock(self) -> None:
        """Let no other artifact of the conversation be kept until the transaction ends."""
        Conversation.objects.select_for_update().get(pk=self._conversation_id)

    def create(self, **fields: Any) -> Artifact:
        """Make a row of these fields."""
        return Artifact.objects.create(conversation_id=self._conversation_id, **fields)


def artifacts_of(conversation: Conversation) -> QuerySet[Artifact]:
    """Return the artifacts of a conversation, without their content, the newest first."""
    rows = Artifact.objects.filter(conversation=conversation)
    return rows.defer("content").order_by("-created_at", "pk")


def kept_if_large(
    answer: Answer, *, tool: str, conversation_id: UUID, invocation_id: UUID | None
) -> Answer:
    """Return the answer; one that is too long for the model is kept as an artifact.

    Where it cannot be kept, the model is told its start, as without artifacts.
    """
    too_long = size_of(answer.value) > settings.ARTIFACT_THRESHOLD_BYTES
    if answer.status != "succeeded" or not too_long:
        return answer
    if isinstance(answer.value, str):
        data, media_type, ending = answer.value.encode(), "text/plain", "txt"
    else:
        text = json.dumps(answer.value, ensure_ascii=False, indent=1)
        data, media_type, ending = text.encode(), "application/json", "json"
    try:
        saved = ConversationArtifacts(conversation_id).save(
            f"{tool}.{ending}", data, media_type, invocation_id=invocation_id
        )
    except ArtifactRejected:
        return answer
    return answer.with_artifact(saved)
