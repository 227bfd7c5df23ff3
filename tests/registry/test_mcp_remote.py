"""MCP servers at an address, in both eras of the protocol."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.test import override_settings

from agents.credentials import env_of
from agents.services import credential_set
from config.lib.addresses import parse_allowed
from registry.context import CallContext
from registry.execution import invoke
from registry.importing.errors import PackageExists, PackageNotYours
from registry.importing.jobs import import_request, import_run
from registry.importing.variables import package_declare_env
from registry.loading import load_spec
from registry.models import ImportJob, Package, Tool
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from registry.results import Failed, Succeeded
from registry.review.deciding import proposal_approve
from registry.review.selectors import open_proposal_of
from registry.services import package_review, tool_publish
from tests.fakes.mcp_server import PIXEL, TOKEN, answering, running_app, running_mcp_server

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from registry.results import ToolResult
    from tests.fakes.mcp_server import McpServer

pytestmark = pytest.mark.django_db

MODERN, LEGACY = "2026-07-28", "2025-11-25"


@pytest.fixture(autouse=True)
def _loopback_allowed() -> Iterator[None]:
    with override_settings(OUTBOUND_ALLOW=parse_allowed("127.0.0.1")):
        yield


@pytest.fixture(scope="module")
def modern() -> Iterator[McpServer]:
    with running_mcp_server() as server:
        yield server


@pytest.fixture(scope="module")
def legacy() -> Iterator[McpServer]:
    with running_mcp_server(era="legacy") as server:
        yield server


@pytest.fixture(params=["modern", "legacy"])
def server(request: pytest.FixtureRequest) -> McpServer:
    """Each test that asks for it runs in both eras."""
    found: McpServer = request.getfixturevalue(request.param)
    found.asked.clear()
    found.cut_off.clear()
    return found


def imported(user: User, url: str, **settings: Any) -> ImportJob:
    settings = {"transport": "http", "url": url, **settings}
    job = import_request(ecosystem="mcp", name="sample", settings=settings, user=user, queued=False)
    import_run(job.pk)
    job.refresh_from_db()
    return job


def package_of(user: User, url: str, **settings: Any) -> Package:
    job = imported(user, url, **settings)
    assert job.error is None, job.error
    assert job.package is not None
    return job.package


def called(
    user: User, name: str, /, *, context: dict[str, Any] | None = None, **arguments: Any
) -> ToolResult:
    tool = Tool.objects.get(export_name=name)
    given = CallContext(user=user, caller=Caller.BROWSER, **(context or {}))
    return invoke(load_spec(tool), arguments, given)


def test_an_import_reads_the_tools_and_remembers_the_era(alice: User, server: McpServer) -> None:
    package = package_of(alice, server.url)
    era = LEGACY if "initialize" in server.asked else MODERN
    assert package.settings == {"transport": "http", "url": server.url, "protocol": era}
    assert (package.version, package.review_status, package.findings) == ("1.2.3", "candidate", [])
    assert package.manifest["instructions"] == "Use it with care."
    tool = Tool.objects.get(export_name="add")
    assert (tool.kind, tool.title, tool.wire_name[-4:]) == ("mcp", "Add two numbers", "-add")
    assert tool.input_schema["required"] == ["a", "b"]
    assert tool.output_schema is not None
    assert tool.ai_agent == {"annotations": {"readOnlyHint": True}}
    assert "delete" in Tool.objects.get(export_name="mixed").ai_agent["limitations"]


def test_a_call_speaks_the_era_that_the_import_found(alice: User, server: McpServer) -> None:
    package = package_of(alice, server.url)
    server.asked.clear()
    result = called(alice, "add", a=1, b=2)
    assert isinstance(result, Succeeded), result
    assert result.output == {"result": 3}
    assert result.details == {"content": [{"type": "text", "text": "3"}]}
    once = ["tools/call"]
    greeting = ["initialize", "notifications/initialized"]
    assert server.asked == (once if package.settings["protocol"] == MODERN else greeting + once)


def test_an_answer_that_is_one_text_is_that_text(alice: User, server: McpServer) -> None:
    package_of(alice, server.url)
    result = called(alice, "say", text='{"not": "parsed"}')
    assert isinstance(result, Succeeded), result
    assert result.output == '{"not": "parsed"}'


def test_every_kind_of_content_comes_through_as_it_was_sent(alice: User, server: McpServer) -> None:
    package_of(alice, server.url)
    result = called(alice, "mixed")
    assert isinstance(result, Succeeded), result
    assert result.output == {
        "content": [
            {"type": "text", "text": "All of it"},
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            {
                "type": "resource",
                "resource": {"uri": "sample://blob", "mimeType": "text/plain", "blob": "aGk="},
            },
            {"type": "resource_link", "name": "more", "uri": "sample://more"},
        ],
        "isError": False,
    }


def test_an_answer_that_says_it_failed_is_a_failure(alice: User, server: McpServer) -> None:
    package_of(alice, server.url)
    result = called(alice, "fail")
    assert isinstance(result, Failed)
    assert (result.error.code, result.error.message) == (
        "tool_failed",
        "The printer is out of paper.",
    )
    assert result.details == {"content": [{"type": "text", "text": "The printer is out of paper."}]}


def test_progress_and_logs_are_passed_on(alice: User, server: McpServer) -> None:
    package_of(alice, server.url)
    notes: list[Any] = []
    result = called(alice, "slow", context={"progress": notes.append})
    assert isinstance(result, Succeeded), result
    assert notes == [
        {"message": f"Step {step}", "progress": float(step), "total": 3.0} for step in (1, 2, 3)
    ]
    assert result.details == {"logs": [{"level": "info", "text": "nearly there"}]}


def test_a_tool_that_never_answers_is_given_up_in_time(alice: User, server: McpServer) -> None:
    package_of(alice, server.url)
    tool = Tool.objects.get(export_name="hang")
    tool.timeout_seconds = 1
    tool_publish(tool, author=alice)
    result = called(alice, "hang")
    assert isinstance(result, Failed)
    assert (result.error.code, result.error.message) == (
        "tool_timeout",
        "sample did not answer within 1 seconds.",
    )


def test_a_call_that_is_cancelled_ends_at_the_server_too(alice: User, server: McpServer) -> None:
    package_of(alice, server.url)
    cancel = threading.Event()
    asked = threading.Thread(target=_cancel_when_asked, args=(server, cancel))
    asked.start()
    result = called(alice, "hang", context={"cancel": cancel})
    asked.join()
    assert isinstance(result, Failed)
    assert result.error.code == "cancelled"
    if server.versions == {
        MODERN
    }:  # before it, only a message could say so, and none is waited for
        assert server.cut_off.wait(60)


def _cancel_when_asked(server: McpServer, cancel: threading.Event) -> None:
    while "tools/call" not in server.asked:
        cancel.wait(0.01)
    cancel.set()


def test_a_second_import_updates_what_changed_and_takes_out_what_is_gone(
    alice: User, modern: McpServer
) -> None:
    package = package_of(alice, modern.url)
    Tool.objects.filter(export_name="add").update(description="An older text.")
    other = Tool.objects.get(export_name="say")
    Tool.objects.filter(pk=other.pk).update(export_name="retired", wire_name="retired")
    job = import_request(ecosystem="mcp", name="sample", user=alice, queued=False)
    import_run(job.pk)
    job.refresh_from_db()
    status = {entry["export"]: entry["status"] for entry in job.report}
    assert status["retired"] == "removed"
    assert status["say"] == "added"
    assert status["mixed"] == "unchanged"
    assert Tool.objects.get(export_name="add").description.startswith("Add two whole numbers")
    assert Package.objects.get().pk == package.pk


@pytest.mark.parametrize("changed", ["variables", "words"])
def test_an_approved_server_that_reads_or_says_something_else_is_reviewed_anew(
    alice: User, governor: User, modern: McpServer, changed: str
) -> None:
    package_review(package_of(alice, modern.url), status=ReviewStatus.APPROVED)
    assert package_of(alice, modern.url).review_status == ReviewStatus.APPROVED
    if changed == "words":  # as if the server had said so when it was approved
        add = Tool.objects.get(export_name="add")
        add.description = "Adds."
        tool_publish(add, author=None)

    package = package_of(
        alice, modern.url, **({"env": ["PAYROLL_KEY"]} if changed != "words" else {})
    )

    assert (package.review_status, package.env) == (ReviewStatus.APPROVED, [])
    proposal = open_proposal_of(package)
    assert proposal is not None
    add = Tool.objects.get(export_name="add")
    if changed == "words":
        assert [entry["export"] for entry in proposal.versions] == ["add"]
        assert add.description == "Adds."
    else:
        assert [item["name"] for item in proposal.after["env"]] == ["PAYROLL_KEY"]
    accept = [finding["code"] for finding in proposal.findings]
    proposal_approve(proposal, by=governor, reason="", accept=accept)
    add.refresh_from_db()
    assert add.description.startswith("Add two whole numbers")


def test_a_server_may_be_imported_anew_after_it_was_let_read_a_variable(
    alice: User, modern: McpServer
) -> None:
    package_declare_env(package_of(alice, modern.url), [{"name": "EXTRA"}], user=alice)
    job = import_request(ecosystem="mcp", name="sample", user=alice, queued=False)
    import_run(job.pk)
    job.refresh_from_db()
    assert job.error is None, job.error
    assert job.package is not None
    assert [variable["name"] for variable in job.package.env] == ["EXTRA"]


def test_a_reviewer_or_an_operator_who_imports_a_strangers_server_lends_it_no_key(
    alice: User, governor: User, closed: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential_set(alice, name="SAMPLE_TOKEN", value=TOKEN)
    package = package_of(alice, closed.url, **BEARER)
    credential_set(governor, name="SAMPLE_TOKEN", value=TOKEN)
    monkeypatch.setenv("SAMPLE_TOKEN", TOKEN)

    def error_of(user: User | None) -> Any:
        job = import_request(ecosystem="mcp", name="sample", user=user, queued=False)
        import_run(job.pk)
        job.refresh_from_db()
        return job.error

    assert [error_of(user)["code"] for user in (governor, None)] == ["missing_credential"] * 2
    package_review(package, status=ReviewStatus.APPROVED)
    assert [error_of(user) for user in (governor, None)] == [None, None]


def test_another_server_does_not_take_over_a_name(alice: User, modern: McpServer) -> None:
    package_of(alice, modern.url)
    with pytest.raises(PackageExists, match="called sample already"):
        imported(alice, "https://elsewhere.example/mcp")


def test_only_who_added_a_server_imports_it_anew(alice: User, bob: User, modern: McpServer) -> None:
    package_of(alice, modern.url)
    with pytest.raises(PackageNotYours):
        imported(bob, modern.url)


# --- Signing in


@pytest.fixture(scope="module")
def closed() -> Iterator[McpServer]:
    with running_mcp_server(token=TOKEN) as server:
        yield server


BEARER = {"auth": {"type": "bearer", "env": "SAMPLE_TOKEN"}}


def test_a_sign_in_is_read_from_the_callers_own_credential(alice: User, closed: McpServer) -> None:
    credential_set(alice, name="SAMPLE_TOKEN", value=TOKEN)
    package = package_of(alice, closed.url, **BEARER)
    assert [variable["name"] for variable in package.env] == ["SAMPLE_TOKEN"]
    env = env_of(alice, None)
    result = called(alice, "say", context={"env": env}, text=f"the token is {TOKEN}")
    assert isinstance(result, Succeeded), result
    assert result.output == "the token is ••••••"
    assert TOKEN not in str(Package.objects.values()) + str(ImportJob.objects.values())


def test_a_header_of_ones_own_signs_in_too(alice: User) -> None:
    credential_set(alice, name="KEY", value=TOKEN)
    auth = {"type": "header", "name": "X-API-Key", "env": "KEY"}
    with running_mcp_server(token=TOKEN, header="x-api-key") as server:
        package_of(alice, server.url, auth=auth)


def test_a_missing_credential_is_named_before_anything_is_sent(
    alice: User, closed: McpServer
) -> None:
    job = imported(alice, closed.url, **BEARER)
    assert job.error is not None
    assert job.error["code"] == "missing_credential"
    assert job.error["extra"]["missing"] == ["SAMPLE_TOKEN"]


def test_a_refused_sign_in_is_told_as_such(alice: User, closed: McpServer) -> None:
    credential_set(alice, name="SAMPLE_TOKEN", value="wrong-token")
    job = imported(alice, closed.url, **BEARER)
    assert job.error is not None
    assert job.error["code"] == "upstream_auth"
    assert "401" in job.error["message"]
    assert "the scope tools:run" in job.error["message"]
    assert "wrong-token" not in str(job.error)


def test_a_credential_that_is_no_header_is_not_sent(alice: User, closed: McpServer) -> None:
    credential_set(alice, name="SAMPLE_TOKEN", value="two\nlines")
    job = imported(alice, closed.url, **BEARER)
    assert job.error is not None
    assert job.error["code"] == "upstream_auth"
    assert "SAMPLE_TOKEN cannot be sent in a header" in job.error["message"]


# --- Servers that are not what they should be


def test_a_server_that_is_not_there_is_unreachable(alice: User) -> None:
    job = imported(alice, "http://127.0.0.1:9/mcp")
    assert job.error is not None
    assert job.error["code"] == "upstream_unreachable"


@pytest.mark.parametrize("url", ["http://169.254.169.254/mcp", "http://[::1]:1/mcp"])
def test_a_private_address_is_refused(alice: User, url: str) -> None:
    job = imported(alice, url)
    assert job.error is not None
    assert job.error["code"] == "host_refused"


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_to_another_host_is_not_followed(alice: User, status: int) -> None:
    away = answering(status, location="http://169.254.169.254/latest/meta-data")
    with running_app(away) as url:
        job = imported(alice, url)
    assert job.error is not None
    assert job.error["code"] == "upstream_error"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (403, "upstream_auth"),
        (404, "upstream_error"),
        (429, "upstream_rate_limited"),
        (500, "upstream_error"),
        (503, "upstream_unreachable"),
    ],
)
def test_a_refusal_is_told_by_its_kind(alice: User, status: int, code: str) -> None:
    with running_app(answering(status)) as url:
        job = imported(alice, url)
    assert job.error is not None
    assert job.error["code"] == code, job.error


def test_a_page_that_is_no_mcp_server_is_told_as_such(alice: User) -> None:
    with running_app(answering(200, b"<p>Hello</p>", content_type="text/html")) as url:
        job = imported(alice, url)
    assert job.error is not None
    assert job.error["code"] == "upstream_error", job.error


def test_json_that_is_no_answer_is_told_as_such(alice: User) -> None:
    with running_app(answering(200, b'{"hello": 1}', content_type="application/json")) as url:
        job = imported(alice, url)
    assert job.error is not None
    assert job.error["code"] == "upstream_error"
    assert job.error["message"].endswith("what it sends cannot be read.")


def test_an_endless_answer_is_cut_off(alice: User) -> None:
    body = b"data: " + b"x" * (9 << 20)
    with running_app(answering(200, body, content_type="text/event-stream")) as url:
        job = imported(alice, url)
    assert job.error is not None
    assert job.error["code"] in {"response_too_large", "upstream_unreachable"}, job.error
