"""The builder in a browser: by keyboard, by pointer, in two windows, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from sequences.models import SequenceDraft
from tests import factories
from tests.live import Live, eventually

pytestmark = [pytest.mark.django_db(transaction=True)]

SignIn = Callable[[str], None]
Shoot = Callable[[Page, str], None]


@pytest.fixture
def workshop(live: Live) -> None:
    factories.make_person("ada")
    for name in ("calculator", "trim_text", "count_text"):
        factories.make_builtin(name)


def begin(page: Page) -> None:
    page.goto("/sequences/new")
    page.get_by_role("button", name="Start a blank sequence").click()
    expect(page.get_by_role("heading", name="Steps")).to_be_visible()


def saved(check: Callable[[dict], bool]) -> None:
    eventually(lambda: check(SequenceDraft.objects.latest("created_at").document))


def step(page: Page, number: int) -> Locator:
    return page.locator("[data-step]").nth(number - 1)


def choose(page: Page, text: str) -> None:
    """Take the first tool that the open palette finds."""
    page.get_by_role("combobox", name=re.compile("Search for a tool")).fill(text)
    first = page.locator("#step-palette [role=option]").first
    expect(first).to_contain_text(text)
    page.keyboard.press("Enter")
    expect(page.locator("#step-palette")).to_be_hidden()


def test_look(workshop: None, page: Page, sign_in: SignIn, shoot: Shoot) -> None:
    sign_in("ada")
    begin(page)
    shoot(page, "builder-blank")
    page.get_by_label("Name", exact=True).fill("Count and sum")
    saved(lambda document: document["name"] == "Count and sum")
    page.locator("h2#steps").click()
    page.keyboard.press("/")
    expect(page.locator("#step-palette [role=option]").first).to_be_visible()
    shoot(page, "builder-palette")
    choose(page, "count_text")
    expect(page.locator("[data-step]")).to_have_count(2)
    page.get_by_label("Tool of step 1").fill("calculator")
    page.get_by_label("Tool of step 1").press("Tab")
    expect(step(page, 1)).to_contain_text("expression")
    page.get_by_role("button", name="Ask a person").click()
    expect(page.locator("[data-step]")).to_have_count(3)
    page.locator("#steps-1-options").click()
    page.get_by_label("Its place").first.select_option("beside")
    expect(step(page, 2)).to_contain_text("Own branch")
    shoot(page, "builder-three")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("Not published:")).to_be_visible()
    shoot(page, "builder-refused")
