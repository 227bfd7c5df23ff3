"""A person connects an API, is told what is wrong, tries the tool and changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.factories import make_person
from tests.fakes.web_server import WebServer, serving

SCHEMA = """{
  "type": "object",
  "properties": {
    "city": {"type": "string", "description": "Name of the city."},
    "days": {"type": "integer", "description": "How many days.", "default": 2}
  },
  "required": ["city"],
  "additionalProperties": false
}"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serving() as server:
        yield server


def test_an_api_becomes_a_tool_that_is_tried_and_changed(
    live: object,
    page: Page,
    sign_in: Callable[[str], None],
    shoot: Callable[[Page, str], None],
    web: WebServer,
) -> None:
    make_person("ada")
    web.on("/v1/Oslo", lambda it: it.json('{"days": [{"t": -3}, {"t": 4}], "unit": "C"}'))
    sign_in("ada")
    page.goto("/tools/")
    page.get_by_role("link", name="Connect an API").click()
    expect(page.get_by_label("Content of the body")).to_be_hidden()
    expect(page.get_by_label("Variable with the key")).to_be_hidden()
    shoot(page, "api-new")

    page.get_by_label("Name", exact=True).fill("City weather")
    page.get_by_label("Description").fill("Tells the temperatures of a city's next days.")
    page.get_by_label("JSON Schema").fill(SCHEMA)
    page.get_by_label("URL").fill("https://{{ args.city }}/v1")
    page.get_by_label("Query parameters").fill("days: {{ args.day }}")
    page.get_by_label("How it signs in").select_option("header")
    expect(page.get_by_label("Variable with the key")).to_be_visible()
    page.get_by_role("button", name="Make the tool").click()
    expect(page.get_by_text("The host must be fixed.")).to_be_visible()
    expect(page.get_by_text("“day” is not among the inputs")).to_be_visible()
    shoot(page, "api-problems")

    page.get_by_label("URL").fill(web.url + "/v1/{{ args.city }}")
    page.get_by_label("Query parameters").fill("days: {{ args.days }}")
    page.get_by_label("How it signs in").select_option("none")
    page.get_by_label("Response path").fill("days[].t")
    page.get_by_role("button", name="Make the tool").click()
    expect(page.get_by_role("heading", name="City weather", level=1)).to_be_visible()
    page.locator("#try-city").fill("Oslo")
    page.get_by_role("button", name="Call the tool").click()
    expect(page.get_by_role("main")).to_contain_text("-3")
    assert web.asked[0].path == "/v1/Oslo?days=2"
    shoot(page, "api-tool")

    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Response path").fill("unit")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("saved as version 2")).to_be_visible()
    page.goto("/tools/?kind=api")
    expect(page.get_by_role("main")).to_contain_text("City weather")
    shoot(page, "api-catalogue")
