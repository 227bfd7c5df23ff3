"""A person sees whom a change touches, agrees to what it breaks, and is told of what is gone."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from registry.models import Proposal, Tool
from registry.services import tool_publish
from tests import factories
from tests.factories import make_person
from tests.registry.impact.workshop import (
    QUERY,
    SEARCH_INPUT,
    link,
    make_search,
    searching,
    sequence_of,
    step,
)

REQUIRING = """{
  "type": "object",
  "properties": {"text": {"type": "string"}, "language": {"type": "string"}},
  "required": ["text", "language"]
}"""


def test_whom_a_change_touches_is_shown_before_it_is_made(
    live: object, page: Page, sign_in: Callable[[str], None], shoot: Callable[[Page, str], None]
) -> None:
    ida = make_person("ida")
    search = _search_with_a_proposal(ida)
    weekly = searching(ida, search, title="Weekly digest", wire_name="weekly_digest")
    sequence_of(ida, step(weekly, inputs={"text": QUERY}), title="Newsletter")
    searching(ida, search, title="Old report", step={"toolVersion": 1})
    agent = factories.make_agent(ida, weekly, name="Reader", slug="impact-reader")
    link(agent, search, config={"limit": 20})
    link(factories.make_agent(ida, name="Archivist"), search, pinned_version=1)

    sign_in("ida")
    page.goto(f"/tools/{search.pk}/")
    page.get_by_role("link", name="Impact").click()
    expect(page.get_by_text("This breaks 1 agent and 2 sequences: “Weekly digest”")).to_be_visible()
    expect(page.get_by_role("cell", name="“search_the_web” needs “region”.")).to_be_visible()
    expect(page.get_by_text("Archivist pins search_the_web to version 1.")).to_be_visible()
    shoot(page, "impact-proposal")
    page.get_by_role("link", name="The tool goes").click()
    expect(page.get_by_text("This breaks 2 agents and 3 sequences")).to_be_visible()
    shoot(page, "impact-gone")

    page.goto(f"/sequences/{weekly.pk}/edit")
    page.get_by_label("Description").fill("Searches once a week.")
    page.locator("#schema-json").click()
    page.locator("#schema").fill(REQUIRING)
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("Not saved yet: This breaks 1 sequence: “Newsletter”.")).to_be_visible()
    expect(page.get_by_label("Description")).to_have_value("Searches once a week.")
    expect(page.get_by_role("checkbox", name="Save anyway")).to_be_focused()
    shoot(page, "impact-agree")
    page.get_by_role("checkbox", name="Save anyway").check()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("Weekly digest is saved as version 2.")).to_be_visible()

    page.get_by_role("link", name="Delete it: see first who uses it").click()
    expect(page.get_by_role("heading", name="Delete Weekly digest")).to_be_visible()
    shoot(page, "impact-delete")
    page.get_by_role("button", name="Delete Weekly digest anyway").click()
    expect(page.get_by_text("Weekly digest is deleted.")).to_be_visible()

    page.goto("/agents/impact-reader/")
    expect(page.get_by_text("weekly_digest was deleted")).to_be_visible()
    shoot(page, "impact-agent-lost")
    page.get_by_role("button", name="Unlink weekly_digest").click()
    expect(page.get_by_text("The tool is unlinked.")).to_be_visible()
    newsletter = Tool.objects.get(title="Newsletter", owner=ida)
    page.goto(f"/sequences/{newsletter.pk}/edit")
    expect(page.get_by_text("“weekly_digest” was deleted on")).to_be_visible()
    shoot(page, "impact-step-lost")


def test_a_tool_that_nothing_uses_says_so(
    live: object, page: Page, sign_in: Callable[[str], None], shoot: Callable[[Page, str], None]
) -> None:
    una = make_person("una")
    tool = make_search(wire_name="unused_search", owner=una)
    sign_in("una")
    page.goto(f"/tools/{tool.pk}/impact/")
    expect(page.get_by_text("Nothing uses this tool.")).to_be_visible()
    shoot(page, "impact-none")


def _search_with_a_proposal(owner: User) -> Tool:
    """Make an approved tool with a version 2 that waits for review and needs a region."""
    package = factories.make_package(added_by=owner)
    search = make_search(wire_name="search_the_web", title="Search the web", package=package)
    search.input_schema = {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "maximum": 10},
            "region": {"type": "string"},
        },
        "required": ["query", "region"],
        "additionalProperties": False,
    }
    tool_publish(search, author=None)
    live = {"version": 1, "input_schema": SEARCH_INPUT, "unreviewed_versions": [2]}
    Tool.objects.filter(pk=search.pk).update(**live)
    staged = [{"tool": str(search.pk), "export": search.export_name, "number": 2, "live": 1}]
    Proposal.objects.create(package=package, cause="import", digest="x", versions=staged)
    return search
