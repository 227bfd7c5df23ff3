"""The pages of use with a month of calls, in a browser: plots, tables, times, CSV."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from agents.models import ModelUsage
from registry.models import HealthChange
from registry.usage.rolling import usage_roll_up
from tests.factories import make_agent, make_package, make_person, make_tool
from tests.registry.usage.calls import record

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def admin(live: object) -> User:
    return make_person("admin", is_superuser=True, is_staff=True)


def seed(admin: User) -> tuple:
    """Make an agent with a month of use, told by a fixed dice."""
    dice = random.Random(7)
    package = make_package(name="@acme/weather", added_by=admin)
    names = ("weather_forecast", "convert_currency", "page_to_markdown", "geocode_address")
    tools = [
        make_tool(wire_name=name, title=name.replace("_", " "), package=package) for name in names
    ]
    spare = make_tool(wire_name="translate_text")
    agent = make_agent(admin, *tools, spare, name="Travel desk", slug="travel-desk")
    people = [admin, *(User.objects.create(username=f"person{number}") for number in range(6))]
    now = timezone.now()
    for day in range(30):
        for place, tool in enumerate(tools):
            at = now - timedelta(days=day, minutes=dice.randrange(60))
            busy = dice.randrange(4, 30) // (place + 1) + 1
            for _ in range(busy):
                code = dice.choices(
                    ("", "tool_failed", "tool_timeout", "permission_refused"), (88, 6, 3, 3)
                )[0]
                record(
                    tool,
                    at=at,
                    user=dice.choice(people),
                    agent_id=agent.pk,
                    caller="chat",
                    error_code=code,
                    phase="permission" if code == "permission_refused" else "execute",
                    duration_ms=round(dice.lognormvariate(5.5 + place, 0.7)),
                    cost=Decimal("0.002") if place == 1 else None,
                )
        for agent_id in (agent.pk, None):
            ModelUsage.objects.create(
                hour=(now - timedelta(days=day)).replace(minute=0, second=0, microsecond=0),
                agent_id=agent_id,
                model="openai/gpt-4o-mini",
                turns=day % 7 + 3,
                completed=day % 7 + 2,
                failed=1,
                stopped=0,
                input_tokens=(day % 7 + 3) * 4_200,
                output_tokens=(day % 7 + 3) * 350,
                cached_tokens=(day % 7 + 3) * 1_500,
                cost=Decimal(day % 7 + 3) * Decimal("0.0011"),
                unpriced=0,
            )
    for day, state in (
        (28, "healthy"),
        (17, "upstream_down"),
        (16, "healthy"),
        (6, "execution_broken"),
        (5, "healthy"),
    ):
        HealthChange.objects.create(
            tool=tools[0],
            state=state,
            at=now - timedelta(days=day),
            error_code="tool_crashed" if "broken" in state else "",
        )
    usage_roll_up()
    return agent, tools


def test_a_month_of_use_is_told_in_plots_and_tables(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    agent, tools = seed(admin)
    sign_in("admin")
    page.get_by_role("link", name="Usage", exact=True).click()
    expect(page.get_by_role("heading", name="Most used")).to_be_visible()
    shoot(page, "usage-overview")
    page.goto(f"/agents/{agent.slug}/usage/")
    expect(page.get_by_role("img", name="Latency")).to_be_visible()
    expect(page.get_by_role("link", name="translate_text")).to_be_visible()
    shoot(page, "usage-agent")
    page.get_by_role("link", name="7d").click()
    expect(page.locator(".chip[aria-current]")).to_have_text("7d")
    expect(page).to_have_url(re.compile(r"\?period=7d$"))
    page.get_by_text("As a table").first.click()
    expect(page.get_by_role("columnheader", name="Refused")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of Tools it called").click()
    assert download.value.suggested_filename == "travel-desk-usage-tools-7d.csv"
    page.goto(f"/tools/{tools[0].pk}/usage/")
    expect(page.get_by_role("heading", name="Errors")).to_be_visible()
    shoot(page, "usage-tool")
    page.goto(f"/tools/{tools[0].pk}/")
    expect(page.get_by_text("Health over 30 days").first).to_be_visible()
    shoot(page, "usage-quality")


def test_pages_without_use_say_what_to_do(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    agent = make_agent(admin, name="New", slug="new")
    sign_in("admin")
    page.goto(f"/agents/{agent.slug}/usage/")
    expect(page.get_by_role("link", name="Go to the agent")).to_be_visible()
    shoot(page, "usage-empty")
    page.goto("/usage/?of=mine")
    expect(page.get_by_text("Nothing was used in this time")).to_be_visible()
