"""Files that a tool saved beside its answer: kept by the conversation, or handed to the caller.

They come as `details.artifacts`, `[{name, media_type, size, data}]` with `data` in base64. What is
kept in a conversation has `{id, name, version, size, media_type}` instead, or `problem` where it
could not be kept; no data of it is in a record or a prompt.
"""

import base64
from collections.abc import Iterable
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist

from config.lib.errors import DomainError
from config.lib.jsontext import storable
from config.lib.masking import Masker
from config.lib.types import JsonObject
from registry.context import Artifacts

FILES = "artifacts"
GONE = "Its conversation is no longer there."


def without_files(details: JsonObject | None) -> tuple[JsonObject | None, list[JsonObject]]:
    """Return the details without the files that a tool saved, and those files."""
    if not details or FILES not in details:
        return details, []
    rest = {name: value for name, value in details.items() if name != FILES}
    return rest or None, list(details[FILES])


def kept_files(
    files: Iterable[JsonObject],
    artifacts: Artifacts | None,
    masker: Masker,
    *,
    invocation_id: UUID,
) -> list[JsonObject]:
    """Keep the files in the conversation that the call belongs to; else return them with data.

    Secrets that the masker knows are put out of sight in files of text.
    """
    return [_kept(file, artifacts, masker, invocation_id) for file in files]


def _kept(
    file: JsonObject, artifacts: Artifacts | None, masker: Masker, invocation_id: UUID
) -> JsonObject:
    data = _masked(base64.b64decode(file["data"]), masker)
    name, media_type = masker.text(str(storable(file["name"]))), str(storable(file["media_type"]))
    told: JsonObject = {"name": name, "media_type": media_type, "size": len(data)}
    if artifacts is None:
        return {**told, "data": base64.b64encode(data).decode()}
    try:
        return artifacts.save(name, data, media_type, invocation_id=invocation_id)
    except DomainError as error:
        return {**told, "problem": error.message}
    except ObjectDoesNotExist:
        return {**told, "problem": GONE}


def _masked(data: bytes, masker: Masker) -> bytes:
    try:
        return masker.text(data.decode()).encode()
    except UnicodeDecodeError:
        return data
