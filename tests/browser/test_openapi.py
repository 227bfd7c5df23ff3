"""An OpenAPI document in a browser: fetched, its operations searched and chosen, a tool called."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import Page, expect

from registry.models import Package, Tool
from tests.factories import make_person

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

SHOWN = {"responses": {"200": {"description": "Fine."}}}


def document() -> bytes:
    """Return a document of three hundred operations under six tags."""
    paths = {}
    for number in range(300):
        tag = ("Customers", "Invoices", "Orders", "Parts", "Shipments", "Users")[number % 6]
        named = {"summary": f"Show {tag.lower()} {number}", "operationId": f"get{number}"}
        paths[f"/{tag.lower()}/{number}"] = {"get": {"tags": [tag], **named, **SHOWN}}
    paths["/parts/0"] = {"head": {"tags": ["Parts"], "operationId": "look", **SHOWN}}
    told = {"title": "Warehouse", "version": "3.2", "description": "All that is in stock."}
    servers = [{"url": "https://warehouse.example/v1"}, {"url": "https://test.warehouse.example"}]
    return json.dumps(
        {"openapi": "3.1.0", "info": told, "servers": servers, "paths": paths}
    ).encode()


def test_operations_are_found_chosen_and_imported(
    live: object, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    make_person("admin", is_superuser=True, is_staff=True)
    sign_in("admin")
    page.goto("/packages/")
    page.get_by_role("radio", name="OpenAPI").check()
    page.get_by_label("Or a file").set_input_files(
        {"name": "warehouse.json", "mimeType": "application/json", "buffer": document()}
    )
    shoot(page, "openapi-import")
    page.get_by_role("button", name="See its operations").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Warehouse")
    count = page.locator("#chosen")
    expect(count).to_have_text("0 of 301 operations chosen")
    page.get_by_text("Orders 0 of 50 chosen").click()
    page.get_by_role("button", name="Choose all of Orders").click()
    expect(count).to_have_text("50 of 301 operations chosen")
    shoot(page, "openapi-operations")
    page.get_by_label("Search operations").fill("invoices 1")
    expect(page.get_by_text("Orders 50 of 50 chosen")).to_have_count(0)
    page.get_by_label("Show invoices 1", exact=False).first.check()
    expect(count).to_have_text("51 of 301 operations chosen")
    expect(page.get_by_text("Invoices 1 of 27 chosen")).to_be_visible()
    shoot(page, "openapi-found")
    page.get_by_label("Search operations").fill("")
    expect(page.get_by_text("Orders 50 of 50 chosen")).to_be_visible()
    page.get_by_role("button", name="Import the chosen operations").click()
    expect(page.get_by_role("main")).to_contain_text("is imported", timeout=60_000)
    shoot(page, "openapi-job")

    package = Package.objects.get(ecosystem="openapi")
    assert Tool.objects.filter(package=package).count() == 51
    assert package.allowed_hosts == ["warehouse.example"]
    page.goto(f"/packages/{package.pk}/")
    expect(page.get_by_role("main")).to_contain_text("https://warehouse.example/v1")
    shoot(page, "openapi-package")
    page.goto(f"/tools/{Tool.objects.get(export_name='get1').pk}/")
    expect(page.get_by_role("main")).to_contain_text("GET https://warehouse.example/v1/invoices/1")
    shoot(page, "openapi-tool")
    page.goto(f"/packages/{package.pk}/")
    page.get_by_role("link", name="Choose others").click()
    expect(count).to_have_text("51 of 301 operations chosen")
