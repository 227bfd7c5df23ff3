"""Hand out what tools made, so that no browser runs it."""

from urllib.parse import quote

from django.http import HttpResponse

from chat.models import Artifact


def attachment(artifact: Artifact) -> HttpResponse:
    """Return an artifact as a file to be saved: never shown in the page, never sniffed."""
    return HttpResponse(
        bytes(artifact.content),
        content_type=artifact.media_type,
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(artifact.name, safe='')}",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "private, no-store",
        },
    )
