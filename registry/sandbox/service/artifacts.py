"""Files that a tool saved beside its answer."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from registry.sandbox.service.errors import ServiceError

MAX_ARTIFACTS = 20
MAX_ARTIFACT_BYTES = 2_000_000
MAX_NAME = 200
MAX_MEDIA_TYPE = 100


@dataclass(frozen=True, slots=True)
class Artifacts:
    """`files` as `{name, media_type, size, data}`, `data` in base64; `size` of all of it in bytes.

    `size` is what they take in the answer's line.
    """

    files: list[dict[str, Any]]
    size: int


def saved_artifacts(result: Any) -> Artifacts:
    """Return the artifacts of a guest's answer; raises `ServiceError` for what is none."""
    given = result.get("artifacts", []) if isinstance(result, dict) else []
    if not isinstance(given, list) or len(given) > MAX_ARTIFACTS:
        raise _violation()
    files = [_file(item) for item in given]
    if sum(file["size"] for file in files) > MAX_ARTIFACT_BYTES:
        message = f"The tool saved more than {MAX_ARTIFACT_BYTES // 1_000_000} MB of artifacts."
        raise ServiceError("output_too_large", message, "Ask the tool for less at a time.")
    return Artifacts(files, sum(len(file["data"]) for file in files))


def _file(item: Any) -> dict[str, Any]:
    fields = item if isinstance(item, dict) else {}
    name, media_type, data = (fields.get(key) for key in ("name", "media_type", "data"))
    if not (isinstance(name, str) and isinstance(media_type, str) and isinstance(data, str)):
        raise _violation()
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        raise _violation() from None
    return {
        "name": name[:MAX_NAME],
        "media_type": media_type[:MAX_MEDIA_TYPE],
        "size": size,
        "data": data,
    }


def _violation() -> ServiceError:
    return ServiceError("protocol_violation", "The tool's process sent artifacts that are none.")
