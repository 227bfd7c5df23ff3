"""The sessions of the handshake revisions: one person does not take the place of all others.

The SDK bounds them all together, and has no bound for one principal.
"""

import logging
from typing import Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

logger = logging.getLogger(__name__)

MOST_OF_ONE = 200
"""Sessions of one person in one process, of all their tokens together."""


class Sessions(StreamableHTTPSessionManager):
    """Ends the longest idle session of a person who opens more than `MOST_OF_ONE`.

    Its client is answered 404 from then on, and begins anew.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._at_work: list[str] = []

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and note which session it is of.

        A stream that stays open (`GET`) says nothing about whether a session is in use: most
        clients keep one open for as long as they live.
        """
        session = Headers(scope=scope).get(MCP_SESSION_ID_HEADER, "")
        if scope["method"] != "POST" or session not in self._session_owners:
            await super().handle_request(scope, receive, send)
            return
        self._at_work.append(session)
        try:
            await super().handle_request(scope, receive, send)
        finally:
            self._at_work.remove(session)
            self._note_use(session)

    async def _serve_opening_request(
        self,
        http_transport: StreamableHTTPServerTransport,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Open a session; what a request opened that was refused is gone again before the count."""
        session = http_transport.mcp_session_id or ""
        owner = self._session_owners.get(session)
        self._at_work.append(session)
        try:
            await super()._serve_opening_request(http_transport, scope, receive, send)
        finally:
            if owner is not None:
                await self._keep_few(owner["subject"])
            self._at_work.remove(session)

    def _note_use(self, session: str) -> None:
        """Put a session behind those that were not used for longer."""
        if (owner := self._session_owners.pop(session, None)) is not None:
            self._session_owners[session] = owner

    async def _keep_few(self, person: str | None) -> None:
        """End the sessions that a person has too many of: those last that a call is at work in."""
        own = [each for each, owner in self._session_owners.items() if owner["subject"] == person]
        own.sort(key=self._at_work.__contains__)
        for session in own[: max(0, len(own) - MOST_OF_ONE)]:
            if (transport := self._server_instances.get(session)) is not None:
                logger.info("Session %s of person %s ends: they opened others", session, person)
                await self._discard_session(session, transport)
