"""The proxy by itself: what it lets through, and everything it does not."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from config.lib.addresses import parse_allowed
from registry.sandbox.service.egress import Egress, network_environment
from registry.sandbox.service.relay import Caps

Result = TypeVar("Result")
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


def run(test: Awaitable[Result]) -> Result:
    async def within() -> Result:
        async with asyncio.timeout(120):
            return await test

    return asyncio.run(within())


@dataclass
class Upstream:
    """A server on loopback that keeps what it is sent."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def upstream(answer: bytes = HELLO, *, hold: bool = False) -> AsyncIterator[Upstream]:
    """Answer the first bytes of each connection; with `hold`, never."""
    kept = Upstream()
    writers: list[asyncio.StreamWriter] = []
    tasks: list[asyncio.Task[None]] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        tasks.append(asyncio.create_task(serve(reader, writer)))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        index = len(kept.heard)
        kept.heard.append(b"")
        while chunk := await reader.read(65_536):
            kept.heard[index] += chunk
            if not hold:
                writer.write(answer)
                await writer.drain()
                writer.write_eof()
                kept.heard[index] += await reader.read(65_536)
                break

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    kept.port = server.sockets[0].getsockname()[1]
    try:
        yield kept
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def proxy(
    *hosts: str,
    allow: str = "127.0.0.1",
    names: dict[str, list[list[str]]] | None = None,
    **caps: Any,
) -> AsyncIterator[tuple[Egress, int]]:
    """Serve a policy on a free port; `names` gives each host its answers, one after the other."""
    answers = {name: list(found) for name, found in (names or {}).items()}

    async def resolve(host: str, port: int) -> list[str]:
        found = answers.get(host)
        if not found:
            raise socket.gaierror
        return found.pop(0) if len(found) > 1 else found[0]

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    egress = Egress(hosts, parse_allowed(allow), caps=Caps(**caps), resolve=resolve)
    await egress.serve(listener)
    try:
        yield egress, listener.getsockname()[1]
    finally:
        await egress.close()


async def ask(port: int, request: bytes, then: bytes = b"") -> bytes:
    """Send a request and return all that comes back; `then` is sent after the first answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        first = b""
        if then:
            first = await reader.readuntil(b"\r\n\r\n")
            writer.write(then)
        return first + await reader.read(-1)
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


def connect_to(authority: str) -> bytes:
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode()


def get(url: str, *headers: str, body: bytes = b"", method: str = "GET") -> bytes:
    head = "\r\n".join([f"{method} {url} HTTP/1.1", "Host: ignored.example", *headers, "", ""])
    return head.encode() + body


LOCAL = {"service.test": [["127.0.0.1"]]}


def test_a_plain_request_reaches_an_allowed_host_and_is_written_anew() -> None:
    async def test() -> None:
        async with (
            upstream() as server,
            proxy(f"service.test:{server.port}", names=LOCAL) as (
                egress,
                port,
            ),
        ):
            url = f"http://service.test:{server.port}/a?b=c"
            headers = ["Accept: x", "Proxy-Authorization: Basic c2VjcmV0", "Connection: X-Hop"]
            answer = await ask(port, get(url, *headers, "X-Hop: 1"))
            assert answer == HELLO
            (heard,) = server.heard
            assert heard.startswith(b"GET /a?b=c HTTP/1.1\r\n")
            assert f"host: service.test:{server.port}\r\n".encode() in heard.lower()
            assert b"accept: x" in heard.lower()
            for gone in (b"ignored.example", b"proxy-", b"x-hop"):
                assert gone not in heard.lower()
            assert not egress.seen.denied

    run(test())


def test_a_tunnel_carries_bytes_both_ways() -> None:
    async def test() -> None:
        async with (
            upstream(b"pong") as server,
            proxy(f"service.test:{server.port}", names=LOCAL) as (_, port),
        ):
            answer = await ask(port, connect_to(f"service.test:{server.port}"), b"ping")
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert answer.endswith(b"\r\n\r\npong")
            assert server.heard == [b"ping"]

    run(test())


def test_bytes_that_come_with_the_head_of_a_tunnel_are_not_lost() -> None:
    async def test() -> None:
        async with (
            upstream(b"pong") as server,
            proxy(f"service.test:{server.port}", names=LOCAL) as (_, port),
        ):
            assert await ask(port, connect_to(f"service.test:{server.port}") + b"early")
            assert server.heard == [b"early"]

    run(test())


@pytest.mark.parametrize(
    ("pattern", "authority"),
    [
        ("service.test", "other.test:443"),
        ("service.test", "service.test:8443"),
        ("service.test:8443", "service.test:443"),
        ("*.service.test", "service.test:443"),
        ("*.service.test", "evilservice.test:443"),
        ("service.test", "service.test.evil.test:443"),
        ("service.test", "127.0.0.1:443"),
        ("localhost", "127.0.0.1:443"),
        ("127.0.0.1:443", "2130706433:443"),
        ("127.0.0.1:443", "0x7f000001:443"),
        ("127.0.0.1:443", "127.1:443"),
        ("127.0.0.1:443", "0177.0.0.1:443"),
        ("127.0.0.1:443", "[::ffff:127.0.0.1]:443"),
        ("[::1]:443", "[::]:443"),
    ],
)
def test_a_host_that_is_not_on_the_list_is_refused_and_remembered(
    pattern: str, authority: str
) -> None:
    async def test() -> None:
        async with proxy(pattern, names={}) as (egress, port):
            assert (await ask(port, connect_to(authority))).startswith(b"HTTP/1.1 403 ")
            assert await ask(port, get(f"http://{authority}/")) == b""
            (denied,) = egress.seen.denied
            assert denied.rpartition(":")[2] == authority.rpartition(":")[2]

    run(test())


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "192.0.0.8",
        "0.0.0.0",  # noqa: S104
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "fd00:ec2::254",
        "fe80::1%eth0",
    ],
)
def test_an_allowed_host_that_leads_inside_is_refused_with_the_reason(address: str) -> None:
    async def test() -> None:
        async with proxy("service.test", allow="", names={"service.test": [[address]]}) as (
            egress,
            port,
        ):
            answer = await ask(port, connect_to("service.test:443"))
            assert answer.startswith(b"HTTP/1.1 403 ")
            assert address in egress.seen.forbidden["service.test:443"]
            assert not egress.seen.denied

    run(test())


def test_one_inside_address_among_public_ones_is_enough_to_refuse() -> None:
    async def test() -> None:
        names = {"service.test": [["93.184.216.34", "10.0.0.1"]]}
        async with proxy("service.test", allow="", names=names) as (egress, port):
            assert (await ask(port, connect_to("service.test:443"))).startswith(b"HTTP/1.1 403 ")
            assert "10.0.0.1" in egress.seen.forbidden["service.test:443"]

    run(test())


def test_a_name_that_changes_its_mind_is_asked_once_and_dialled_as_it_was_checked() -> None:
    async def test() -> None:
        async with upstream() as server:
            names = {"service.test": [["127.0.0.1"], ["127.0.0.2"]]}
            allow = f"127.0.0.1:{server.port}"
            async with proxy(f"service.test:{server.port}", allow=allow, names=names) as (
                egress,
                port,
            ):
                url = f"http://service.test:{server.port}/"
                assert await ask(port, get(url)) == HELLO
                assert await ask(port, get(url)) == b""
                assert "127.0.0.2" in egress.seen.forbidden[f"service.test:{server.port}"]
            assert len(server.heard) == 1

    run(test())


def test_a_redirect_to_another_host_is_a_new_request_and_refused() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://inside.test/\r\nContent-Length: 0\r\n\r\n"

    async def test() -> None:
        async with (
            upstream(moved) as server,
            proxy(
                f"service.test:{server.port}", names=LOCAL | {"inside.test": [["127.0.0.1"]]}
            ) as (egress, port),
        ):
            assert await ask(port, get(f"http://service.test:{server.port}/")) == moved
            assert await ask(port, get("http://inside.test/")) == b""
            assert list(egress.seen.denied) == ["inside.test:80"]

    run(test())


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"GET ftp://service.test/ HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"GET http://user@service.test/ HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"GET http://service.test\\@evil.test/ HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"GET http:///x HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"CONNECT service.test HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"CONNECT service.test:0 HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"CONNECT service.test:99999 HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"CONNECT service.test:443/x HTTP/1.1\r\nHost: service.test\r\n\r\n",
        b"GET http://service.test/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET http://service.test/ HTTP/1.1\r\n\r\n",
        b"GET http://service.test/ HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET http://service.test/ HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
        b"POST http://service.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
        b"Content-Length: 2\r\n\r\nab",
        b"POST http://service.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_what_is_no_request_to_a_proxy_is_answered_and_goes_nowhere(request_bytes: bytes) -> None:
    async def test() -> None:
        async with upstream() as server, proxy("service.test", names=LOCAL) as (_, port):
            assert (await ask(port, request_bytes)).startswith(b"HTTP/1.1 400 ")
            assert not server.heard

    run(test())


def test_a_second_request_hidden_behind_the_first_is_not_passed_on() -> None:
    async def test() -> None:
        async with (
            upstream() as server,
            proxy(f"service.test:{server.port}", names=LOCAL) as (
                _,
                port,
            ),
        ):
            url = f"http://service.test:{server.port}/"
            hidden = b"GET /admin HTTP/1.1\r\nHost: inside.test\r\n\r\n"
            length = get(url, "Content-Length: 2", body=b"ab" + hidden, method="POST")
            assert await ask(port, length) == HELLO
            chunks = b"2\r\nab\r\n0\r\n\r\n" + hidden
            chunked = get(url, "Transfer-Encoding: chunked", body=chunks, method="POST")
            assert await ask(port, chunked) == HELLO
            assert all(b"inside.test" not in heard for heard in server.heard)
            assert len(server.heard) == 2

    run(test())


def test_both_a_length_and_chunks_never_reach_the_server_together() -> None:
    async def test() -> None:
        async with (
            upstream() as server,
            proxy(f"service.test:{server.port}", names=LOCAL) as (
                _,
                port,
            ),
        ):
            headers = ["Content-Length: 4", "Transfer-Encoding: chunked"]
            url = f"http://service.test:{server.port}/"
            await ask(port, get(url, *headers, body=b"0\r\n\r\nGET", method="POST"))
            for heard in map(bytes.lower, server.heard):
                assert not (b"content-length" in heard and b"transfer-encoding" in heard)

    run(test())


def test_a_header_that_a_lenient_server_would_read_otherwise_is_written_anew() -> None:
    async def test() -> None:
        async with (
            upstream() as server,
            proxy(f"service.test:{server.port}", names=LOCAL) as (
                _,
                port,
            ),
        ):
            url = f"http://service.test:{server.port}/"
            await ask(port, get(url, "X: a\nHost: inside.test"))
            await ask(port, get(url, "X: a\r\n Host: inside.test"))
            for heard in server.heard:
                lines = heard.lower().split(b"\r\n")
                assert [line for line in lines if line.startswith(b"host:")] == [
                    f"host: service.test:{server.port}".encode()
                ]
                assert b"\n" not in heard.replace(b"\r\n", b"")

    run(test())


def test_a_head_without_end_is_refused() -> None:
    async def test() -> None:
        async with proxy("service.test", names=LOCAL) as (_, port):
            answer = await ask(port, b"GET http://service.test/ HTTP/1.1\r\nX: " + b"x" * 40_000)
            assert answer.startswith(b"HTTP/1.1 431 ")

    run(test())


def test_more_bytes_than_a_call_may_move_end_it_and_all_that_follows() -> None:
    async def test() -> None:
        big = HELLO.replace(b"5\r\n", b"200000\r\n") + b"x" * 200_000
        async with (
            upstream(big) as server,
            proxy(f"service.test:{server.port}", names=LOCAL, bytes=100_000) as (egress, port),
        ):
            url = f"http://service.test:{server.port}/"
            assert len(await ask(port, get(url))) < len(big)
            assert egress.seen.exhausted
            assert b"hello" not in await ask(port, get(url))

    run(test())


def test_what_is_sent_counts_as_what_is_received() -> None:
    async def test() -> None:
        async with (
            upstream(hold=True) as server,
            proxy(f"service.test:{server.port}", names=LOCAL, bytes=100_000) as (egress, port),
        ):
            answer = await ask(port, connect_to(f"service.test:{server.port}"), b"x" * 200_000)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert egress.seen.exhausted

    run(test())


def test_one_connection_too_many_is_refused_until_another_has_gone() -> None:
    async def test() -> None:
        async with (
            upstream(hold=True) as server,
            proxy(
                f"service.test:{server.port}", names=LOCAL, connections=2, silent_seconds=0.02
            ) as (_, port),
        ):
            request = connect_to(f"service.test:{server.port}")

            async def status() -> tuple[bytes, asyncio.StreamWriter]:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                return (await reader.readuntil(b"\r\n"))[9:12], writer

            held = [await status() for _ in range(2)]
            assert [code for code, _ in held] == [b"200", b"200"]
            code, refused = await status()
            assert code == b"429"
            for _, writer in held:
                writer.transport.abort()
            refused.transport.abort()
            while code == b"429":
                code, writer = await status()
                writer.transport.abort()
            assert code == b"200"

    run(test())


@pytest.mark.parametrize("sent", [b"", b"GET http://service.test/ HT"])
def test_a_head_that_does_not_come_is_not_waited_for(sent: bytes) -> None:
    async def test() -> None:
        async with proxy("service.test", names=LOCAL, head_seconds=0.05) as (_, port):
            assert await ask(port, sent) == b""

    run(test())


def test_a_connection_on_which_nothing_moves_is_ended() -> None:
    async def test() -> None:
        async with (
            upstream(hold=True) as server,
            proxy(f"service.test:{server.port}", names=LOCAL, idle_seconds=0.05) as (_, port),
        ):
            answer = await ask(port, connect_to(f"service.test:{server.port}"), b"ping")
            assert answer.startswith(b"HTTP/1.1 200 ")

    run(test())


def test_a_host_that_is_not_known_or_does_not_answer_is_remembered_as_such() -> None:
    async def test() -> None:
        # Bound and never listened on: nobody answers there, and nobody else can be given it.
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            dead = taken.getsockname()[1]
            async with proxy(f"service.test:{dead}", "nowhere.test", names=LOCAL) as (egress, port):
                refused = await ask(port, connect_to(f"service.test:{dead}"))
                assert refused.startswith(b"HTTP/1.1 502 ")
                assert await ask(port, get("http://nowhere.test/")) == b""
                assert egress.seen.unreachable == {
                    f"service.test:{dead}": "does not answer",
                    "nowhere.test:80": "has no address that is known",
                }

    run(test())


def test_closing_ends_what_is_under_way() -> None:
    async def test() -> None:
        async with (
            upstream(hold=True) as server,
            proxy(f"service.test:{server.port}", names=LOCAL) as (egress, port),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(connect_to(f"service.test:{server.port}"))
            await reader.readuntil(b"\r\n\r\n")
            await egress.close()
            with contextlib.suppress(ConnectionError):
                assert await reader.read(1) == b""
            writer.transport.abort()
            with pytest.raises(ConnectionError):
                await asyncio.open_connection("127.0.0.1", port)

    run(test())


def test_only_a_program_with_hosts_is_told_of_the_proxy() -> None:
    assert network_environment(()) == {}
    variables = network_environment(("service.test",))
    assert variables["HTTPS_PROXY"] == variables["http_proxy"] == "http://127.0.0.1:3128"
    assert variables["NODE_USE_ENV_PROXY"] == "1"
