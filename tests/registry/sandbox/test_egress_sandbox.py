"""Real packages in real sandboxes: whom they reach with network, and whom never."""

import asyncio
import os
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from registry import errors
from registry.sandbox.client import Artifact, LocalSandbox
from registry.sandbox.paths import DEFAULT_UID
from registry.sandbox.service import egresstest, javascript
from registry.sandbox.service.errors import ServiceError
from registry.sandbox.service.netns import listener_inside
from registry.sandbox.service.process import Guest
from registry.sandbox.service.runtime import find_runtime
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import RunningService, as_user, becomes_true, running_service

pytestmark = pytest.mark.sandbox

ELSEWHERE = "http://elsewhere.example/"


@pytest.fixture
def service(networked_service: RunningService) -> RunningService:
    """A sandbox service whose operator lets tools reach that one service of the company."""
    return networked_service


@pytest.fixture(scope="module")
def package(networked_service: RunningService) -> Artifact:
    """The built package of tools that want out."""
    return networked_service.client.build(ecosystem="npm", name=f"{SCOPE}/network")


@pytest.fixture
def call(service: RunningService, package: Artifact) -> Any:
    """Call a tool with a list of allowed hosts."""

    def call(export: str, network: Any = (), **arguments: Any) -> Any:
        return service.client.call(
            artifact=package.artifact, export=export, arguments=arguments, env={}, network=network
        ).output

    return call


@pytest.mark.parametrize("export", ["fetches", "requests"])
def test_an_allowed_host_is_reached(call: Any, company: int, export: str) -> None:
    answer = call(export, [f"localhost:{company}"], url=f"http://localhost:{company}/a?b")
    assert answer == {"status": 200, "text": "hello from /a?b"}


def test_a_body_is_sent(call: Any, company: int) -> None:
    url = f"http://localhost:{company}/"
    assert call("fetches", [f"localhost:{company}"], url=url, body="ping" * 1000)["text"] == (
        "ping" * 250
    )


def test_a_socket_of_its_own_speaks_to_the_proxy_under_the_same_rules(
    call: Any, company: int
) -> None:
    def ask(target: str) -> str:
        request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
        hosts = [f"localhost:{company}"]
        answer: str = call("connects", hosts, host="127.0.0.1", port=3128, text=request)
        return answer.partition("\r\n")[0]

    assert ask(f"localhost:{company}") == "HTTP/1.1 200 Connection established"
    assert ask("elsewhere.example:443") == "HTTP/1.1 403 Forbidden"
    assert ask(f"127.0.0.1:{company}") == "HTTP/1.1 403 Forbidden"


WAYS = [
    ("fetches", {"url": ELSEWHERE}, "elsewhere.example:80"),
    ("fetches", {"url": "https://elsewhere.example/"}, "elsewhere.example:443"),
    ("fetches", {"url": "http://elsewhere.example:8080/"}, "elsewhere.example:8080"),
    ("fetchesQuietly", {"url": ELSEWHERE}, "elsewhere.example:80"),
    ("requests", {"url": ELSEWHERE}, "elsewhere.example:80"),
    ("requests", {"url": "https://elsewhere.example/"}, "elsewhere.example:443"),
    ("requestsQuietly", {"url": ELSEWHERE}, "elsewhere.example:80"),
    ("opensSocket", {"url": "wss://elsewhere.example/"}, "elsewhere.example:443"),
    ("connects", {"host": "elsewhere.example", "port": 25}, "elsewhere.example:25"),
    ("connectsLikeNode", {"host": "10.1.2.3", "port": 5432}, "10.1.2.3:5432"),
]


@pytest.mark.parametrize("network", [[], ["allowed.example"]], ids=["no network", "another host"])
@pytest.mark.parametrize(("export", "arguments", "host"), WAYS)
def test_a_denied_host_is_named_whatever_way_it_was_tried(
    call: Any, network: list[str], export: str, arguments: dict[str, Any], host: str
) -> None:
    with pytest.raises(errors.NetworkDenied, match=f"tried to reach {host}") as caught:
        call(export, network, **arguments)
    assert caught.value.extra["hosts"] == [host]
    assert f"A reviewer can allow {host}" in caught.value.hint


@pytest.mark.parametrize("export", ["looksUp", "asksServer"])
def test_a_name_cannot_be_looked_up_and_is_named(call: Any, export: str) -> None:
    with pytest.raises(errors.NetworkDenied, match=r"tried to reach elsewhere\.example"):
        call(export, host="elsewhere.example")


@pytest.mark.parametrize("export", ["looksUp", "asksServer", "sendsDatagram"])
def test_names_and_datagrams_stay_impossible_with_network(
    call: Any, company: int, export: str
) -> None:
    with pytest.raises(errors.ToolFailed):
        call(export, [f"localhost:{company}"], host="localhost.", port=53)


def test_a_redirect_to_a_host_that_is_not_allowed_names_that_host(call: Any, company: int) -> None:
    with pytest.raises(errors.NetworkDenied) as caught:
        call("fetches", [f"localhost:{company}"], url=f"http://localhost:{company}/moved")
    assert caught.value.extra["hosts"] == ["elsewhere.example:80"]


def test_a_denied_host_that_does_not_matter_to_the_tool_does_not_matter(call: Any) -> None:
    assert call("fetchesAside", url=ELSEWHERE) == "done"


def test_a_package_that_wants_a_host_when_imported_is_told_by_it_at_a_call(
    service: RunningService,
) -> None:
    eager = service.client.build(ecosystem="npm", name=f"{SCOPE}/eager").artifact
    with pytest.raises(errors.NetworkDenied) as caught:
        service.client.call(artifact=eager, export="settings", arguments={}, env={})
    assert caught.value.extra["hosts"] == ["elsewhere.example:443"]
    with pytest.raises(errors.ImportBroken, match=r"elsewhere\.example"):
        service.client.describe(artifact=eager)


def test_an_allowed_host_that_is_the_operators_own_needs_the_operator(call: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(errors.NetworkDenied, match="this machine") as caught:
            call("fetches", [f"localhost:{port}"], url=f"http://localhost:{port}/")
    assert "SANDBOX_NET_ALLOW" in caught.value.hint


def test_an_allowed_host_that_does_not_answer_is_told_as_such(call: Any) -> None:
    with pytest.raises(errors.ToolError, match=r"could not reach nowhere\.invalid:443") as caught:
        call("fetches", ["nowhere.invalid"], url="https://nowhere.invalid/")
    assert not isinstance(caught.value, errors.NetworkDenied)


def test_more_than_a_call_may_move_is_not_moved(call: Any, company: int) -> None:
    with pytest.raises(errors.ToolFailed) as caught:
        call("fetchesLength", [f"localhost:{company}"], url=f"http://localhost:{company}/big")
    assert "moved more bytes than one may" in caught.value.hint


def test_a_port_of_the_host_is_not_the_sandboxs(call: Any, company: int) -> None:
    hosts = [f"127.0.0.1:{company}"]
    with pytest.raises(errors.ToolFailed, match="refused"):
        call("connects", hosts, host="127.0.0.1", port=company)
    url = f"http://127.0.0.1:{company}/"
    assert call("fetches", hosts, url=url)["text"] == "hello from /", "only through the proxy"


def test_two_sandboxes_at_once_each_have_their_own_rules(call: Any, company: int) -> None:
    url = f"http://localhost:{company}/"
    answers: dict[int, Any] = {}

    def run(number: int) -> None:
        hosts = [f"localhost:{company}"] if number % 2 else ["allowed.example"]
        try:
            answers[number] = call("fetches", hosts, url=url)["status"]
        except errors.NetworkDenied as error:
            answers[number] = error.extra["hosts"]

    threads = [threading.Thread(target=run, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    denied = [f"localhost:{company}"]
    assert answers == {number: 200 if number % 2 else denied for number in range(8)}


def test_a_listener_of_another_sandbox_cannot_be_named(call: Any, company: int) -> None:
    """Without network, the proxy's address leads to nothing, whoever else has one."""
    with pytest.raises(errors.NetworkDenied) as caught:
        call("connects", host="127.0.0.1", port=3128)
    assert caught.value.extra["hosts"] == ["127.0.0.1:3128"]


def test_nothing_of_the_proxy_is_left_after_a_call(
    service: RunningService, package: Artifact, call: Any, company: int
) -> None:
    folder = Path(f"/proc/{service.process.pid}/fd")

    def descriptors() -> int:
        service.client.forget(package.artifact)  # a process made ready has some of its own
        return len(list(folder.iterdir()))

    call("fetches", [f"localhost:{company}"], url=f"http://localhost:{company}/")
    before = descriptors()
    for _ in range(3):
        call("fetches", [f"localhost:{company}"], url=f"http://localhost:{company}/")
    assert becomes_true(lambda: descriptors() <= before)


@pytest.mark.parametrize("network", ["x", [1], ["*"], ["https://a.example"], ["a.example/x"]])
def test_a_list_of_hosts_that_is_none_is_refused(
    service: RunningService, package: Artifact, network: Any
) -> None:
    with pytest.raises(errors.ToolError):
        service.client.call(
            artifact=package.artifact, export="fetches", arguments={}, env={}, network=network
        )


def test_the_way_out_is_part_of_the_self_test(sandbox: LocalSandbox) -> None:
    checks = {check["name"]: check for check in sandbox.status()["checks"]}
    assert checks["egress"]["ok"], checks["egress"]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"answer": "HTTP/1.1 403 Forbidden", "escapes": []}, ""),
        ({"answer": "HTTP/1.1 200 OK", "escapes": []}, "did not refuse"),
        ({"answer": "", "escapes": []}, "did not refuse"),
        (None, "did not refuse"),
        ({"answer": "HTTP/1.1 403 Forbidden", "escapes": ["x"]}, "past the proxy"),
        ({"answer": "HTTP/1.1 403 Forbidden"}, "past the proxy"),
    ],
)
def test_a_way_past_the_proxy_closes_the_network(seen: Any, words: str) -> None:
    said = egresstest.judge(seen)
    assert words in said
    assert bool(said) is bool(words)


def test_a_wrong_setting_of_the_operator_is_told(npm_settings: dict[str, str]) -> None:
    settings = {**npm_settings, "SANDBOX_NET_ALLOW": "everything"}
    with running_service(settings, ok=False) as closed:
        (check,) = closed.client.status()["checks"]
        assert "SANDBOX_NET_ALLOW cannot be read" in check["detail"]


def refused(store: Path) -> list[str]:
    """Ask for networks that cannot be entered, as the sandbox's user; returns what is said."""

    async def ask() -> list[str]:
        runtime = replace(find_runtime(store), egress_trouble="the kernel said no.")
        said = []
        for attempt in (
            Guest.start(runtime, replace(javascript.canary(runtime), egress=("a.example",))),
            listener_inside(os.getppid(), os.getpid()),
            listener_inside(os.getpid(), os.getppid()),
        ):
            with pytest.raises(ServiceError) as caught:
                await attempt
            said.append(f"{caught.value.code}: {caught.value.message}")
        return said

    return asyncio.run(ask())


def test_a_kernel_that_does_not_let_us_in_closes_the_network_in_words(
    service: RunningService,
) -> None:
    closed, stranger, ours = as_user(DEFAULT_UID, refused, service.folder / "store")
    assert closed == ("sandbox_unavailable: No tool may use the network here: the kernel said no.")
    for said in (stranger, ours):
        assert said.startswith("sandbox_unavailable: The sandbox's network could not be entered (")
