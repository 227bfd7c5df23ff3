"""A check tries the tools whose manifest gives arguments for it, when that is safe."""

import pytest

from registry.errors import (
    MissingCredential,
    NetworkDenied,
    SandboxBusy,
    ToolFailed,
    ToolTimeout,
    UpstreamUnreachable,
)
from registry.importing import checks, declared_checks
from registry.importing.health_check import package_check
from registry.importing.npm import npm_import
from registry.importing.schedule import schedule_of
from registry.models import Tool
from registry.models.health import HealthState
from registry.models.package import ReviewStatus
from registry.models.tool import ExecutionHealth
from registry.services import package_allow_hosts, package_review
from tests.factories import make_package, make_tool
from tests.registry.publishing import SCOPE, running_registry
from tests.registry.sandbox.service import open_folder, running_service

pytestmark = pytest.mark.django_db

ANSWERS = {"testParams": {"text": "x"}}


class Calls:
    """Stands in for the sandbox: keeps what it was asked, ends as the test says."""

    def __init__(self):
        self.asked, self.ending = [], None

    def call(self, **asked):
        self.asked.append(asked)
        if self.ending is not None:
            raise self.ending


@pytest.fixture
def calls(monkeypatch):
    stand_in = Calls()
    monkeypatch.setattr(declared_checks, "sandbox", lambda: stand_in)
    monkeypatch.setitem(checks.CHECKS, "npm", lambda package, tools: {})
    return stand_in


def declaring(health_check, tool_fields=None, **fields):
    """Make a tool whose manifest says how it is tried."""
    declared = {"name": "shout", "healthCheck": health_check}
    package = make_package(artifact="a", manifest={"tpmjs": {"tools": [declared]}}, **fields)
    return make_tool(package=package, export_name="shout", **(tool_fields or {}))


def checked(tool):
    check = package_check(tool.package)
    tool.refresh_from_db()
    return check


def test_a_tool_is_called_with_its_declared_arguments_and_without_any_variable(calls):
    tool = declaring({"testParams": {"text": "at {{timestamp}}"}})

    assert checked(tool).healthy == ("shout",)

    (asked,) = calls.asked
    text = asked["arguments"]["text"]
    assert text.removeprefix("at ").isdigit()
    assert (asked["export"], asked["env"], asked["network"]) == ("shout", {}, [])
    assert asked["timeout_seconds"] <= declared_checks.CALL_SECONDS
    assert tool.execution_health == ExecutionHealth.HEALTHY


def test_it_may_reach_only_the_hosts_that_a_reviewer_allowed(calls, admin_user):
    tool = declaring(ANSWERS)
    package_allow_hosts(tool.package, ["api.example.com"], by=admin_user, reason="")

    checked(tool)

    assert calls.asked[0]["network"] == ["api.example.com"]


@pytest.mark.parametrize(
    ("health_check", "fields"),
    [
        (None, {}),
        (False, {}),
        ({"skipExecution": True}, {}),
        ({"skipExecution": True, **ANSWERS}, {}),
        ({"cleanup": [{"tool": "delete"}], **ANSWERS}, {}),
        ({"testParams": {"text": 5}}, {}),
        ({"testParams": {}}, {}),
        (ANSWERS, {"review_status": ReviewStatus.CANDIDATE}),
        (ANSWERS, {"env": [{"name": "KEY", "required": True}]}),
    ],
)
def test_what_is_not_safe_to_call_is_only_looked_at(calls, health_check, fields):
    tool = declaring(health_check, **fields)

    assert checked(tool).healthy == ("shout",)

    assert calls.asked == []
    assert tool.execution_health == ExecutionHealth.UNKNOWN


def test_a_stopped_tool_is_not_called(calls):
    tool = declaring(ANSWERS, {"review_status": ReviewStatus.QUARANTINED})

    checked(tool)

    assert calls.asked == []


def test_an_optional_variable_does_not_keep_it_from_being_called(calls):
    tool = declaring(ANSWERS, env=[{"name": "KEY", "required": False}])

    checked(tool)

    assert len(calls.asked) == 1


def test_a_bound_tool_is_called_by_its_export(calls):
    declared = {"name": "recipeHash", "healthCheck": ANSWERS}
    package = make_package(
        artifact="a",
        manifest={"tpmjs": {"tools": [declared]}},
        settings={"bindings": {"recipeHash": "recipeHashTool"}},
    )
    checked(make_tool(package=package, export_name="recipeHashTool"))

    assert calls.asked[0]["export"] == "recipeHashTool"


@pytest.mark.parametrize("error", [ToolFailed("It threw."), ToolTimeout("Too slow.")])
def test_a_failure_breaks_the_tool_and_an_answer_heals_it(calls, error):
    tool = declaring(ANSWERS)
    calls.ending = error

    assert checked(tool).broken == {
        "shout": f"With the arguments of its own health check it failed: {error.message}"
    }
    assert tool.health_state == HealthState.EXECUTION_BROKEN
    assert tool.health_error["code"] == "health_check_failed"
    assert tool.health_error["extra"]["cause"] == error.code
    assert "tried again soon" in tool.health_error["hint"]
    assert schedule_of(tool.package).failures == 1

    calls.ending = None
    assert checked(tool).healthy == ("shout",)
    assert (tool.health_state, tool.health_error) == (HealthState.HEALTHY, None)


def test_a_service_that_is_down_is_told_as_that(calls):
    tool = declaring(ANSWERS)
    calls.ending = UpstreamUnreachable("No answer.")

    checked(tool)

    assert tool.health_state == HealthState.UPSTREAM_DOWN


@pytest.mark.parametrize(
    "error",
    [
        NetworkDenied("No way."),
        MissingCredential("No key."),
        ToolFailed("No key.", missing_env=["KEY"]),
        SandboxBusy("Later."),
    ],
)
def test_what_is_no_fault_of_the_tool_is_not_held_against_it(calls, error):
    tool = declaring(ANSWERS)
    calls.ending = error

    assert checked(tool).healthy == ("shout",)
    assert tool.execution_health == ExecutionHealth.UNKNOWN


def test_a_package_of_many_tools_is_tried_in_part(calls):
    names = [f"tool{number}" for number in range(30)]
    tools = [{"name": name, "healthCheck": ANSWERS} for name in names]
    package = make_package(artifact="a", manifest={"tpmjs": {"tools": tools}})
    for name in names:
        make_tool(package=package, export_name=name, wire_name=f"many_{name}")

    package_check(package)

    assert len(calls.asked) == declared_checks.MOST_CALLS


@pytest.mark.sandbox
def test_a_real_package_is_tried_in_the_sandbox(alice):
    code = """
    export const well = tool("Well");
    const throws = ({ text }) => { throw new Error(`no ${text}`); };
    export const ill = { ...tool("Ill"), execute: throws };
    export const quiet = { ...tool("Quiet"), execute: throws };
    """
    declared = [
        {"name": "well", "description": "Repeats.", "healthCheck": ANSWERS},
        {"name": "ill", "description": "Throws.", "healthCheck": ANSWERS},
        {"name": "quiet", "description": "Throws.", "healthCheck": {"skipExecution": True}},
    ]
    with running_registry() as (registry, address), open_folder() as folder:
        (folder / "npmrc").write_text(f"{SCOPE}:registry={address}\n")
        name = registry.publish("tried", "1.0.0", code, tpmjs={"tools": declared})
        settings = {"NPM_CONFIG_USERCONFIG": str(folder / "npmrc")}
        with running_service(settings) as service, pytest.MonkeyPatch.context() as patch:
            patch.setenv("SANDBOX_SOCKET", str(service.folder / "sandboxd.sock"))
            package = npm_import(name=name, version="", user=alice, stage=str).package
            assert len(package_check(package).healthy) == 3
            package_review(package, status=ReviewStatus.APPROVED)
            check = package_check(package)

    states = dict(
        Tool.objects.filter(package=package).values_list("export_name", "execution_health")
    )
    assert states == {"well": "healthy", "ill": "broken", "quiet": "unknown"}
    assert set(check.broken) == {"ill"}
    assert "no x" in check.broken["ill"]
