"""A governor changes something; an auditor finds who it was, and what was called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from registry.roles import Role, role_give
from tests import factories
from tests.factories import make_person

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def people(live: object) -> dict[Role, User]:
    """A governor and an auditor."""
    found = {}
    for role in (Role.GOVERNOR, Role.AUDITOR):
        found[role] = make_person(role.value)
        role_give(found[role], role)
    factories.make_builtin("calculator")
    return found


def test_an_auditor_finds_who_changed_what_and_what_was_called(
    people: dict[Role, User], page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    main = page.get_by_role("main")
    sign_in("governor")
    page.goto("/invocations/")
    expect(main).to_contain_text("No calls yet")
    page.goto("/packages/")
    page.get_by_role("radio", name="Local module").check()
    page.get_by_label("Package", exact=True).fill("kit")
    page.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="kit@").click(timeout=60_000)
    page.goto("/tools/?q=calculator")
    main.get_by_role("link", name="Calculator").first.click()
    for count, expression in enumerate(("17 * 23", "17 *"), start=1):
        page.get_by_label("expression", exact=False).first.fill(expression)
        page.get_by_role("button", name="Call the tool").click()
        expect(main.locator("#calls tbody tr")).to_have_count(count)
    page.goto("/admin/registry/package/")
    page.get_by_role("link", name="kit@").click()
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name="See in the audit").click()
    expect(page.get_by_role("heading", name="Audit")).to_be_visible()

    page.context.clear_cookies()
    sign_in("auditor")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Audit").click()
    shoot(page, "audit")
    page.get_by_text("More filters").click()
    page.get_by_label("From where").select_option("worker")
    page.get_by_label("What", exact=True).select_option("registry.package")
    page.get_by_role("button", name="Filter").click()
    row = main.get_by_role("row").filter(has_text="local:kit")
    expect(row.first).to_contain_text("governor")  # whose request the worker carried out
    expect(row.first).to_contain_text("Worker")
    shoot(page, "audit-filtered")
    row.last.get_by_role("link").first.click()
    expect(main).to_contain_text("registry.run_import")
    shoot(page, "audit-event")

    page.goto("/invocations/")
    expect(main.get_by_role("row").filter(has_text="calculator")).to_have_count(2)
    shoot(page, "invocations")
    page.get_by_text("More filters").click()
    page.get_by_label("How it ended").select_option("failed")
    page.get_by_role("button", name="Filter").click()
    expect(main.get_by_role("row").filter(has_text="calculator")).to_have_count(1)
    with page.expect_download() as downloading:
        page.get_by_role("link", name="CSV").click()
    assert "17 *" in Path(downloading.value.path()).read_text()
    main.get_by_role("row").filter(has_text="calculator").get_by_role("link").first.click()
    expect(main).to_contain_text("17 *")
    shoot(page, "invocation-of-others")
    page.goto("/audit/?q=nothing-of-this-name")
    shoot(page, "audit-empty")
