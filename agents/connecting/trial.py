"""Try a connection as a client would: the official SDK's, over HTTP, to this very server."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation

from config.lib.types import JsonObject

SECONDS = 20.0
"""What a whole trial may take."""

EACH_SECONDS = 8.0
"""How long one answer is waited for."""

NAME = "outfitter-connection-test"
"""What it calls itself."""

MOST_PAGES = 20
NAMED = 6
"""Tools of a list that are named."""

LONGEST_ANSWER = 500

_REMEDIES: Mapping[int, str] = {
    401: "Make a new one, and copy all of it.",
    403: "Make a token with the scopes that are named, or use the address that it is for.",
    404: "Look at the address, and whether you still may see this agent.",
    421: "Add the name to ALLOWED_HOSTS.",
    429: "Wait a moment, then try again.",
    503: "The server is about to start or to end. Try again in a moment.",
}


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a trial goes.

    `own` is the address of the socket that this server listens on; `headers` name the site as
    clients do, so that it answers as it would to them.
    """

    own: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a trial: how it ended, in how many milliseconds, and what to do about it."""

    name: str
    state: Literal["ok", "failed"]
    ms: int
    told: str
    hint: str = ""

    @property
    def is_ok(self) -> bool:
        """Say whether it went well."""
        return self.state == "ok"


class _Failed(Exception):
    """A step did not go well."""

    def __init__(self, told: str, hint: str = "") -> None:
        super().__init__(told)
        self.told, self.hint = told, hint


def tried(target: Target, token: str, *, call: tuple[str, JsonObject] | None = None) -> list[Step]:
    """Try it and return the steps, up to and with the first that failed. It never raises.

    Must be called where no event loop runs. `call` is a tool and its arguments.
    """
    trial = _Trial(target, token, call)
    try:
        asyncio.run(asyncio.wait_for(trial.run(), SECONDS))
    except TimeoutError:
        trial.fail("All of it", time.monotonic() - SECONDS, _late(SECONDS))
    return trial.steps


class _Trial:
    def __init__(self, target: Target, token: str, call: tuple[str, JsonObject] | None) -> None:
        self.steps: list[Step] = []
        self._target, self._token, self._call = target, token, call
        self._refusal: _Failed | None = None

    async def run(self) -> None:
        went = await self._step("Without a token", self._door)
        if not went:
            return
        for name, mode in (("Connect, newest", "auto"), ("Connect, handshake", "legacy")):
            if not await self._connected(name, mode):
                return

    def fail(self, name: str, begun: float, failed: _Failed) -> None:
        ms = round((time.monotonic() - begun) * 1000)
        self.steps.append(
            Step(name=name, state="failed", ms=ms, told=failed.told, hint=failed.hint)
        )

    async def _step(self, name: str, work: Callable[[], Awaitable[str]]) -> bool:
        begun = time.monotonic()
        self._refusal = None
        try:
            told = await work()
        except (Exception, BaseExceptionGroup) as error:  # whatever a client meets is an answer
            self.fail(name, begun, self._refusal or _meaning(error, self._target))
            return False
        ms = round((time.monotonic() - begun) * 1000)
        self.steps.append(Step(name=name, state="ok", ms=ms, told=told))
        return True

    async def _door(self) -> str:
        async with self._http(token="") as http:
            answer = await http.post(self._target.own, json={})
        if (
            answer.status_code == HTTPStatus.UNAUTHORIZED
            and "resource_metadata=" in answer.headers.get("www-authenticate", "")
        ):
            return "Refused, with the address where clients sign in."
        raise self._refusal or _Failed(
            f"No MCP server: {self._target.own} answered {answer.status_code}.",
            "Run config.asgi:application, which serves /mcp.",
        )

    async def _connected(self, name: str, mode: str) -> bool:
        """Connect, and do inside what a client does; say whether all of it went well."""
        begun, self._refusal, went, inside = time.monotonic(), None, False, False
        try:
            async with self._client(mode) as client:
                ms = round((time.monotonic() - begun) * 1000)
                told = f"{_named(client)}, revision {client.session.protocol_version}."
                self.steps.append(Step(name=name, state="ok", ms=ms, told=told))
                inside = True
                went = await self._used(client, mode)
        except (Exception, BaseExceptionGroup) as error:  # whatever a client meets is an answer
            if not inside:
                self.fail(name, begun, self._refusal or _meaning(error, self._target))
            elif went:
                self.fail("Close it", begun, self._refusal or _meaning(error, self._target))
            return False
        return went

    async def _used(self, client: Client, mode: str) -> bool:
        async def listed() -> str:
            return await _listed(client)

        async def called() -> str:
            name, arguments = self._call or ("", {})
            return await _called(client, name, arguments)

        if not await self._step("List the tools", listed):
            return False
        if self._call is None or mode != "auto":
            return True
        return await self._step(f"Call {self._call[0]}", called)

    @asynccontextmanager
    async def _client(self, mode: str) -> AsyncIterator[Client]:
        async with (
            self._http(self._token) as http,
            Client(
                streamable_http_client(self._target.own, http_client=http),
                mode=mode,
                client_info=Implementation(name=NAME, version="1"),
            ) as client,
        ):
            yield client

    def _http(self, token: str) -> httpx2.AsyncClient:
        headers = dict(self._target.headers)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return httpx2.AsyncClient(
            headers=headers,
            timeout=EACH_SECONDS,
            trust_env=False,
            event_hooks={"response": [self._note] if token else []},
        )

    async def _note(self, answer: httpx2.Response) -> None:
        """Keep why a request was refused: the SDK tells less of it."""
        if answer.is_success or answer.request.method != "POST":
            return
        try:
            said = json.loads(await answer.aread())["error"]
            data = said.get("data") if isinstance(said.get("data"), dict) else {}
            told = str(data.get("message") or said["message"])
        except (ValueError, KeyError, TypeError, AttributeError):
            told = f"The server answered {answer.status_code}."
        if answer.status_code == HTTPStatus.BAD_REQUEST and "rotocol" in told:
            return  # how the SDK's client learns which revisions there are
        remedy = _REMEDIES.get(answer.status_code, "The server's log says more.")
        self._refusal = _Failed(f"{answer.status_code}: {told}"[:LONGEST_ANSWER], remedy)


def _named(client: Client) -> str:
    server = client.server_info
    return (server.title or server.name) if server else "A server that does not say its name"


async def _listed(client: Client) -> str:
    names: list[str] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            break
    if not names:
        raise _Failed(
            "The list is empty.",
            "Link a tool, approve one, or grant the scopes that the tools require.",
        )
    shown = ", ".join(names[:NAMED])
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    many = f"{len(names):,}{' and more' if cursor else ''} tool{'' if len(names) == 1 else 's'}"
    return f"{many}: {shown}{more}."


async def _called(client: Client, name: str, arguments: JsonObject) -> str:
    answer: Any = await client.call_tool(name, arguments)
    said = " ".join(getattr(part, "text", f"[{part.type}]") for part in answer.content)
    if not said and answer.structured_content is not None:
        said = json.dumps(answer.structured_content)
    said = said[:LONGEST_ANSWER]
    if answer.is_error:
        raise _Failed(said, "The connection works; the tool itself did not do it.")
    return said or "It answered nothing."


def _meaning(error: BaseException, target: Target) -> _Failed:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case _Failed():
            return error
        case httpx2.TimeoutException():
            return _late(EACH_SECONDS)
        case httpx2.TransportError():
            return _Failed(
                f"Nobody answers at {target.own}.",
                "Look whether the web process listens there; a firewall may stand between.",
            )
        case MCPError():
            return _Failed(str(error)[:LONGEST_ANSWER], "The server's log says more.")
    return _Failed(f"{type(error).__name__}: {error}"[:LONGEST_ANSWER])


def _late(seconds: float) -> _Failed:
    return _Failed(
        f"No answer in {seconds:g} seconds.",
        "The server is busy, or waits for something that does not come. Try again.",
    )
