"""The way out of one sandbox: a proxy that lets its tools reach the hosts of a list, and no others.

The service runs it for as long as the sandbox lives; the sandbox has no other way to any network.
Whom a connection belongs to is told by the listener it came through, so there is no name or
password to steal. Names are resolved here, and the address that was checked is the one dialled.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from config.lib.addresses import Allowed, address_allowed, refusal_of
from config.lib.host_patterns import host_matches
from registry.sandbox.service.forwarding import Incoming, Refused, Target
from registry.sandbox.service.netns import PROXY_HOST, PROXY_PORT, listener_inside
from registry.sandbox.service.relay import Caps, Passage, Streams, relay, say_goodbye

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Takes a host and a port; returns its addresses, the preferred one first."""

MAX_REMEMBERED = 20
ADDRESSES_TRIED = 3


@dataclass(slots=True)
class Seen:
    """What the proxy turned away in one sandbox's life; each maps `host:port` to why.

    `denied` is not on the list, `forbidden` leads to an address that nobody may reach, and
    `unreachable` did not answer. `exhausted` says that the cap on bytes was reached.
    """

    denied: dict[str, str] = field(default_factory=dict)
    forbidden: dict[str, str] = field(default_factory=dict)
    unreachable: dict[str, str] = field(default_factory=dict)
    exhausted: bool = False


def network_environment(hosts: Sequence[str]) -> dict[str, str]:
    """Return the variables that send a program's requests through the proxy; none without hosts."""
    if not hosts:
        return {}
    address = f"http://{PROXY_HOST}:{PROXY_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    direct = {"NO_PROXY": "", "no_proxy": ""}
    # Node's own client looks at the variables only when it is told to.
    return dict.fromkeys(names, address) | direct | {"NODE_USE_ENV_PROXY": "1"}


async def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as this machine resolves it."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Egress:
    """The proxy of one sandbox."""

    def __init__(
        self,
        hosts: Iterable[str],
        allow: Sequence[Allowed] = (),
        *,
        caps: Caps | None = None,
        resolve: Resolve = resolved,
    ) -> None:
        self.seen = Seen()
        self._hosts = tuple(hosts)
        self._allow = allow
        self._caps = caps or Caps()
        self._resolve = resolve
        self._room = self._caps.bytes
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self, pid: int, parent: int) -> None:
        """Listen inside the network of process `pid`; raises `ServiceError` when it cannot be."""
        await self.serve(await listener_inside(pid, parent))

    async def serve(self, listener: socket.socket) -> None:
        """Serve what comes in through a listener; it is closed with this proxy."""
        try:
            self._server = await asyncio.start_server(self._accept, sock=listener)
        except BaseException:
            listener.close()
            raise

    async def close(self) -> None:
        """End every connection; nothing of the sandbox's can be sent any more."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve_safely(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve_safely(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            await self._serve(reader, writer)
        except OSError:
            pass  # The tool or the server hung up, or said nothing for too long.
        finally:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        incoming = Incoming(reader)
        try:
            self._require_room()
            async with asyncio.timeout(self._caps.head_seconds):
                target = await incoming.target()
            outside = await self._dial(target, incoming)
        except Unanswered:
            return
        except Refused as refusal:
            writer.write(_answer(refusal))
            await say_goodbye(reader, writer)
            return
        try:
            await relay(
                Passage(incoming, (reader, writer), outside, target), self._caps, self._spend
            )
        finally:
            outside[1].transport.abort()

    def _require_room(self) -> None:
        if len(self._connections) > self._caps.connections:
            text = f"A call may have {self._caps.connections} connections at the same time."
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, text)

    async def _dial(self, target: Target, incoming: Incoming) -> Streams:
        """Connect to a target that may be reached; raises `Refused` for any other.

        A plain request is then left without any answer (`Unanswered`): one of ours would pass for
        the server's.
        """
        try:
            return await self._connected(target)
        except Refused as refusal:
            if incoming.is_tunnel:
                raise
            raise Unanswered from refusal

    async def _connected(self, target: Target) -> Streams:
        addresses = await self._permitted(target)
        for address in addresses[:ADDRESSES_TRIED]:
            try:
                async with asyncio.timeout(self._caps.connect_seconds):
                    return await asyncio.open_connection(address, target.port)
            except (OSError, TimeoutError):
                continue
        raise self._unreachable(target, "does not answer")

    async def _permitted(self, target: Target) -> list[str]:
        """Return the addresses of a target, each of which may be dialled."""
        if not any(host_matches(pattern, target.host, target.port) for pattern in self._hosts):
            _remember(self.seen.denied, target, "is not on the list of allowed hosts")
            text = f"{target} is not on the list of hosts that this tool may reach."
            raise Refused(HTTPStatus.FORBIDDEN, text)
        try:
            async with asyncio.timeout(self._caps.connect_seconds):
                addresses = await self._resolve(target.host, target.port)
        except (OSError, UnicodeError, TimeoutError):
            addresses = []
        if not addresses:
            raise self._unreachable(target, "has no address that is known")
        for address in addresses:
            # One that must not be reached is enough: which one is dialled would be chance.
            if not address_allowed(address, target.port, self._allow):
                reason = f"leads to {address}: it {refusal_of(address, target.port, self._allow)}"
                _remember(self.seen.forbidden, target, reason)
                raise Refused(HTTPStatus.FORBIDDEN, f"{target} {reason}.")
        return addresses

    def _unreachable(self, target: Target, why: str) -> Refused:
        _remember(self.seen.unreachable, target, why)
        return Refused(HTTPStatus.BAD_GATEWAY, f"{target} {why}.")

    def _spend(self, count: int) -> None:
        self._room -= count
        if self._room < 0:
            self.seen.exhausted = True
            raise ConnectionAbortedError


class Unanswered(Exception):
    """The request is refused by hanging up."""


def _answer(refusal: Refused) -> bytes:
    body = f"{refusal}\n".encode()
    head = [
        f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def _remember(where: dict[str, str], target: Target, why: str) -> None:
    if len(where) < MAX_REMEMBERED:
        where.setdefault(str(target), why)
