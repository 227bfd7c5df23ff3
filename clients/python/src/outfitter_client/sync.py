"""The client for ordinary code."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

from outfitter_client import transport
from outfitter_client.core import Core, credential_of, prompt_context
from outfitter_client.events import Following
from outfitter_client.handles import Chat, Run
from outfitter_client.shapes import Event, Found, Result, Tool, Toolset, Usage, tool_of
from outfitter_client.wire import JsonObject, Lost, Operation, Pause, Reply, Request, Retry


class Outfitter:
    """One Outfitter, as one person or agent. It may be used by several threads.

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
        http: httpx.BaseTransport | None = None,
    ) -> None:
        """Connect at the first request."""
        credential = credential_of(token, client_id, secret, scopes)
        retry = retry or Retry()
        self._core = Core(url, credential, agent=agent, retry=retry, call_timeout=call_timeout)
        self._core.caller = self.call
        self._timeout = timeout
        self._http = httpx.Client(**transport.settings(self._core.url, timeout), transport=http)

    # --- tools -------------------------------------------------------------------------------

    @property
    def tools(self) -> Toolset:
        """The tools as they were discovered last; none before discover()."""
        return self._core.tools

    def discover(self) -> Toolset:
        """Return the tools that may be used now; an unchanged list costs one short request."""
        return cast(Toolset, self._do(self._core.discover()))

    rediscover = discover

    def search(self, query: str, *, messages: Sequence[str] = (), limit: int = 5) -> list[Found]:
        """Return the tools that a need calls for; `messages` is what was said before."""
        found = self._core.search(query, messages=messages, limit=limit)
        return cast(list[Found], self._do(found))

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Return what a tool answers; a sequence is started and waited for."""
        output, run = self._do(self._core.call(name, arguments))
        return self.get_run(run).result() if run else output

    def call_with(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        env: Mapping[str, str] | None = None,
        version: int | None = None,
    ) -> Result:
        """Call a tool with variables that it needs and are not kept, or in an older version."""
        return cast(Result, self._do(self._core.call_with(name, arguments, env or {}, version)))

    def register(self, name: str, description: str, **fields: Any) -> JsonObject:
        """Register a service that answers HTTP as a tool, or what has changed of it.

        `fields` are the API's: `url`, or `host`, `port` and `endpoint`; `method`, `parameters`,
        `returns`, `scopes`, `visibility`. Others have a public tool once it is approved.
        """
        body = {"name": name, "description": description, **fields}
        made = self._do(self._core.json("POST", "discovery/tools/register/", json=body))
        return cast(JsonObject, made)

    def unregister(self, name: str) -> JsonObject:
        """Take a tool that was registered away, at once and for everybody."""
        path = f"discovery/tools/{quote(name, safe='')}/"
        return cast(JsonObject, self._do(self._core.json("DELETE", path)))

    def stats(self) -> JsonObject:
        """Count the tools that may be discovered, and how many of them each scope opens."""
        return cast(JsonObject, self._do(self._core.json("GET", "discovery/stats/")))

    def prompt_context(self) -> str:
        """Return the discovered tools as a system prompt tells of them; discover them first."""
        return prompt_context(self._do(self._core.known_tools()))

    def usage(self) -> Usage:
        """Count what this client called."""
        return self._core.usage()

    def recorded_usage(self) -> Usage:
        """Return what the server recorded of the agent, whoever called."""
        return cast(Usage, self._do(self._core.recorded_usage()))

    # --- sequences and agents ----------------------------------------------------------------

    def run(
        self,
        sequence: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        version: int | None = None,
    ) -> Run:
        """Start a sequence, by its name or id."""
        launched = self._core.launch(sequence, arguments or {}, env or {}, version)
        return Run(self, self._core, self._do(launched))

    def get_run(self, run_id: str) -> Run:
        """Return the handle of a run that was started before."""
        return Run(self, self._core, run_id)

    def chat(self, agent: str = "", *, conversation: str = "") -> Chat:
        """Open a conversation with an agent, or go on with one."""
        return Chat(self, self._core, conversation or self._do(self._core.open_chat(agent)))

    # --- all else ----------------------------------------------------------------------------

    def catalogue(self, **filters: Any) -> Iterator[Tool]:
        """Go through all tools that may be seen, page by page; filters as the API has them."""
        return (tool_of(each, self.call) for each in self.pages("tools/", **filters))

    def runs(self, **filters: Any) -> Iterator[Run]:
        """Go through the runs, the newest first, page by page."""
        return (Run(self, self._core, each["id"], each) for each in self.pages("runs/", **filters))

    def pages(self, path: str, **params: Any) -> Iterator[JsonObject]:
        """Go through any list of the API, page by page."""
        while True:
            items, cursor = self._do(self._core.page(path, params))
            yield from items
            if not cursor:
                return
            params["cursor"] = cursor

    def request(
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
        return self._do(
            self._core.content(method, path, params=params or {}, json=json, files=files)
        )

    def renew(self, *, token: str = "", scopes: Sequence[str] | None = None) -> None:
        """Go on with this token, or have one fetched with what the client may have now."""
        self._core.renew(token, scopes)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections."""
        self.close()

    def __repr__(self) -> str:
        """Return where and as which agent, never the token."""
        return f"{type(self).__name__}({self._core.url!r}, agent={self._core.agent!r})"

    # --- transport ---------------------------------------------------------------------------

    def _do(self, operation: Operation) -> Any:
        answer: Reply | Lost | None = None
        try:
            while True:
                answer = self._take(operation.send(answer))
        except StopIteration as done:
            return done.value

    def _take(self, step: Request | Pause) -> Reply | Lost | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            sent = self._http.build_request(**transport.sendable(step, self._timeout))
            response = self._http.send(sent, stream=step.stream)
            if step.stream and transport.is_stream(response):
                return transport.reply_of(response, stream=True)
            response.read()
        except httpx.TransportError as error:
            return transport.lost(error)
        return transport.reply_of(response)

    def _follow(self, following: Following, until: float | None = None) -> Iterator[Event]:
        while not following.is_over():
            reason = "the stream ended"
            left = None if until is None else until - time.monotonic()
            reply = self._do(self._core.exchange(following.request(left)))
            following.opened(reply)
            if following.is_over():
                return
            try:
                for piece in reply.stream.iter_bytes():
                    yield from following.feed(piece)
                    if following.is_over() or (until and time.monotonic() > until):
                        return
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
            finally:
                reply.stream.close()
            if until and time.monotonic() > until:
                return
            time.sleep(following.lost(self._core.retry, reason))
