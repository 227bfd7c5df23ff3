"""MCP servers of packages, in the real sandbox."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command

from agents.credentials import env_of
from agents.services import credential_set
from registry.context import CallContext
from registry.execution import invoke
from registry.importing.jobs import import_request, import_run
from registry.loading import load_spec
from registry.models import ImportJob, Package, Tool
from registry.models.invocation import Caller
from registry.results import Failed, Succeeded
from registry.services import tool_publish
from tests.registry.sandbox.npm_registry import SCOPE

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from registry.results import ToolResult
    from tests.registry.sandbox.service import RunningService

pytestmark = pytest.mark.django_db

EVERYTHING = "@modelcontextprotocol/server-everything"


@pytest.fixture(autouse=True)
def _service(sandbox_service: RunningService) -> Iterator[None]:
    """Run the service; it keeps what it built, so each package is installed once in a run."""
    yield


def imported(user: User, package: str, **settings: Any) -> ImportJob:
    settings = {"transport": "stdio", "ecosystem": "npm", "package": package, **settings}
    job = import_request(ecosystem="mcp", name=package, settings=settings, user=user, queued=False)
    import_run(job.pk)
    job.refresh_from_db()
    return job


def package_of(job: ImportJob) -> Package:
    assert job.error is None, job.error
    assert job.package is not None
    return job.package


@pytest.fixture
def everything(alice: User) -> Package:
    """The reference server, imported by Alice."""
    env = [{"name": "SAMPLE_KEY", "required": False}]
    return package_of(imported(alice, EVERYTHING, args=["stdio"], env=env))


def called(
    user: User, name: str, /, *, context: dict[str, Any] | None = None, **arguments: Any
) -> ToolResult:
    tool = Tool.objects.get(export_name=name)
    given = CallContext(user=user, caller=Caller.BROWSER, **(context or {}))
    return invoke(load_spec(tool), arguments, given)


def output_of(result: ToolResult) -> Any:
    assert isinstance(result, Succeeded), result
    return result.output


# --- The reference server, from npm


def test_the_reference_server_is_imported(everything: Package) -> None:
    assert everything.settings == {
        "transport": "stdio",
        "ecosystem": "npm",
        "package": EVERYTHING,
        "args": ["stdio"],
        "protocol": "2025-11-25",
    }
    assert everything.artifact
    assert everything.integrity.startswith("sha512-")
    assert {"echo", "get-sum", "get-tiny-image"} <= set(
        everything.tools.values_list("export_name", flat=True)
    )


@pytest.mark.usefixtures("everything")
def test_the_reference_server_answers(alice: User) -> None:
    assert output_of(called(alice, "echo", message="hello")) == "Echo: hello"
    assert output_of(called(alice, "get-sum", a=1, b=2)) == "The sum of 1 and 2 is 3."


@pytest.mark.usefixtures("everything")
def test_structured_content_is_the_output_and_its_text_stands_beside_it(alice: User) -> None:
    result = called(alice, "get-structured-content", location="New York")
    assert output_of(result) == {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
    assert result.details is not None
    assert result.details["content"][0]["type"] == "text"


@pytest.mark.usefixtures("everything")
def test_an_image_comes_through(alice: User) -> None:
    blocks = output_of(called(alice, "get-tiny-image"))["content"]
    image = next(block for block in blocks if block["type"] == "image")
    assert image["mimeType"] == "image/png"
    assert image["data"].startswith("iVBORw0KGgo")


@pytest.mark.usefixtures("everything")
def test_resources_and_links_come_through(alice: User) -> None:
    linked = output_of(called(alice, "get-resource-links", count=2))["content"]
    assert [block["type"] for block in linked] == ["text", "resource_link", "resource_link"]
    reference = called(alice, "get-resource-reference", resourceType="Text", resourceId=1)
    embedded = output_of(reference)["content"][1]
    assert embedded["resource"]["uri"] == "demo://resource/dynamic/text/1"


@pytest.mark.usefixtures("everything")
def test_progress_is_passed_on_while_it_works(alice: User) -> None:
    notes: list[Any] = []
    context = {"progress": notes.append}
    output_of(
        called(alice, "trigger-long-running-operation", context=context, duration=0.3, steps=3)
    )
    assert [(note["progress"], note["total"]) for note in notes] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.usefixtures("everything")
def test_a_variable_reaches_the_server_and_its_value_nobody_else(alice: User) -> None:
    credential_set(alice, name="SAMPLE_KEY", value="canary-5e11")
    credential_set(alice, name="OTHER_KEY", value="not-declared")
    text = output_of(called(alice, "get-env", context={"env": env_of(alice, None)}))
    assert "SAMPLE_KEY" in text
    assert "canary-5e11" not in text
    assert "OTHER_KEY" not in text
    assert "PGUSER" not in text


@pytest.mark.usefixtures("everything")
def test_the_network_is_closed_and_the_host_is_named(alice: User) -> None:
    result = called(alice, "gzip-file-as-resource", data="https://example.org/a")
    assert isinstance(result, Failed)
    assert result.error.code == "network_denied"
    assert result.error.extra["hosts"] == ["example.org:443"]


@pytest.mark.usefixtures("everything")
def test_arguments_that_the_schema_refuses_never_reach_the_server(alice: User) -> None:
    result = called(alice, "get-sum", a="one", b=2)
    assert isinstance(result, Failed)
    assert result.error.code == "invalid_arguments"


@pytest.mark.usefixtures("everything")
def test_a_tool_that_the_server_no_longer_has_is_told_as_such(alice: User) -> None:
    Tool.objects.filter(export_name="echo").update(export_name="gone")
    tool_publish(Tool.objects.get(export_name="gone"), author=alice)
    result = called(alice, "gone", message="x")
    assert isinstance(result, Failed)
    assert result.error.code in {"unknown_export", "tool_failed"}, result.error


@pytest.mark.usefixtures("everything")
def test_a_call_that_takes_too_long_is_stopped(alice: User) -> None:
    tool = Tool.objects.get(export_name="trigger-long-running-operation")
    tool.timeout_seconds = 1
    tool_publish(tool, author=alice)
    result = called(alice, tool.export_name, duration=60, steps=1)
    assert isinstance(result, Failed)
    assert result.error.code == "tool_timeout"


@pytest.mark.usefixtures("everything")
def test_a_cancelled_call_ends_with_its_process(
    alice: User, sandbox_service: RunningService
) -> None:
    cancel = threading.Event()

    def stop(_: object) -> None:
        cancel.set()

    context = {"cancel": cancel, "progress": stop}
    result = called(
        alice, "trigger-long-running-operation", context=context, duration=60, steps=600
    )
    assert isinstance(result, Failed)
    assert result.error.code == "cancelled"
    assert output_of(called(alice, "echo", message="after")) == "Echo: after"


def test_the_command_imports_a_server(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_mcp", f"npm:{EVERYTHING}", "--arg", "stdio", "--name", "demo", "--approve")
    assert "added     echo" in capsys.readouterr().out
    package = Package.objects.get(ecosystem="mcp", name="demo")
    assert package.review_status == "approved"


def test_a_server_that_does_not_start_without_a_key_says_which(alice: User) -> None:
    wants = {"package": f"{SCOPE}/mcp-network", "args": ["needs-key"]}
    job = imported(alice, **wants)
    assert job.error is not None
    assert job.error["code"] == "missing_credential"
    assert "looks for DEMO_API_KEY, which it was not given" in job.error["message"]

    credential_set(alice, name="DEMO_API_KEY", value="k-7654321")
    package = package_of(imported(alice, **wants, env=["DEMO_API_KEY"]))
    assert package.tools.get().export_name == "act"


# --- A server from PyPI


@pytest.fixture
def clock(alice: User) -> Package:
    """The time server, imported by Alice."""
    return package_of(imported(alice, "mcp-server-time", ecosystem="pypi"))


@pytest.mark.usefixtures("clock")
def test_a_server_of_a_python_package_answers(alice: User) -> None:
    result = called(
        alice,
        "convert_time",
        source_timezone="Europe/Berlin",
        time="12:30",
        target_timezone="Asia/Tokyo",
    )
    assert output_of(result)["target"]["datetime"].endswith("T20:30:00+09:00")


@pytest.mark.usefixtures("clock")
def test_a_python_server_says_what_is_wrong_with_its_arguments(alice: User) -> None:
    result = called(alice, "get_current_time", timezone="Nowhere/At_All")
    assert isinstance(result, Failed)
    assert result.error.code == "tool_failed"
    assert "Nowhere/At_All" in result.error.message
