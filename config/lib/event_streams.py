"""Server-sent events: their wire format, and the response that carries them."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from django.http import StreamingHttpResponse

from config.lib.threads import give_up_request_thread

_LINE_END = re.compile(r"\r\n|\r|\n")
KEEPALIVE = ": alive\n\n"


def sse(data: str, name: str, number: int) -> str:
    """Return one event in the wire format of the HTML standard (section 9.2)."""
    # other signs that str.splitlines() takes for a line's end may stand inside JSON
    lines = "".join(f"data: {line}\n" for line in _LINE_END.split(data))
    return f"id: {number}\nevent: {name}\n{lines}\n"


def event_stream(events: AsyncGenerator[str]) -> StreamingHttpResponse:
    """Return the response that carries a stream past every cache and buffer.

    While it lasts it holds neither a thread nor a database connection.
    """
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(
        _unencumbered(events), content_type="text/event-stream", headers=headers
    )


async def _unencumbered(events: AsyncGenerator[str]) -> AsyncGenerator[str]:
    await give_up_request_thread()
    async with aclosing(events):
        async for each in events:
            yield each
