"""Keep named, versioned texts and files in rows: of a conversation, or of a run."""

import hashlib
import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet, Sum

from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.errors import ArtifactNotFound

LARGEST = 10_000_000
"""Bytes of one artifact."""

LARGEST_TOTAL = 100_000_000
"""Bytes of all artifacts that are kept together."""

NAMES_SHOWN = 20
OCTETS = "application/octet-stream"
_NAME = re.compile(r"[^\w.()-]+")
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")


class ArtifactRejected(DomainError):
    """The artifact cannot be kept."""

    code = "artifact_rejected"


class ArtifactStore(ABC):
    """The artifacts of one owner; implements `registry.context.Artifacts`.

    A subclass says which rows they are, whose they are and how one is made. Rows have `name`,
    `version`, `media_type`, `size`, `digest` and `content`.
    """

    owner: ClassVar[str]
    """What keeps them, in a sentence: “conversation”."""

    @abstractmethod
    def rows(self) -> QuerySet[Any]:
        """Return the rows of the owner's artifacts."""

    @abstractmethod
    def lock(self) -> None:
        """Let no other artifact of the owner be kept until the transaction ends."""

    @abstractmethod
    def create(self, **fields: Any) -> Any:
        """Make a row of these fields."""

    def read(self, name: str, version: int | None = None) -> str:
        """Return the text of an artifact, of its latest version unless one is named.

        Raises ArtifactNotFound.
        """
        found = self.rows().filter(name=name, **({"version": version} if version else {}))
        artifact = found.order_by("-version").first()
        if artifact is None:
            names = self.rows().order_by("name").values_list("name", flat=True).distinct()
            known = ", ".join(names[:NAMES_SHOWN]) or "none"
            wanted = f"{name} of version {version}" if version else name
            raise ArtifactNotFound(
                f"This {self.owner} has no artifact {wanted[:120]}.", f"Artifacts: {known}."
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
        """Keep the next version of an artifact; return `{id, name, version, size, media_type}`.

        Raises ArtifactRejected when it, or all of the owner's together, would be too large.
        """
        self.lock()
        total = self.rows().aggregate(total=Sum("size"))["total"] or 0
        if len(data) > LARGEST or total + len(data) > LARGEST_TOTAL:
            raise ArtifactRejected(
                f"An artifact has at most {LARGEST:,} bytes, and all artifacts of a {self.owner} "
                f"have at most {LARGEST_TOTAL:,}.",
                f"Ask the tool for less, or start a new {self.owner}.",
            )
        name = _NAME.sub("_", name)[:100].lstrip(" ") or "artifact"
        last = self.rows().filter(name=name).aggregate(last=Max("version"))["last"] or 0
        kept = self.create(
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
