"""A reviewer allows a host on the page of the package that was denied it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from registry.models import Invocation
from registry.models.invocation import Caller, Outcome
from tests.factories import make_package, make_person, make_tool


def test_a_reviewer_allows_the_host_that_a_call_was_denied(
    live: object,
    page: Page,
    sign_in: Callable[[str], None],
    shoot: Callable[[Page, str], None],
) -> None:
    admin = make_person("admin", is_superuser=True, is_staff=True)
    hosts = ["search.example.com", "*.cdn.example.com:8443"]
    package = make_package(name="@acme/search", manifest={"tpmjs": {"hosts": hosts}})
    tool = make_tool(package=package)
    extra = {"hosts": ["api.example.com:443"]}
    Invocation.objects.create(
        tool=tool,
        tool_version=1,
        caller=Caller.BROWSER,
        user=admin,
        outcome=Outcome.FAILED,
        phase="execute",
        error_code="network_denied",
        error={"code": "network_denied", "message": "", "hint": "", "extra": extra},
        arguments={},
        duration_ms=80,
    )
    sign_in("admin")
    page.goto(f"/packages/{package.pk}/")
    network = page.get_by_role("region", name="Network")
    expect(network).to_contain_text("None. Its tools cannot reach any host.")
    expect(network).to_contain_text("Denied lately")
    network.get_by_text("Change the allowed hosts").click()
    shoot(page, "package-network-none")

    network.get_by_role("button", name="Allow api.example.com:443").click()
    expect(page.get_by_text("From the next call on its tools may reach")).to_be_visible()
    expect(network).not_to_contain_text("Denied lately")
    network.get_by_text("Change the allowed hosts").click()
    network.get_by_label("Allowed hosts").fill("api.example.com\nhttps://wrong.example/")
    network.get_by_role("button", name="Save").click()
    expect(page.get_by_text("is not host, host:port or *.host.")).to_be_visible()
    shoot(page, "package-network-wrong")
    page.get_by_label("Allowed hosts").fill("api.example.com")
    page.get_by_label("Why").fill("The tool searches there.")
    page.get_by_role("button", name="Save").click()
    expect(network.get_by_role("list").first).to_contain_text("api.example.com")
    shoot(page, "package-network-allowed")
