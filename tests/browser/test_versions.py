"""A person reads what changed in a tool, goes back, pins it and deprecates it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils.timezone import localdate
from playwright.sync_api import Page, expect

from agents.models import Agent, AgentTool
from registry.api_tools import ApiFields, api_tool_save, new_api_tool
from registry.models import Tool
from tests import factories
from tests.factories import make_person

WEATHER = "Tells the temperatures of a city's next days. Use it for plans of up to a week."


def saved(tool: Tool, owner: User, *, reason: str = "", **changes: object) -> Tool:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city."},
            "unit": {"type": "string", "enum": ["C", "F", "K"], "default": "C"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    definition = {
        "url": "https://weather.example/v1/{{ args.city }}",
        "query": {"unit": "{{ args.unit }}", "days": "{{ args.days }}"},
    }
    values = {"description": WEATHER, "input_schema": schema, "definition": definition, **changes}
    fields = ApiFields(name="Forecast", visibility="private", reason=reason, **values)
    return api_tool_save(tool, author=owner, fields=fields)


def forecast(owner: User) -> Tool:
    tool = saved(new_api_tool(owner), owner)
    narrower = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city, in English."},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "F"},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
            "country": {"type": "string", "description": "Two letters, such as NO."},
        },
        "required": ["city", "country"],
        "additionalProperties": False,
    }
    definition = {
        "url": "https://weather.example/v2/{{ args.country }}/{{ args.city }}",
        "query": {"unit": "{{ args.unit }}", "days": "{{ args.days }}"},
        "auth": {"type": "bearer", "env": "WEATHER_KEY"},
        "response": {"path": "days"},
    }
    tool = saved(
        tool,
        owner,
        reason="The service moved to its second version",
        input_schema=narrower,
        definition=definition,
        description="Tells the temperatures of a city's next seven days, in one country.",
    )
    return saved(
        tool,
        owner,
        reason="Say when not to use it",
        input_schema=narrower,
        definition=definition,
        description="Tells the temperatures of a city's next seven days, in one country. "
        "Not for the sea.",
    )


def ada() -> User:
    return make_person("ada")


def test_a_person_reads_what_changed_and_goes_back(
    live: object,
    page: Page,
    sign_in: Callable[[str], None],
    shoot: Callable[[Page, str], None],
) -> None:
    tool = forecast(ada())
    sign_in("ada")

    page.goto(f"/tools/{tool.pk}/")
    page.get_by_role("link", name="All versions").click()
    expect(page.get_by_text("The service moved to its second version")).to_be_visible()
    shoot(page, "versions-history")
    page.get_by_label("Compare from version 1").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Version 1 to 3")).to_be_visible()
    expect(page.get_by_text("“country” is new and required (text).")).to_be_visible()
    expect(page.locator("ins", has_text="Not for the sea")).to_be_visible()
    shoot(page, "versions-diff")
    page.get_by_text("Input schema as JSON").click()
    shoot(page, "versions-diff-json")

    page.goto(f"/tools/{tool.pk}/versions/")
    page.get_by_role("link", name="Go back to version 1").click()
    page.get_by_label("Why").fill("The second version answers slowly")
    shoot(page, "versions-restore")
    page.get_by_role("button", name="Go back to version 1").click()
    expect(page.get_by_text("Back to version 1: The second version answers slowly")).to_be_visible()


def test_a_person_pins_a_tool_and_deprecates_it(
    live: object,
    page: Page,
    sign_in: Callable[[str], None],
    shoot: Callable[[Page, str], None],
) -> None:
    owner = ada()
    factories.make_builtin("calculator")
    tool = forecast(owner)
    agent = Agent.objects.create(owner=owner, slug="planner", name="Planner")
    AgentTool.objects.create(agent=agent, tool=tool)
    sign_in("ada")
    page.goto("/agents/planner/")
    page.get_by_role("link", name="Settings of forecast").click()
    shoot(page, "versions-pin")
    page.get_by_label("Version 2").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("pinned to v2, v3 is live:")).to_be_visible()
    shoot(page, "versions-agent")

    page.goto(f"/tools/{tool.pk}/")
    page.get_by_role("link", name="Deprecate").click()
    page.get_by_label("From").fill(str(localdate() + timedelta(days=30)))
    page.get_by_label("Use instead").fill("no_such_tool")
    page.get_by_role("button", name="Deprecate", exact=True).click()
    expect(page.get_by_text("There is no tool “no_such_tool”")).to_be_visible()
    shoot(page, "versions-deprecate")
    page.get_by_label("Use instead").fill("calculator")
    page.get_by_label("Note").fill("The service closes at the end of the year.")
    page.get_by_role("button", name="Deprecate", exact=True).click()
    expect(page.get_by_role("main").get_by_text("Deprecated from")).to_be_visible()
    shoot(page, "versions-deprecated")

    page.goto("/sequences/new")
    page.get_by_role("button", name="Start a blank sequence").click()
    page.get_by_label("Tool of step 1").fill("forecast")
    page.get_by_label("Tool of step 1").press("Tab")
    expect(page.get_by_text("use calculator instead").first).to_be_visible()
    page.locator(".step-options > summary").click()
    page.get_by_label("Tool version").select_option("2")
    expect(page.get_by_text("Pinned to version 2, 3 is live:")).to_be_visible()
    shoot(page, "versions-step")
