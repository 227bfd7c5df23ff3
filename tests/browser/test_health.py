"""The page of a tool in each state of health, and the steps that mend it, in a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from registry.importing.npm import npm_import
from registry.models import Package, Tool
from registry.models.health import ExecutionHealth, Health
from tests.factories import make_package, make_person, make_tool

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

STATES = {
    "import-broken": ({"import_health": Health.BROKEN}, "import_broken", "It threw: not today"),
    "execution-broken": (
        {"execution_health": ExecutionHealth.BROKEN},
        "tool_crashed",
        "The tool's process ended by signal SIGSEGV before it answered.",
    ),
    "needs-sign-in": (
        {"execution_health": ExecutionHealth.NEEDS_SIGN_IN},
        "upstream_auth",
        "api.example.org answered 401.",
    ),
    "upstream-down": (
        {"execution_health": ExecutionHealth.UPSTREAM_DOWN},
        "upstream_unreachable",
        "api.example.org did not answer within 10 seconds.",
    ),
}


@pytest.fixture
def admin(live: object) -> User:
    return make_person("admin", is_superuser=True, is_staff=True)


def test_each_state_has_words_a_reason_and_a_way_on(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    package = make_package(name="@acme/scraper", added_by=admin, artifact="a" * 64)
    sign_in("admin")
    for name, (values, code, message) in STATES.items():
        error = {"code": code, "message": message, "hint": ""}
        tool = make_tool(
            title=f"Scraper {name}",
            package=package,
            health_error=error,
            last_health_check_at=timezone.now(),
            **values,
        )
        page.goto(f"/tools/{tool.pk}/")
        expect(page.get_by_text("Who can mend it:")).to_be_visible()
        expect(page.get_by_text(message)).to_be_visible()
        shoot(page, f"health-{name}")
    keyed = make_package(name="@acme/keyed", env=[{"name": "ACME_API_KEY"}])
    lacking = make_tool(title="Keyed", package=keyed, import_health=Health.HEALTHY)
    page.goto(f"/tools/{lacking.pk}/")
    expect(page.get_by_role("link", name="Set ACME_API_KEY")).to_be_visible()
    shoot(page, "health-needs-your-key")
    untried = make_tool(title="Untried")
    page.goto(f"/tools/{untried.pk}/")
    shoot(page, "health-unknown")
    page.goto("/tools/?health=unwell")
    expect(page.get_by_text("Scraper import-broken")).to_be_visible()
    shoot(page, "health-catalogue")
    page.goto("/")
    expect(page.get_by_text("Tools not well")).to_be_visible()
    shoot(page, "health-dashboard")


def test_a_drifted_tool_is_mended_and_looked_at_again(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    npm_import(name="@tpmjs/tools-recipe-hash", version="0.2.0", user=admin, stage=str)
    tool = Tool.objects.get(package__name="@tpmjs/tools-recipe-hash")
    sign_in("admin")
    page.goto(f"/packages/{tool.package_id}/")
    shoot(page, "health-package-drift")
    page.goto(f"/tools/{tool.pk}/")
    shoot(page, "health-drift")
    with page.expect_response("**/check/") as answered:  # it is shown until the next look only
        page.get_by_role("button", name="Check again").click()
    assert "Looking at the tools of" in answered.value.text()
    expect(page.get_by_role("button", name="Check again")).to_be_visible(timeout=60_000)

    page.get_by_role("button", name="Use recipeHashTool").click()

    expect(page.get_by_text("“recipeHash” is the export “recipeHashTool” now.")).to_be_visible()
    expect(page.locator(".badge.is-healthy").first).to_be_visible()
    shoot(page, "health-mended")


def test_an_undeclared_key_is_let_in_from_the_page(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    npm_import(name="@exalabs/ai-sdk", version="2.1.0", user=admin, stage=str)
    tool = Tool.objects.get(package__name="@exalabs/ai-sdk")
    sign_in("admin")
    page.goto(f"/tools/{tool.pk}/")
    page.get_by_label("query", exact=False).first.fill("tools for agents")
    page.get_by_role("button", name="Call the tool").click()
    expect(page.get_by_text("looks for EXA_API_KEY").first).to_be_visible(timeout=60_000)
    page.reload()
    shoot(page, "health-needs-key")
    page.goto(f"/packages/{tool.package_id}/")
    shoot(page, "health-package-variable")

    page.get_by_role("button", name="Let it read EXA_API_KEY").click()

    expect(page.get_by_text("Its tools may read EXA_API_KEY.")).to_be_visible()
    assert [item["name"] for item in Package.objects.get(pk=tool.package_id).env] == ["EXA_API_KEY"]
    page.goto(f"/tools/{tool.pk}/")
    expect(page.get_by_text("You have not set EXA_API_KEY yet.")).to_be_visible()
    shoot(page, "health-key-let-in")
