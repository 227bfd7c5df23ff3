"""A governor limits and stops a tool while it runs; its caller and its agent's owner read why."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from registry.sandbox.client import sandbox
from tests.factories import make_agent, make_builtin, make_package, make_person, make_tool
from tests.live import eventually

pytestmark = pytest.mark.sandbox


def make_admin() -> User:
    """Make a governor."""
    return make_person("admin", is_superuser=True, is_staff=True)


def test_a_governor_limits_and_stops_what_runs(
    live: object,
    page: Page,
    sign_in: Callable[[str], None],
    shoot: Callable[[Page, str], None],
) -> None:
    admin = make_admin()
    built = sandbox().build(ecosystem="npm", name="@outfitter-test/remembers")
    package = make_package(name=built.name, version=built.version, artifact=built.artifact)
    schema = {"type": "object", "properties": {"ms": {"type": "integer"}}, "required": ["ms"]}
    tool = make_tool(
        package=package,
        export_name="sleeps",
        wire_name="sleeps",
        title="Sleeps",
        description="Does nothing for as many milliseconds as it is told.",
        input_schema=schema,
        timeout_seconds=300,
    )
    agent = make_agent(admin, tool, make_builtin("calculator"), name="Helper", slug="helper")
    sign_in("admin")

    # limits
    page.goto(f"/tools/{tool.pk}/")
    limits = page.get_by_role("region", name="Limits")
    expect(limits).to_contain_text("600 a minute for each caller; 600 left for you now")
    limits.get_by_role("link", name="Change limits").click()
    page.get_by_label("Scopes it requires").fill("Sleep")
    page.get_by_label("Calls a minute, for each caller").fill("2")
    page.get_by_label("Cost of a call, in US dollars").fill("0.0025")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("“Sleep” is no scope")).to_be_visible()
    expect(page.get_by_text("Say in a few words why.")).to_be_visible()
    shoot(page, "governance-wrong")
    page.get_by_label("Scopes it requires").fill("sleep:long")
    page.get_by_label("Reason").fill("It costs money.")
    page.get_by_role("button", name="Save").click()
    expect(limits).to_contain_text("2 a minute for each caller; 2 left for you now")
    expect(limits).to_contain_text("$0.0025 a call")
    shoot(page, "tool-limits")

    # the agent lacks the scope
    page.goto(f"/agents/{agent.slug}/")
    expect(page.get_by_text("It cannot call sleeps: it lacks")).to_be_visible()
    shoot(page, "agent-lacks-scope")
    page.get_by_role("button", name="Grant the scopes of sleeps").click()
    expect(page.get_by_text("Helper is granted sleep:long.")).to_be_visible()
    expect(page.get_by_text("it lacks")).not_to_be_visible()

    # stopped while it runs
    page.goto(f"/tools/{tool.pk}/")
    page.get_by_label("ms").fill("250000")
    page.get_by_role("button", name=re.compile("^(Run|Call|Try)")).click()
    eventually(lambda: sandbox().status()["running"], what="the call")
    other = page.context.new_page()
    other.goto(f"/tools/{tool.pk}/stop/")
    shoot(other, "tool-stop")
    other.get_by_label("Reason").fill("It sleeps on the job.")
    other.get_by_role("button", name="Stop now").click()
    expect(other.get_by_text("This tool is stopped by admin")).to_be_visible()
    shoot(other, "tool-stopped")
    error = page.get_by_role("region", name="Error")
    expect(error).to_contain_text("sleeps was stopped while this call ran: It sleeps on the job.")
    shoot(page, "tool-stopped-while-running")


def test_a_governor_stops_a_package_and_lets_it_run_again(
    live: object,
    page: Page,
    sign_in: Callable[[str], None],
    shoot: Callable[[Page, str], None],
) -> None:
    make_admin()
    package = make_package(name="@acme/mail")
    make_tool(package=package)
    sign_in("admin")
    page.goto(f"/packages/{package.pk}/")
    page.get_by_role("main").get_by_role("link", name="Stop").click()
    page.get_by_label("Reason").fill("All of it sleeps.")
    page.get_by_role("button", name="Stop now").click()
    expect(page.get_by_text("This package is stopped by admin")).to_be_visible()
    shoot(page, "package-stopped")
    page.get_by_role("link", name="Resume").click()
    expect(page.get_by_role("heading", name=f"Resume {package.name}")).to_be_visible()
    shoot(page, "package-resume")
    page.get_by_label("Reason").fill("Mended.")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("runs again.")).to_be_visible()
