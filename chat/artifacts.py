"""Keep what is too long to be told as artifacts of the conversation, and read them again."""

import hashlib
import json
import re
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Max, QuerySet, Sum

from chat.answers import Answer
from chat.models import Artifact, Conversation
from chat.models.artifact import LARGEST
from config.lib.errors import DomainError
from config.lib.jsontext import size_of
from config.lib.types import JsonObject
from registry.errors import ArtifactNotFound

LARGEST_TOTAL = 100_000_000
"""Bytes of all artifacts of one conversation."""

NAMES_SHOWN = 20
OCTETS = "application/octet-stream"
_NAME = re.compile(r"[^\w.()-]+")
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")


class ArtifactRejected(DomainError):
    """The artifact cannot be kept."""

    code = "artifact_rejected"


class ConversationArtifacts:
    """The artifacts of one conversation; implements `registry.context.Artifacts`."""

    def __init__(self, conversation_id: UUID) -> None:
        self._conversation_id = conversation_id

    def read(self, name: str, version: int | None = None) -> str:
        """Return the text of an artifact, of its latest version unless one is named."""
        rows = Artifact.objects.filter(conversation_id=self._conversation_id)
        found = rows.filter(name=name, **({"version": version} if version else {}))
        artifact = found.order_by("-version").first()
        if artifact is None:
            names = rows.order_by("name").values_list("name", flat=True).distinct()
            known = ", ".join(names[:NAMES_SHOWN]) or "none"
            wanted = f"{name} of version {version}" if version else name
            raise ArtifactNotFound(
                f"This conversation has no artifact {wanted[:120]}.", f"Artifacts: {known}."
            )
        try:
            return bytes(artifact.content).decode()
        except UnicodeDecodeError:
            raise ArtifactNotFound(
                f"{artifact.name} is {artifact.media_type} and no text.",
                "Only artifacts of text can stand in an argument.",
            ) from None

    @transaction.atomic
    def save(
        self, name: str, data: bytes, media_type: str, *, invocation_id: UUID | None = None
    ) -> JsonObject:
        """Keep the next version of an artifact; return `{name, version, size, media_type}`.

        Raises ArtifactRejected when it, or all of the conversation's together, would be too large.
        """
        Conversation.objects.select_for_update().get(pk=self._conversation_id)
        rows = Artifact.objects.filter(conversation_id=self._conversation_id)
        total = rows.aggregate(total=Sum("size"))["total"] or 0
        if len(data) > LARGEST or total + len(data) > LARGEST_TOTAL:
            raise ArtifactRejected(
                f"An artifact has at most {LARGEST:,} bytes, and all artifacts of a conversation "
                f"have at most {LARGEST_TOTAL:,}.",
                "Ask the tool for less, or start a new conversation.",
            )
        name = _NAME.sub("_", name)[:100].lstrip(" ") or "artifact"
        last = rows.filter(name=name).aggregate(last=Max("version"))["last"] or 0
        kept = Artifact.objects.create(
            conversation_id=self._conversation_id,
            name=name,
            version=last + 1,
            media_type=media_type if _MEDIA_TYPE.fullmatch(media_type) else OCTETS,
            size=len(data),
            digest=hashlib.sha256(data).hexdigest(),
            content=data,
            invocation_id=invocation_id,
        )
        return {
            "id": str(kept.pk),
            "name": kept.name,
            "version": kept.version,
            "size": kept.size,
            "media_type": kept.media_type,
        }


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
