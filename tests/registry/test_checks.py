"""Looks at the tools of each kind of package, without calling them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from agents.models import Credential
from agents.services import credential_set
from config.lib.addresses import parse_allowed
from registry.importing.health_check import package_check
from registry.importing.jobs import import_request, import_run
from registry.importing.schedule import can_check, schedule_of
from registry.importing.variables import package_declare_env
from registry.models import Package, Tool
from registry.models.health import HealthState
from registry.models.tool import ExecutionHealth, Health
from tests.fakes.mcp_server import TOKEN, answering, running_app, running_mcp_server

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from tests.fakes.mcp_server import McpServer
    from tests.registry.sandbox.service import RunningService

pytestmark = pytest.mark.django_db
SIGNED_IN = {"auth": {"type": "bearer", "env": "SAMPLE_TOKEN"}}


@pytest.fixture(autouse=True)
def _loopback_allowed() -> Iterator[None]:
    with override_settings(OUTBOUND_ALLOW=parse_allowed("127.0.0.1")):
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[McpServer]:
    with running_mcp_server() as found:
        yield found


@pytest.fixture(scope="module")
def locked() -> Iterator[McpServer]:
    """A server that wants a key."""
    with running_mcp_server(token=TOKEN) as found:
        yield found


def brought(ecosystem: str, name: str, user: User, settings: Any = None) -> Package:
    job = import_request(ecosystem=ecosystem, name=name, settings=settings, user=user, queued=False)
    import_run(job.pk)
    job.refresh_from_db()
    assert job.error is None, job.error
    assert job.package is not None
    return job.package


def remote(user: User, url: str, **settings: Any) -> Package:
    return brought("mcp", "sample", user, {"transport": "http", "url": url, **settings})


def moved(package: Package, url: str) -> Package:
    package.settings = {**package.settings, "url": url}
    package.save()
    return package


def states(package: Package) -> dict[str, str]:
    return {tool.export_name: tool.health_state for tool in Tool.objects.filter(package=package)}


def test_a_server_that_lists_its_tools_is_well(alice: User, server: McpServer) -> None:
    package = remote(alice, server.url)
    package.tools.update(execution_health=ExecutionHealth.UPSTREAM_DOWN)

    check = package_check(package)

    assert "add" in check.healthy
    assert not check.broken
    assert set(states(package).values()) == {HealthState.HEALTHY}
    assert can_check(package)


def test_a_tool_that_a_server_no_longer_lists_is_broken(alice: User, server: McpServer) -> None:
    package = remote(alice, server.url)
    package.tools.filter(export_name="add").update(export_name="gone")

    assert package_check(package).broken == {"gone": "sample no longer has the tool “gone”."}
    assert states(package)["gone"] == HealthState.IMPORT_BROKEN
    assert states(package)["say"] == HealthState.HEALTHY


def test_a_server_that_does_not_answer_is_down_and_heals(alice: User, server: McpServer) -> None:
    package = moved(remote(alice, server.url), "http://127.0.0.1:9/mcp")

    package_check(package)
    assert set(states(package).values()) == {HealthState.UPSTREAM_DOWN}

    package_check(moved(package, server.url))
    assert set(states(package).values()) == {HealthState.HEALTHY}


def test_a_server_that_wants_a_sign_in_nobody_told_of_needs_one(
    alice: User, server: McpServer, locked: McpServer
) -> None:
    package = moved(remote(alice, server.url), locked.url)
    package_check(package)
    assert set(states(package).values()) == {HealthState.NEEDS_SIGN_IN}


def test_one_persons_missing_or_refused_key_says_nothing_of_the_tools(
    alice: User, locked: McpServer
) -> None:
    credential_set(alice, name="SAMPLE_TOKEN", value=TOKEN)
    package = remote(alice, locked.url, **SIGNED_IN)
    assert package_check(package).healthy

    credential_set(alice, name="SAMPLE_TOKEN", value="another")
    assert package_check(package).untold == "sample refused the key of whoever added it."
    Credential.objects.all().delete()
    assert package_check(package).untold == "Whoever added sample has not set SAMPLE_TOKEN."

    assert set(states(package).values()) == {HealthState.HEALTHY}
    plan = schedule_of(package)
    assert (plan.error or {})["code"] == "nothing_told"
    assert plan.failures == 0


def test_a_server_that_may_read_one_more_variable_is_asked_as_before(
    alice: User, server: McpServer
) -> None:
    package = remote(alice, server.url)
    package_declare_env(package, [{"name": "EXTRA_KEY", "required": False}], user=alice)
    package.refresh_from_db()
    assert package_check(package).healthy
    again = import_request(ecosystem="mcp", name="sample", user=alice, queued=False)
    assert [item["name"] for item in again.settings["env"]] == ["EXTRA_KEY"]


def test_an_address_that_is_no_server_any_more_breaks_its_tools(
    alice: User, server: McpServer
) -> None:
    with running_app(answering(404)) as url:
        package = moved(remote(alice, server.url), url)
        assert "404" in package_check(package).broken["add"]


def test_the_command_looks_at_one_kind_alone(
    alice: User, server: McpServer, capsys: pytest.CaptureFixture[str]
) -> None:
    package = remote(alice, server.url)
    call_command("check_tool_health", kind="mcp")
    assert f"{package}: 6 tools load" in capsys.readouterr().out
    call_command("check_tool_health", kind="pypi")
    assert "0 packages" in capsys.readouterr().out
    moved(package, "http://127.0.0.1:9/mcp")
    with pytest.raises(CommandError, match="6 tools are broken"):
        call_command("check_tool_health", kind="mcp")


def test_the_button_is_there_for_every_kind(
    alice: User, server: McpServer, client_for: Any
) -> None:
    package = remote(alice, server.url)
    page = client_for(alice).get(f"/packages/{package.pk}/").content.decode()
    assert "Check again" in page


@pytest.mark.sandbox
def test_a_python_module_is_asked_again_under_its_settings(
    sandbox_service: RunningService, governor: User
) -> None:
    package = brought("local", "kit", governor, {"tool_config": {"api_key": "${KIT_KEY}"}})
    package.tools.update(import_health=Health.BROKEN)
    assert set(package_check(package).healthy) == {"keyed", "write_report"}
    assert set(states(package).values()) == {HealthState.HEALTHY}

    package.settings = {}
    package.save()
    broken = package_check(package).broken
    assert list(broken) == ["keyed"]
    assert "does not offer itself with the present settings" in broken["keyed"]
    assert states(package)["keyed"] == HealthState.IMPORT_BROKEN


@pytest.mark.sandbox
def test_a_server_in_a_package_is_started_and_asked(
    sandbox_service: RunningService, governor: User
) -> None:
    settings = {"transport": "stdio", "ecosystem": "pypi", "package": "mcp-server-time"}
    package = brought("mcp", "mcp-server-time", governor, settings)
    package.tools.filter(export_name="convert_time").update(
        execution_health=ExecutionHealth.UPSTREAM_DOWN
    )

    assert package_check(package).healthy

    # That it starts does not show that a service behind its tool is there again.
    assert states(package)["convert_time"] == HealthState.UPSTREAM_DOWN
