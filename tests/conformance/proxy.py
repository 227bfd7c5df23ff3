"""A server on loopback that adds a token to what it passes on: the suite cannot send one.

Everything else goes on as it came, `Host` and `Origin` too, and an answer's stream as it comes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypedDict

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tests.fakes.mcp_server import App

_OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class State(TypedDict):
    """What lives as long as the server."""

    client: httpx.AsyncClient


def adding_token(url: str, token: str) -> App:
    """Return an app that asks `url` what it is asked at `/mcp`, with this token."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[State]:
        async with httpx.AsyncClient(timeout=60) as client:
            yield {"client": client}

    async def passed_on(request: Request) -> StreamingResponse:
        client: httpx.AsyncClient = request.state.client
        headers = [pair for pair in request.headers.items() if pair[0] not in _OF_THE_CONNECTION]
        asked = client.build_request(
            request.method,
            url,
            headers=[*headers, ("authorization", f"Bearer {token}")],
            content=await request.body(),
        )
        answer = await client.send(asked, stream=True)
        kept = {k: v for k, v in answer.headers.items() if k not in _OF_THE_CONNECTION}
        return StreamingResponse(_pieces(answer), answer.status_code, kept)

    methods = ["GET", "POST", "DELETE", "OPTIONS"]
    routes = [Route("/mcp", passed_on, methods=methods)]
    return Starlette(routes=routes, lifespan=lifespan)  # type: ignore[return-value]


async def _pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in answer.aiter_raw():
            yield piece
    finally:
        await answer.aclose()
