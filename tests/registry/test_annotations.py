"""What is known of what a tool's calls do."""

import pytest

from registry.annotations import annotations_of
from registry.effects import annotations_now, tools_within
from registry.loading import load_spec
from registry.models import Tool
from tests import factories

pytestmark = pytest.mark.django_db


def words(tool: Tool) -> list[str]:
    return annotations_now(load_spec(tool)).words


def api_tool(method: str) -> Tool:
    definition = {"method": method, "url": "https://api.example.org/things"}
    return factories.make_tool(kind="api", package=None, definition=definition)


def mcp_tool(**hints: bool) -> Tool:
    return factories.make_tool(kind="mcp", ai_agent={"annotations": hints} if hints else {})


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("GET", ["read-only", "open world"]),
        ("HEAD", ["read-only", "open world"]),
        ("POST", ["writes", "open world"]),
        ("PUT", ["writes", "idempotent", "open world"]),
        ("PATCH", ["writes", "open world"]),
        ("DELETE", ["writes", "destructive", "idempotent", "open world"]),
    ],
)
def test_an_http_tool_does_what_its_method_says(method: str, told: list[str]) -> None:
    assert words(api_tool(method)) == told


@pytest.mark.parametrize(
    ("hints", "told"),
    [
        ({}, ["writes", "open world"]),
        ({"readOnlyHint": True}, ["read-only", "open world"]),
        ({"readOnlyHint": True, "destructiveHint": True}, ["read-only", "open world"]),
        ({"destructiveHint": True}, ["writes", "destructive", "open world"]),
        ({"idempotentHint": True, "openWorldHint": False}, ["writes", "idempotent"]),
    ],
)
def test_an_mcp_tool_does_what_its_server_declared(hints: dict[str, bool], told: list[str]) -> None:
    assert words(mcp_tool(**hints)) == told


def test_a_builtin_and_the_running_of_code_only_read() -> None:
    assert words(factories.make_builtin("calculator")) == ["read-only"]
    assert words(factories.make_run_code()) == ["read-only"]


def test_a_packages_tool_may_write_and_reaches_what_review_allows() -> None:
    closed = factories.make_tool()
    reaching = factories.make_tool(package=factories.make_package(allowed_hosts=["example.org"]))

    assert words(closed) == ["writes"]
    assert words(reaching) == ["writes", "open world"]
    assert annotations_of(load_spec(closed)).open_world  # where nobody said what it may reach


def test_a_sequence_does_all_that_its_steps_do(alice) -> None:
    def sequence(*tools: Tool) -> Tool:
        steps = [
            {"stepNumber": number, "toolToRunId": str(tool.pk), "inputMapping": {}}
            for number, tool in enumerate(tools, start=1)
        ]
        return factories.make_sequence(alice, definition={"format": 1, "steps": steps})

    calculator, deleting = factories.make_builtin("calculator"), api_tool("DELETE")
    inner = sequence(calculator, deleting)
    outer = sequence(calculator, inner)

    assert words(sequence(calculator, calculator)) == ["read-only"]
    assert words(outer) == ["writes", "destructive", "idempotent", "open world"]
    assert {spec.tool_id for spec in tools_within(load_spec(outer))} == {
        calculator.pk,
        deleting.pk,
        inner.pk,
    }


def test_a_step_whose_tool_is_gone_or_never_was_is_passed_over(alice) -> None:
    calculator = factories.make_builtin("calculator")
    steps = [
        {"stepNumber": 1, "toolToRunId": "nonsense", "inputMapping": {}},
        {"stepNumber": 2, "toolToRunId": str(calculator.pk), "toolVersion": 9, "inputMapping": {}},
        {"stepNumber": 3, "toolToRunId": str(calculator.pk), "inputMapping": {}},
    ]
    tool = factories.make_sequence(alice, definition={"format": 1, "steps": steps})

    assert [spec.wire_name for spec in tools_within(load_spec(tool))] == ["calculator"]
