"""Every operation of the client, without a transport: see `wire`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from uuid import UUID, uuid4

from outfitter_client.auth import ClientCredentials, Credential
from outfitter_client.errors import (
    ConnectionFailed,
    InvalidRequest,
    NotFound,
    ServerFault,
    error_of,
)
from outfitter_client.shapes import Caller, Found, Result, Toolset, Usage, tool_of, usage_of
from outfitter_client.wire import JsonObject, Lost, Operation, Pause, Reply, Request, Retry

API = "/api/v1/"
ACCEPTED, REDIRECTS, NOT_MODIFIED, ERRORS, UNAUTHORISED = 202, 300, 304, 400, 401


class Core:
    """What a client knows, and what it can do."""

    def __init__(
        self,
        url: str,
        credential: Credential,
        *,
        agent: str = "",
        retry: Retry,
        call_timeout: float,
    ) -> None:
        """Keep whom the client speaks to, and as whom."""
        self.url = _address(url)
        self.credential = credential
        self.agent = agent
        self.retry = retry
        self.call_timeout = call_timeout
        self.caller: Caller | None = None
        self.tools = Toolset()
        self.calls: Counter[str] = Counter()
        self._etag = ""
        self._known = False
        self._ids: dict[str, str] = {}

    # --- one request -------------------------------------------------------------------------

    def exchange(self, request: Request) -> Operation:
        """Return the answer to a request, repeated as far as it may be; raise what is an error."""
        reply: Reply = yield from self._with_token(request)
        if reply.status == UNAUTHORISED and self.credential.forget():
            reply = yield from self._with_token(request)
        if reply.status >= ERRORS:
            raise error_of(reply.status, reply.body, reply.headers)
        if REDIRECTS <= reply.status != NOT_MODIFIED:
            raise InvalidRequest(
                f"{self.url} sends to another address: {reply.headers.get('location', '')}",
                "Give the client that address, if it is the right one.",
                status=reply.status,
            )
        return reply

    def _with_token(self, request: Request) -> Operation:
        if renewal := self.credential.renewal():
            self.credential.take((yield from self._repeated(renewal)))
        if token := self.credential.text:
            request = request.with_headers(authorization=f"Bearer {token}")
        return (yield from self._repeated(request))

    def _repeated(self, request: Request) -> Operation:
        attempt = 1
        while True:
            answer = yield request
            assert isinstance(answer, Reply | Lost)  # noqa: S101 - what a transport sends
            pause = None
            if isinstance(answer, Lost) or answer.status >= ERRORS:
                pause = self.retry.pause(request, answer, attempt)
            if pause is None:
                break
            yield Pause(pause)
            attempt += 1
        if isinstance(answer, Lost):
            raise ConnectionFailed(
                f"{self.url} does not answer: {answer.reason}",
                "See that the address is right and the server runs.",
            )
        return answer

    def json(self, method: str, path: str, **fields: Any) -> Operation:
        """Return what the API answers; every POST carries an Idempotency-Key."""
        body = yield from self.content(method, path, **fields)
        if isinstance(body, bytes):
            raise _no_api(self.url)
        return body

    def content(self, method: str, path: str, **fields: Any) -> Operation:
        """Return what the API answers; bytes where that is no JSON, as of a file."""
        request = Request(method, API + path.lstrip("/"), **fields)
        return (yield from self.exchange(keyed(request))).body

    def page(self, path: str, params: Mapping[str, Any]) -> Operation:
        """Return one page of a list and the cursor of the next, empty at the end."""
        body: JsonObject = yield from self.json("GET", path, params=params)
        # only the cursor is taken of the address: the token goes to no other server
        following = parse_qs(urlsplit(body.get("next") or "").query)
        return body["results"], following.get("cursor", [""])[0]

    def renew(self, token: str, scopes: Sequence[str] | None) -> None:
        """Go on with another token: the one that is given, or one that is fetched."""
        if token:
            self.credential = Credential(token)
        elif not self.credential.forget(scopes):
            raise ValueError("Give the new token: this client has none that it can fetch.")

    # --- tools -------------------------------------------------------------------------------

    def discover(self) -> Operation:
        """Return the tools that may be used now; an unchanged list is not sent again."""
        headers = {"if-none-match": self._etag} if self._etag else {}
        reply = yield from self._discovered({}, headers)
        before = self.tools if self._known else None
        if reply.status == NOT_MODIFIED:
            self.tools = Toolset(self.tools, before)
            return self.tools
        told = list(reply.body["tools"])
        following = reply.body.get("next")
        # of a list in several pages no tag stands for all of it
        self._etag = "" if following else reply.headers.get("etag", "")
        while following:
            reply = yield from self._discovered({"cursor": following}, {})
            told += reply.body["tools"]
            following = reply.body.get("next")
        self.tools = Toolset([tool_of(each, self.caller) for each in told], before)
        self._ids |= {tool.name: tool.id for tool in self.tools}
        self._known = True
        return self.tools

    def _discovered(self, params: Mapping[str, str], headers: Mapping[str, str]) -> Operation:
        params = {**params, **self._as_agent()}
        asked = Request("GET", f"{API}discovery/", params=params, headers=headers, repeatable=True)
        reply: Reply = yield from self.exchange(asked)
        if reply.status != NOT_MODIFIED and not isinstance(reply.body, dict):
            raise _no_api(self.url)
        return reply

    def known_tools(self) -> Operation:
        """Return the tools as they were discovered last, or discover them first."""
        return self.tools if self._known else (yield from self.discover())

    def search(self, query: str, *, messages: Sequence[str], limit: int) -> Operation:
        """Return the tools that a need calls for, the best first."""
        params = {"q": query, "limit": limit, **self._as_agent()}
        if messages:
            params["messages"] = json.dumps(list(messages))
        body: JsonObject = yield from self.json("GET", "tools/search/", params=params)
        found = [
            Found(tool_of(each["tool"], self.caller), each["score"], each.get("why"))
            for each in body["results"]
        ]
        self._ids |= {each.tool.name: each.tool.id for each in found}
        return found

    def call(self, name: str, arguments: Mapping[str, Any]) -> Operation:
        """Return what a tool answers and None, or None and the run that a sequence began."""
        path, params = f"{API}discovery/tools/{quote(name, safe='')}/", self._as_agent()
        known = self.tools.get(name)
        if known and known.endpoint.startswith(API):
            path, params = known.endpoint, {}
        request = Request(
            "POST", path, params=params, json=dict(arguments), timeout=self.call_timeout
        )
        reply: Reply = yield from self.exchange(keyed(request))
        self.calls[name] += 1
        if reply.status == ACCEPTED:
            return None, str(reply.body["run"])
        return reply.body, None

    def call_with(
        self, name: str, arguments: Mapping[str, Any], env: Mapping[str, str], version: int | None
    ) -> Operation:
        """Return the `Result` of a call, with variables for it, of a version."""
        body: JsonObject = yield from self._run(name, arguments, env, version)
        if "output" not in body:
            raise InvalidRequest(f"“{name}” is a sequence.", "Start it with run().")
        self.calls[name] += 1
        return Result(body["output"], body["duration_ms"], body["invocation"], body["artifacts"])

    def launch(
        self, name: str, arguments: Mapping[str, Any], env: Mapping[str, str], version: int | None
    ) -> Operation:
        """Start a sequence and return the id of its run."""
        body: JsonObject = yield from self._run(name, arguments, env, version)
        if "run" not in body:
            raise InvalidRequest(f"“{name}” is no sequence.", "Call it with call().")
        self.calls[name] += 1
        return body["run"]

    def _run(
        self, name: str, arguments: Mapping[str, Any], env: Mapping[str, str], version: int | None
    ) -> Operation:
        tool = yield from self.tool_id(name)
        sent = {"arguments": dict(arguments), "env": dict(env), "agent": self.agent}
        return (
            yield from self.json(
                "POST",
                f"tools/{tool}/run/",
                json={**sent, "version": version},
                timeout=self.call_timeout,
            )
        )

    def tool_id(self, name: str) -> Operation:
        """Return the id of a tool that is named, or whose id is given."""
        if _is_id(name):
            return name
        if name not in self._ids:
            yield from self.discover()
        if name not in self._ids:
            raise NotFound(
                f"There is no tool “{name}”.",
                "Look at discover(), or search().",
                code="unknown_tool",
            )
        return self._ids[name]

    def open_chat(self, agent: str) -> Operation:
        """Open a conversation with an agent and return its id."""
        agent = agent or self.agent
        if not agent:
            raise InvalidRequest("There is no agent to talk to.", "Name one: chat(“slug”).")
        body: JsonObject = yield from self.json("POST", "conversations/", json={"agent": agent})
        return body["id"]

    # --- use ---------------------------------------------------------------------------------

    def usage(self) -> Usage:
        """Count what this client called."""
        ranked = dict(self.calls.most_common())
        return Usage(
            agent=self.agent,
            total_tools_available=len(self.tools),
            total_tool_calls=sum(ranked.values()),
            usage_by_tool=ranked,
            most_used_tool=next(iter(ranked), None),
        )

    def recorded_usage(self) -> Operation:
        """Return what the server recorded of the agent, whoever called."""
        if not self.agent:
            raise InvalidRequest("The client acts as no agent.", "Name one: agent=….")
        return usage_of((yield from self.json("GET", f"agents/{quote(self.agent)}/usage/")))

    def _as_agent(self) -> dict[str, Any]:
        return {"agent": self.agent} if self.agent else {}


def credential_of(
    token: str, client_id: str, secret: str, scopes: Sequence[str] | None
) -> Credential:
    """Return who the client is by what it was given: a token, or an id with its secret."""
    if token and (client_id or secret):
        raise ValueError("Give a token, or a client's id and secret; not both.")
    if bool(client_id) != bool(secret):
        raise ValueError("A client's id and its secret belong together.")
    return ClientCredentials(client_id, secret, scopes) if client_id else Credential(token)


def keyed(request: Request) -> Request:
    """Return the request with what makes it harmless to repeat: a POST gets a key of its own."""
    if request.method == "POST":
        request = request.with_headers(idempotency_key=uuid4().hex)
    fields = {**vars(request), "repeatable": request.method in {"GET", "POST", "PUT", "DELETE"}}
    return Request(**fields)


def prompt_context(tools: Iterable[Any]) -> str:
    """Return the tools as a system prompt tells of them."""
    return "\n".join(["Available tools:", *(tool.prompt_line() for tool in tools)])


def _no_api(url: str) -> ServerFault:
    return ServerFault(f"{url} answers with what is no JSON.", "See that an Outfitter is there.")


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
        raise ValueError("The address has the form https://outfitter.example, without a password.")
    return url.rstrip("/")


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
