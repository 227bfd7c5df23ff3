"""Hand out what the steps of a run made, so that no browser runs it."""

import json
from urllib.parse import quote

from django.http import HttpResponse

from config.lib.types import JsonValue
from sequences.models import RunArtifact


def artifact_file(artifact: RunArtifact) -> HttpResponse:
    """Return an artifact as a file to be saved: never shown in the page, never sniffed."""
    return _file(bytes(artifact.content), artifact.name, artifact.media_type)


def json_file(value: JsonValue, name: str) -> HttpResponse:
    """Return a value as a file of indented JSON."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _file(text.encode("utf-8", "replace"), name, "application/json")


def _file(content: bytes, name: str, media_type: str) -> HttpResponse:
    return HttpResponse(
        content,
        content_type=media_type,
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "private, no-store",
        },
    )
