"""The guard under clients that somebody else drives."""

import asyncio
import gzip
import ssl
import threading

import httpx
import pytest

from config.lib.addresses import parse_allowed
from registry.errors import HostRefused, ResponseTooLarge
from registry.outbound import Guard, guarded_sync_transport, guarded_transport
from registry.outbound.transports import trusted
from tests.fakes.web_server import WebServer
from tests.registry.outbound.tls import TlsServer


def test_a_client_in_a_thread_is_guarded_at_each_redirect(web: WebServer, guard: Guard) -> None:
    web.on("/", lambda it: it.answer("ok"))
    web.redirect("/away", "http://169.254.169.254/")
    with httpx.Client(transport=guarded_sync_transport(guard), follow_redirects=True) as client:
        assert client.get(web.url).text == "ok"
        with pytest.raises(HostRefused, match="metadata"):
            client.get(f"{web.url}/away")


def test_a_client_on_an_event_loop_is_guarded_at_each_redirect(
    web: WebServer, guard: Guard
) -> None:
    web.on("/", lambda it: it.answer("ok"))
    web.redirect("/away", "http://10.0.0.1/")

    async def run() -> None:
        transport = guarded_transport(guard)
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
            assert (await client.get(web.url)).text == "ok"
            with pytest.raises(HostRefused, match="is private"):
                await client.get(f"{web.url}/away")

    asyncio.run(run())


def test_packed_answers_come_unpacked_and_bounded(web: WebServer) -> None:
    guard = Guard(allow=parse_allowed("127.0.0.1"), max_bytes=1_000)
    web.on("/", lambda it: it.answer(gzip.compress(b"a" * 900), headers=packed))
    web.on("/bomb", lambda it: it.answer(gzip.compress(b"a" * 90_000), headers=packed))
    packed = {"Content-Encoding": "gzip"}
    with httpx.Client(transport=guarded_sync_transport(guard)) as client:
        assert client.get(web.url).text == "a" * 900
        with pytest.raises(ResponseTooLarge):
            client.get(f"{web.url}/bomb")
        assert client.head(web.url).status_code == 200


def test_tls_keeps_to_the_name_while_the_address_is_pinned(
    tls: TlsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(cafile=str(tls.certificate))
    monkeypatch.setattr("registry.outbound.transports.trusted", lambda: context)
    guard = Guard(allow=parse_allowed("127.0.0.1"), resolve=lambda host, port: ["127.0.0.1"])
    with httpx.Client(transport=guarded_sync_transport(guard)) as client:
        assert client.get(f"https://pinned.example:{tls.port}/").text == "pinned.example"
        with pytest.raises(httpx.ConnectError, match="certificate"):
            client.get(f"https://other.example:{tls.port}/")


def test_a_certificate_that_nobody_vouches_for_is_refused(tls: TlsServer) -> None:
    guard = Guard(allow=parse_allowed("127.0.0.1"), resolve=lambda host, port: ["127.0.0.1"])
    with (
        httpx.Client(transport=guarded_sync_transport(guard)) as client,
        pytest.raises(httpx.ConnectError),
    ):
        client.get(f"https://pinned.example:{tls.port}/")


def test_the_certificates_are_read_once() -> None:
    assert trusted() is trusted()
    assert trusted().verify_mode == ssl.CERT_REQUIRED


def test_many_threads_share_one_transport(web: WebServer, guard: Guard) -> None:
    web.on("/", lambda it: it.answer("ok"))
    told: list[str] = []
    with httpx.Client(transport=guarded_sync_transport(guard)) as client:
        threads = [
            threading.Thread(target=lambda: told.append(client.get(web.url).text)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert told == ["ok"] * 8
