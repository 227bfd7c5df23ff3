"""The page of the sandbox's state, in a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from registry.sandbox.client import sandbox
from tests.factories import make_person
from tests.registry.sandbox.npm_registry import SCOPE

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def called(live: object) -> str:
    """A package of which a call has left a spare, and a member of the staff."""
    make_person("admin", is_staff=True)
    built = sandbox().build(ecosystem="npm", name=f"{SCOPE}/remembers")
    sandbox().call(artifact=built.artifact, export="counts", arguments={}, env={})
    return built.artifact


def test_the_state_of_the_sandbox_keeps_itself_up_to_date(
    called: str, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Sandbox").click()
    expect(page.get_by_role("main")).to_contain_text("@outfitter-test/remembers")
    row = page.get_by_role("row").filter(has_text=called[:12])
    expect(row).to_be_visible()
    shoot(page, "sandbox")

    sandbox().forget(called)

    expect(row).to_have_count(0)
