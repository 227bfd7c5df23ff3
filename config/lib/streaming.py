"""Send a long file as it is made."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def download(
    request: HttpRequest, parts: Iterator[bytes], *, filename: str, media_type: str
) -> StreamingHttpResponse:
    """Answer with a file whose parts are made while it is sent, never all at once.

    Under ASGI Django would collect an ordinary iterator first, so there each part is asked for in
    the thread of the request.
    """
    content = _in_thread(parts) if isinstance(request, ASGIRequest) else parts
    return StreamingHttpResponse(
        content,
        content_type=media_type,
        headers={
            "Content-Disposition": f'attachment; filename="{filename}"',
            "Cache-Control": "no-store",
        },
    )


async def _in_thread(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    following = sync_to_async(lambda: next(parts, None))
    while (part := await following()) is not None:
        yield part
