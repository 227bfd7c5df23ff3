"""Requests that end: answers, redirects, time, cancellation."""

import os
import threading
import time

import httpx
import pytest
from django.test import override_settings

from config.lib.addresses import parse_allowed
from registry.errors import (
    CallCancelled,
    HostRefused,
    ResponseTooLarge,
    ToolTimeout,
    UpstreamError,
    UpstreamUnreachable,
)
from registry.outbound import Answer, Guard, fetch
from tests.fakes.web_server import Exchange, WebServer
from tests.live import free_port


def get(url: str, guard: Guard, *, seconds: float = 5, **more: object) -> Answer:
    return fetch(httpx.Request("GET", url, **more), seconds=seconds, guard=guard)  # type: ignore[arg-type]


def test_an_answer_comes_whole_whatever_its_status(web: WebServer, guard: Guard) -> None:
    web.on("/x", lambda it: it.answer("no tea", status=418, headers={"X-Pot": "1"}))
    answer = get(f"{web.url}/x?q=1", guard)
    assert (answer.status, answer.body, answer.headers["x-pot"]) == (418, b"no tea", "1")
    assert web.asked[0].path == "/x?q=1"
    assert web.asked[0].headers["host"] == f"127.0.0.1:{web.port}"


def test_this_machine_is_refused_unless_the_operator_allows_it(web: WebServer) -> None:
    web.on("/", lambda it: it.answer("in"))
    with (
        override_settings(OUTBOUND_ALLOW=()),
        pytest.raises(HostRefused, match=r"127\.0\.0\.1 is this machine") as caught,
    ):
        fetch(httpx.Request("GET", web.url), seconds=5)
    assert caught.value.extra == {"host": "127.0.0.1", "port": web.port}
    assert "OUTBOUND_ALLOW" in caught.value.hint
    assert not web.asked
    with override_settings(OUTBOUND_ALLOW=parse_allowed(f"127.0.0.1:{web.port}")):
        assert fetch(httpx.Request("GET", web.url), seconds=5).body == b"in"


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f.0.0.1", "0177.0.0.1", "127.1", "localhost", "127.0.0.1.", "[::1]",
     "[::ffff:127.0.0.1]", "0", "１２７.0.0.1", "LOCALHOST"],
)  # fmt: skip
def test_no_way_of_writing_this_machine_gets_past(host: str, web: WebServer) -> None:
    with pytest.raises((HostRefused, UpstreamUnreachable, httpx.InvalidURL)):
        get(f"http://{host}:{web.port}/", Guard(allow=()))
    assert not web.asked


@pytest.mark.parametrize("url", ["ftp://example.com/", "file:///etc/passwd", "//example.com", "x:"])
def test_only_http_and_https_are_spoken(url: str, guard: Guard) -> None:
    with pytest.raises(HostRefused, match="not a scheme"):
        get(url, guard)


def test_an_address_with_a_password_in_it_is_refused_without_repeating_it(guard: Guard) -> None:
    with pytest.raises(HostRefused, match="user name or password") as caught:
        get("http://user:hunter2@127.0.0.1/", guard)
    assert "hunter2" not in str(caught.value.as_dict())


def test_a_host_that_is_not_among_the_allowed_ones_is_named(web: WebServer) -> None:
    guard = Guard(allow=parse_allowed("127.0.0.1"), hosts=("api.example.com",))
    with pytest.raises(HostRefused, match=rf"127\.0\.0\.1:{web.port}: it is not among") as caught:
        get(web.url, guard)
    assert caught.value.extra["host"] == "127.0.0.1"


def test_a_name_with_one_private_address_among_public_ones_is_refused() -> None:
    guard = Guard(allow=(), resolve=lambda host, port: ["8.8.8.8", "10.0.0.7"])
    with pytest.raises(HostRefused, match=r"rebind\.example resolves to 10\.0\.0\.7, which is pri"):
        get("http://rebind.example/", guard)


def test_a_name_is_resolved_once_and_the_checked_address_is_dialled(web: WebServer) -> None:
    answers = [["127.0.0.1"], ["10.0.0.7"]]
    guard = Guard(allow=parse_allowed("127.0.0.1"), resolve=lambda host, port: answers.pop(0))
    web.on("/", lambda it: it.answer("pinned"))
    assert get(f"http://rebind.example:{web.port}/", guard).body == b"pinned"
    assert web.asked[0].headers["host"] == f"rebind.example:{web.port}"
    with pytest.raises(HostRefused, match=r"10\.0\.0\.7"):
        get(f"http://rebind.example:{web.port}/", guard)


def test_the_next_address_of_a_name_is_tried_when_one_does_not_answer(web: WebServer) -> None:
    guard = Guard(
        allow=parse_allowed("127.0.0.0/8"), resolve=lambda host, port: ["127.0.0.2", "127.0.0.1"]
    )
    web.on("/", lambda it: it.answer("second"))
    assert get(f"http://two.example:{web.port}/", guard).body == b"second"


def test_a_name_that_there_is_not_is_told(guard: Guard) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    with pytest.raises(UpstreamUnreachable, match="there is no host of the name nowhere"):
        get("http://nowhere.example/", Guard(resolve=unknown))


def test_a_port_that_nobody_listens_on_is_told(guard: Guard) -> None:
    with pytest.raises(UpstreamUnreachable, match=r"127\.0\.0\.1 could not be asked"):
        get(f"http://127.0.0.1:{free_port()}/", guard)


def test_an_answer_that_is_not_http_is_told_without_repeating_it(
    web: WebServer, guard: Guard
) -> None:
    web.on("/", lambda it: it.raw(b"SSH-2.0-secret\r\n\r\n"))
    with pytest.raises(UpstreamUnreachable, match="not valid HTTP") as caught:
        get(web.url, guard)
    assert "secret" not in caught.value.message


def test_a_header_that_cannot_be_sent_is_told_without_repeating_it(
    web: WebServer, guard: Guard
) -> None:
    with pytest.raises(UpstreamUnreachable, match="header of the request") as caught:
        get(web.url, guard, headers={"X-Key": "hunter2\r\nX-More: 1"})
    assert "hunter2" not in caught.value.message


def test_the_proxies_of_the_environment_are_not_used(
    web: WebServer, other: WebServer, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setitem(os.environ, name, other.url)
    web.on("/", lambda it: it.answer("direct"))
    assert get(web.url, guard).body == b"direct"
    assert not other.asked


def test_a_redirect_is_followed_and_checked_anew(web: WebServer, guard: Guard) -> None:
    web.redirect("/a", "/b")
    web.on("/b", lambda it: it.answer("there"))
    assert get(f"{web.url}/a", guard, headers={"Authorization": "Bearer k"}).body == b"there"
    assert web.asked[1].headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    "location",
    ["http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://10.0.0.1/", "//10.0.0.1/x",
     "http://[64:ff9b::7f00:1]/", "file:///etc/passwd", "gopher://127.0.0.1/"],
)  # fmt: skip
def test_a_redirect_to_what_is_not_public_is_refused(
    location: str, web: WebServer, guard: Guard
) -> None:
    web.redirect("/a", location)
    with pytest.raises(HostRefused):
        get(f"{web.url}/a", guard)


def test_a_redirect_to_a_host_that_is_not_allowed_is_refused(web: WebServer) -> None:
    guard = Guard(allow=parse_allowed("127.0.0.1"), hosts=(f"127.0.0.1:{web.port}",))
    web.redirect("/a", "http://example.com/")
    with pytest.raises(HostRefused, match=r"example\.com:80"):
        get(f"{web.url}/a", guard)


def test_a_redirect_to_another_origin_takes_no_credential_along(
    web: WebServer, other: WebServer, guard: Guard
) -> None:
    web.redirect("/a", f"{other.url}/b", 307)
    other.on("/b", lambda it: it.answer("got it"))
    sent = {"Authorization": "Bearer k", "X-Api-Key": "k", "Cookie": "s=k", "Accept": "text/plain"}
    request = httpx.Request("POST", f"{web.url}/a", headers=sent, content=b"body")
    fetch(request, seconds=5, guard=guard)
    got = other.asked[0]
    assert (got.method, got.body, got.headers["accept"]) == ("POST", b"body", "text/plain")
    assert not {"authorization", "x-api-key", "cookie"} & set(got.headers)
    assert got.headers["host"] == f"127.0.0.1:{other.port}"


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirected_post_becomes_a_get_without_the_body(
    status: int, web: WebServer, guard: Guard
) -> None:
    web.redirect("/a", "/b", status)
    web.on("/b", lambda it: it.answer("ok"))
    request = httpx.Request("POST", f"{web.url}/a", json={"a": 1})
    fetch(request, seconds=5, guard=guard)
    assert (web.asked[1].method, web.asked[1].body) == ("GET", b"")
    assert "content-type" not in web.asked[1].headers


def test_redirects_without_end_are_given_up(web: WebServer, guard: Guard) -> None:
    web.redirect("/a", "/a")
    with pytest.raises(UpstreamUnreachable, match="more than 5 times"):
        get(f"{web.url}/a", guard)
    assert len(web.asked) == 6


def dribble(web: WebServer) -> None:
    """Send a byte every now and then, for ever."""

    def handler(it: Exchange) -> None:
        it.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not web.closing.wait(0.02):
            it.raw(b"x")

    web.on("/slow", handler)


def test_a_server_that_dribbles_is_cut_off_at_the_deadline(web: WebServer, guard: Guard) -> None:
    dribble(web)
    with pytest.raises(ToolTimeout, match=r"127\.0\.0\.1 did not answer fully within 2 seconds"):
        get(f"{web.url}/slow", guard, seconds=2)  # the head must have come by then


def test_a_server_that_never_answers_is_cut_off_at_the_deadline(
    web: WebServer, guard: Guard
) -> None:
    web.on("/never", lambda it: web.closing.wait() and None)
    with pytest.raises(ToolTimeout):
        get(f"{web.url}/never", guard, seconds=0.2)


def test_a_call_that_is_cancelled_ends_at_once(web: WebServer, guard: Guard) -> None:
    dribble(web)
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(CallCancelled):
        fetch(httpx.Request("GET", f"{web.url}/slow"), seconds=60, guard=guard, cancel=cancel)
    assert time.monotonic() - started < 30


def test_a_call_that_was_cancelled_before_it_began_asks_nobody(
    web: WebServer, guard: Guard
) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CallCancelled):
        fetch(httpx.Request("GET", web.url), seconds=5, guard=guard, cancel=cancel)
    assert not web.asked


def test_a_name_that_takes_for_ever_to_resolve_holds_nothing_up() -> None:
    done = threading.Event()

    def hang(host: str, port: int) -> list[str]:
        done.wait()
        return []

    try:
        with pytest.raises(ToolTimeout):
            get("http://slow.example/", Guard(resolve=hang), seconds=0.2)
    finally:
        done.set()


def test_an_answer_over_the_limit_is_refused_before_it_is_read(web: WebServer) -> None:
    guard = Guard(allow=parse_allowed("127.0.0.1"), max_bytes=10)
    web.on("/", lambda it: it.answer(b"x" * 11))
    with pytest.raises(ResponseTooLarge, match="more than 10 bytes"):
        get(web.url, guard)


def test_an_answer_without_a_length_is_cut_off_at_the_limit(web: WebServer) -> None:
    def flood(it: Exchange) -> None:
        it.raw(b"HTTP/1.1 200 OK\r\n\r\n")
        while not web.closing.is_set():
            it.raw(b"x" * 65_536)

    guard = Guard(allow=parse_allowed("127.0.0.1"), max_bytes=100_000)
    web.on("/", flood)
    with pytest.raises(ResponseTooLarge):
        get(web.url, guard)


def test_headers_without_end_are_refused(web: WebServer, guard: Guard) -> None:
    def flood(it: Exchange) -> None:
        it.raw(b"HTTP/1.1 200 OK\r\n")
        while not web.closing.is_set():
            it.raw(b"X-More: " + b"x" * 1_000 + b"\r\n")

    web.on("/", flood)
    with pytest.raises(UpstreamUnreachable, match="not valid HTTP"):
        get(web.url, guard)


def test_an_answer_in_an_encoding_that_was_not_asked_for_is_refused(
    web: WebServer, guard: Guard
) -> None:
    web.on("/", lambda it: it.answer(b"x", headers={"Content-Encoding": "br"}))
    with pytest.raises(UpstreamError, match="encoding “br”"):
        get(web.url, guard)
