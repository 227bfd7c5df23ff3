"""An owner says which calls of an agent need a person, in a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from agents.approval_rules import rule_set
from agents.models import AgentTool
from tests.factories import make_agent, make_builtin, make_package, make_person, make_tool

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def admin(live: object) -> User:
    return make_person("admin", is_superuser=True, is_staff=True)


def test_rules_links_and_copies_of_an_agent(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    mail = make_package(name="@acme/mail", allowed_hosts=["mail.example.org"])
    send = make_tool(
        package=mail, export_name="send", wire_name="acme_mail-send", title="Send mail"
    )
    drop = make_tool(
        kind="mcp",
        wire_name="files-delete_everything_below_a_folder",
        title="Delete a folder",
        ai_agent={"annotations": {"destructiveHint": True}},
    )
    agent = make_agent(admin, make_builtin(), send, drop, name="Post room", slug="post-room")
    rule_set(agent, "@destructive", "deny")
    sign_in("admin")
    page.goto("/agents/post-room/")
    shoot(page, "agent-detail")
    page.get_by_role("link", name="Approvals").click()
    page.wait_for_url("**/approvals/")  # and its scripts: keys that are typed before are not heard
    page.get_by_label("Tools", exact=True).press_sequentially("npm:@acme/mail/*")
    expect(page.get_by_text("Catches 1 linked tool: acme_mail-send.")).to_be_visible()
    page.get_by_role("button", name="Add rule").click()
    expect(page.get_by_text("Asks first.")).to_be_visible()
    expect(page.get_by_text("Denied.")).to_be_visible()
    shoot(page, "agent-approvals")

    page.get_by_role("link", name="acme_mail-send").click()
    page.get_by_label("Name").fill("send mail")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("A name has 1 to 64 letters")).to_be_visible()
    shoot(page, "agent-link")
    page.get_by_label("Name").fill("send_mail")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("as send_mail")).to_be_visible()
    assert AgentTool.objects.get(tool=send).name_override == "send_mail"

    with page.expect_download() as download:
        page.get_by_label("More about this agent").click()
        page.get_by_role("link", name="Export").click()
    page.goto("/agents/import/")
    page.get_by_label("File").set_input_files(download.value.path())
    page.get_by_role("button", name="See what it comes to").click()
    expect(page.get_by_role("button", name="Create agent")).to_be_visible()
    shoot(page, "agent-import")
    page.get_by_role("button", name="Create agent").click()
    expect(page.get_by_text("Its credentials are not copied.")).to_be_visible()
    page.goto("/agents/new/")
    page.get_by_text("Advanced").click()
    shoot(page, "agent-form")
