"""What streams are compared with: LiteLLM's answer on a bare Starlette stream, and nothing else.

No person, no log, no database; an event is lost with its connection.
"""

import asyncio
from collections.abc import AsyncIterator

import django
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

django.setup()  # the module that knows LiteLLM knows the demo model too

from chat import llm  # noqa: E402
from config.lib.types import JsonObject  # noqa: E402
from tests.fakes.model_server import MODEL  # noqa: E402


async def say(request: Request) -> StreamingResponse:
    """Stream the model's answer to a message, asked with the tools that come with it."""
    body = await request.json()
    answer = _said(body["content"], body.get("tools", []))
    return StreamingResponse(answer, media_type="text/event-stream")


async def _said(content: str, tools: list[JsonObject]) -> AsyncIterator[str]:
    async for event in llm.stream(MODEL, [{"role": "user", "content": content}], tools):
        if isinstance(event, llm.TextDelta):
            yield f"event: text.delta\ndata: {event.text}\n\n"
    yield "event: turn.completed\ndata: {}\n\n"


async def idle(_: Request) -> StreamingResponse:
    """Keep a connection open."""
    return StreamingResponse(_silence(), media_type="text/event-stream")


async def _silence() -> AsyncIterator[str]:
    while True:
        yield ": alive\n\n"
        await asyncio.sleep(15)


async def healthz(_: Request) -> StreamingResponse:
    """Tell that it is ready."""
    llm.warm_up()
    return StreamingResponse(iter(["ok"]))


app = Starlette(
    routes=[
        Route("/say", say, methods=["POST"]),
        Route("/idle", idle),
        Route("/healthz", healthz),
    ]
)
