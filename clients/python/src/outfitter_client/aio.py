"""The client for asynchronous code; the same as `sync`, awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

from outfitter_client import transport
from outfitter_client.aio_handles import AsyncChat, AsyncRun
from outfitter_client.core import Core, credential_of, prompt_context
from outfitter_client.events import Following
from outfitter_client.shapes import Event, Found, Result, Tool, Toolset, Usage, tool_of
from outfitter_client.wire import JsonObject, Lost, Operation, Pause, Reply, Request, Retry


class AsyncOutfitter:
    """One Outfitter, as one person or agent. It may be used by several tasks.

    `token` is a personal API token or an access token; `client_id` and `secret` are those of an
    agent's client, whose tokens are fetched and renewed by themselves, with `scopes` or all that
    it may have. `agent` names the agent whose tools are discovered and called. Times are in
    seconds; `call_timeout` is for calls of tools.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        client_id: str = "",
        secret: str = "",
        scopes: Sequence[str] | None = None,
        agent: str = "",
        timeout: float = 30,
        call_timeout: float = 330,
        retry: Retry | None = None,
        http: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Connect at the first request."""
        credential = credential_of(token, client_id, secret, scopes)
        retry = retry or Retry()
        self._core = Core(url, credential, agent=agent, retry=retry, call_timeout=call_timeout)
        self._core.caller = self.call
        self._timeout = timeout
        self._http = httpx.AsyncClient(
            **transport.settings(self._core.url, timeout), transport=http
        )

    # --- tools -------------------------------------------------------------------------------

    @property
    def tools(self) -> Toolset:
        """The tools as they were discovered last; none before discover()."""
        return self._core.tools

    async def discover(self) -> Toolset:
        """Return the tools that may be used now; an unchanged list costs one short request."""
        return cast(Toolset, await self._do(self._core.discover()))

    rediscover = discover

    async def search(
        self, query: str, *, messages: Sequence[str] = (), limit: int = 5
    ) -> list[Found]:
        """Return the tools that a need calls for; `messages` is what was said before."""
        found = self._core.search(query, messages=messages, limit=limit)
        return cast(list[Found], await self._do(found))

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Return what a tool answers; a sequence is started and waited for."""
        output, run = await self._do(self._core.call(name, arguments))
        return await self.get_run(run).result() if run else output

    async def call_with(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        env: Mapping[str, str] | None = None,
        version: int | None = None,
    ) -> Result:
        """Call a tool with variables that it needs and are not kept, or in an older version."""
        return cast(
            Result, await self._do(self._core.call_with(name, arguments, env or {}, version))
        )

    async def register(self, name: str, description: str, **fields: Any) -> JsonObject:
        """Register a service that answers HTTP as a tool, or what has changed of it.

        `fields` are the API's: `url`, or `host`, `port` and `endpoint`; `method`, `parameters`,
        `returns`, `scopes`, `visibility`. Others have a public tool once it is approved.
        """
        body = {"name": name, "description": description, **fields}
        made = await self._do(self._core.json("POST", "discovery/tools/register/", json=body))
        return cast(JsonObject, made)

    async def unregister(self, name: str) -> JsonObject:
        """Take a tool that was registered away, at once and for everybody."""
        path = f"discovery/tools/{quote(name, safe='')}/"
        return cast(JsonObject, await self._do(self._core.json("DELETE", path)))

    async def stats(self) -> JsonObject:
        """Count the tools that may be discovered, and how many of them each scope opens."""
        return cast(JsonObject, await self._do(self._core.json("GET", "discovery/stats/")))

    async def prompt_context(self) -> str:
        """Return the discovered tools as a system prompt tells of them; discover them first."""
        return prompt_context(await self._do(self._core.known_tools()))

    def usage(self) -> Usage:
        """Count what this client called."""
        return self._core.usage()

    async def recorded_usage(self) -> Usage:
        """Return what the server recorded of the agent, whoever called."""
        return cast(Usage, await self._do(self._core.recorded_usage()))

    # --- sequences and agents ----------------------------------------------------------------

    async def run(
        self,
        sequence: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        version: int | None = None,
    ) -> AsyncRun:
        """Start a sequence, by its name or id."""
        launched = self._core.launch(sequence, arguments or {}, env or {}, version)
        return AsyncRun(self, self._core, await self._do(launched))

    def get_run(self, run_id: str) -> AsyncRun:
        """Return the handle of a run that was started before."""
        return AsyncRun(self, self._core, run_id)

    async def chat(self, agent: str = "", *, conversation: str = "") -> AsyncChat:
        """Open a conversation with an agent, or go on with one."""
        return AsyncChat(
            self, self._core, conversation or await self._do(self._core.open_chat(agent))
        )

    # --- all else ----------------------------------------------------------------------------

    async def catalogue(self, **filters: Any) -> AsyncGenerator[Tool]:
        """Go through all tools that may be seen, page by page; filters as the API has them."""
        async for each in self.pages("tools/", **filters):
            yield tool_of(each, self.call)

    async def runs(self, **filters: Any) -> AsyncGenerator[AsyncRun]:
        """Go through the runs, the newest first, page by page."""
        async for each in self.pages("runs/", **filters):
            yield AsyncRun(self, self._core, each["id"], each)

    async def pages(self, path: str, **params: Any) -> AsyncGenerator[JsonObject]:
        """Go through any list of the API, page by page."""
        while True:
            items, cursor = await self._do(self._core.page(path, params))
            for item in items:
                yield item
            if not cursor:
                return
            params["cursor"] = cursor

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        files: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return what any other address of the API answers; `path` is behind `/api/v1/`.

        An answer that is no JSON, such as a file, is returned as bytes.
        """
        return await self._do(
            self._core.content(method, path, params=params or {}, json=json, files=files)
        )

    def renew(self, *, token: str = "", scopes: Sequence[str] | None = None) -> None:
        """Go on with this token, or have one fetched with what the client may have now."""
        self._core.renew(token, scopes)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close the connections."""
        await self.close()

    def __repr__(self) -> str:
        """Return where and as which agent, never the token."""
        return f"{type(self).__name__}({self._core.url!r}, agent={self._core.agent!r})"

    # --- transport ---------------------------------------------------------------------------

    async def _do(self, operation: Operation) -> Any:
        answer: Reply | Lost | None = None
        try:
            while True:
                answer = await self._take(operation.send(answer))
        except StopIteration as done:
            return done.value

    async def _take(self, step: Request | Pause) -> Reply | Lost | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            sent = self._http.build_request(**transport.sendable(step, self._timeout))
            response = await self._http.send(sent, stream=step.stream)
            if step.stream and transport.is_stream(response):
                return transport.reply_of(response, stream=True)
            await response.aread()
        except httpx.TransportError as error:
            return transport.lost(error)
        return transport.reply_of(response)

    async def _follow(
        self, following: Following, until: float | None = None
    ) -> AsyncGenerator[Event]:
        while not following.is_over():
            reason = "the stream ended"
            left = None if until is None else until - time.monotonic()
            reply = await self._do(self._core.exchange(following.request(left)))
            following.opened(reply)
            if following.is_over():
                return
            try:
                async for piece in reply.stream.aiter_bytes():
                    for event in following.feed(piece):
                        yield event
                    if following.is_over() or (until and time.monotonic() > until):
                        return
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
            finally:
                await reply.stream.aclose()
            if until and time.monotonic() > until:
                return
            await asyncio.sleep(following.lost(self._core.retry, reason))
