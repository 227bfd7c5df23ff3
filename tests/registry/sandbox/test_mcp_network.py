"""MCP servers of packages in real sandboxes: whom they reach, what they want."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import mcp_types as types
import pytest

from registry import errors
from registry.mcp import client, door
from registry.mcp.settings import StdioServer
from tests.registry.sandbox.npm_registry import SCOPE
from tests.registry.sandbox.service import becomes_true

if TYPE_CHECKING:
    from registry.sandbox.contract import Artifact
    from tests.registry.sandbox.service import RunningService

pytestmark = pytest.mark.sandbox

Act = Callable[..., str]
TOOL = types.Tool(name="act", input_schema={"type": "object"})
ELSEWHERE = "http://elsewhere.example/"
SECRET = "canary-4b1d77e0"
PROBE = Path(__file__).with_name("mcp_probe.py")


@pytest.fixture(scope="module")
def in_javascript(networked_service: RunningService) -> tuple[Artifact, StdioServer]:
    name = f"{SCOPE}/mcp-network"
    server = StdioServer(transport="stdio", ecosystem="npm", package=name, protocol="2025-11-25")
    return networked_service.client.build(ecosystem="npm", name=name), server


@pytest.fixture(scope="module")
def in_python(
    networked_service: RunningService, python_tools: Path
) -> tuple[Artifact, StdioServer]:
    """Plant a server into the artifact of a module, as an index would have installed it."""
    (python_tools / "probe_home.py").write_text("def one() -> int:\n    return 1\n")
    artifact = networked_service.client.build(ecosystem="local", name="probe_home")
    site = networked_service.folder / "store" / "artifacts" / artifact.artifact / "pkg" / "site"
    site.chmod(0o755)
    (site / "mcp_probe.py").write_text(PROBE.read_text())
    about = site / "probe_home-1.dist-info"
    about.mkdir(exist_ok=True)
    (about / "entry_points.txt").write_text("[console_scripts]\nprobe = mcp_probe:main\n")
    return artifact, StdioServer(
        transport="stdio", ecosystem="pypi", package="probe_home", protocol="2025-11-25"
    )


@pytest.fixture(params=["in_javascript", "in_python"])
def act(
    request: pytest.FixtureRequest,
    networked_service: RunningService,
    monkeypatch: pytest.MonkeyPatch,
) -> Act:
    """Call the tool of a server that was told how to behave."""
    monkeypatch.setenv("SANDBOX_SOCKET", str(networked_service.folder / "sandboxd.sock"))
    artifact, server = request.getfixturevalue(request.param)

    def act(
        how: str,
        url: str = "",
        *,
        network: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        cancel: threading.Event | None = None,
    ) -> str:
        target = client.Target(
            server=server.model_copy(update={"args": [how, url]}),
            name=server.package,
            artifact=artifact.artifact,
            env=env or {},
            network=network,
        )

        async def work(_: door.Note) -> types.CallToolResult:
            notes = client.Notes(progress=lambda _: None)
            return await client.call(target, TOOL, {}, seconds=90, notes=notes)

        result = door.run(work, cancel=cancel or threading.Event(), note=lambda _: None)
        block = result.content[0]
        assert isinstance(block, types.TextContent)
        return f"failed: {block.text}" if result.is_error else block.text

    return act


@pytest.mark.parametrize("how", ["fetches", "early"])
def test_an_allowed_host_is_reached_even_in_the_first_moment(
    act: Act, company: int, how: str
) -> None:
    hosts = (f"localhost:{company}",)
    assert act(how, f"http://localhost:{company}/a", network=hosts) == "hello from /a"


@pytest.mark.parametrize("network", [(), ("allowed.example",)], ids=["closed", "another host"])
@pytest.mark.parametrize("how", ["fetches", "early", "exits"])
def test_a_denied_host_is_named(act: Act, how: str, network: tuple[str, ...]) -> None:
    with pytest.raises(errors.NetworkDenied, match=r"tried to reach elsewhere\.example") as caught:
        act(how, ELSEWHERE, network=network)
    assert caught.value.extra["hosts"][0].startswith("elsewhere.example")
    assert "under “Network” on the page of the package" in caught.value.hint


def test_a_failure_of_its_own_stays_the_servers(act: Act) -> None:
    assert act("fails") == "failed: It is broken."


def test_a_key_that_is_looked_for_in_vain_is_named(act: Act) -> None:
    for how in ("looks", "needs-key"):
        with pytest.raises(errors.ToolFailed) as caught:
            act(how)
        assert caught.value.extra["missing_env"] == ["DEMO_API_KEY"]
    assert act("looks", env={"DEMO_API_KEY": "x"}) == "has it"


def test_a_server_has_its_variables_from_its_first_line_on(act: Act) -> None:
    told = act("environment", env={"SOME_TOKEN": SECRET, "PATH": "/elsewhere"})
    word, path, _ = told.split()
    assert word == SECRET
    assert path.endswith("/usr/bin"), "what is ours stays ours"
    assert "/elsewhere" not in path


def test_a_secret_is_in_no_environment_and_on_no_command_line(
    act: Act, networked_service: RunningService
) -> None:
    cancel = threading.Event()
    ended: list[BaseException] = []

    def hang() -> None:
        try:
            act("hangs", env={"SOME_TOKEN": SECRET}, cancel=cancel)
        except errors.CallCancelled as error:
            ended.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    try:
        # bubblewrap's own processes, and the server that was told to hang
        assert becomes_true(lambda: len(list(servers(networked_service))) > 1)
        seen = b"".join(servers(networked_service))
        assert b"hangs" in seen
        assert SECRET.encode() not in seen
    finally:
        cancel.set()
        thread.join()
    assert len(ended) == 1


def servers(service: RunningService) -> Iterator[bytes]:
    """Yield what the process list shows of each process that belongs to a hanging server.

    Only of this service: the other test worker may have one that hangs too, and ends.
    """
    store = str(service.folder).encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            if store not in command and store not in (folder / "mountinfo").read_bytes():
                continue
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if b"hangs" in command or SECRET.encode() in environment:
            yield command + b"\0" + environment


def test_a_denied_host_that_does_not_matter_to_the_server_does_not_matter(act: Act) -> None:
    assert act("aside", ELSEWHERE) == "done"
