"""A reviewer imports a local Python module, configures it and calls its tool, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.factories import make_person

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def admin(live: object) -> User:
    """Make somebody who reviews packages."""
    return make_person("admin", is_superuser=True, is_staff=True)


def test_a_local_module_is_imported_configured_and_called(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/packages/")
    page.get_by_role("radio", name="Local module").check()
    page.get_by_label("Package", exact=True).fill("kit")
    page.get_by_text("How a Python package is loaded").click()
    shoot(page, "python-import-form")
    page.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="kit@").click(timeout=60_000)

    main = page.get_by_role("main")
    expect(main.get_by_role("heading", name="Not offered")).to_be_visible()
    expect(main).to_contain_text("It does not offer itself with the present configuration.")
    shoot(page, "python-package")

    page.get_by_role("link", name="Change").click()
    page.get_by_label("Configuration").fill('{"api_key": "${KIT_KEY}", "title": "Daily"}')
    shoot(page, "python-settings")
    page.get_by_role("button", name="Save and read again").click()
    page.get_by_role("link", name="kit@").click(timeout=60_000)
    expect(main.get_by_role("heading", name="Not offered")).to_have_count(0)

    main.get_by_role("link", name="Write report").first.click()
    page.get_by_label("template", exact=False).first.fill("monthly")
    page.get_by_role("button", name="Call the tool").click()
    expect(main).to_contain_text("Daily")
    expect(main).to_contain_text("They are not kept: download them now.")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download report.md").click()
    assert downloading.value.suggested_filename == "report.md"
    assert Path(downloading.value.path()).read_text() == "# Daily\n"
    shoot(page, "python-tool")
