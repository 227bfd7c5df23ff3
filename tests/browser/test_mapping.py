"""Somebody who cannot program says where the inputs of a step come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from django.contrib.auth.models import User
from playwright.sync_api import Error, Locator, Page, expect

from registry.models import Tool
from sequences.forms.drafts import Draft, Row, StepDraft, draft_from_json, draft_to_json
from sequences.forms.settling import settled
from sequences.forms.step_tools import tools_of
from sequences.models import DraftOutput, SampleInput, SequenceDraft
from tests import factories
from tests.browser.holding import Held
from tests.factories import make_person
from tests.live import eventually

WEATHER_INPUT = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City", "description": "Name of the city."},
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        "since": {"type": "string", "format": "date"},
        "detailed": {"type": "boolean"},
        "stations": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object", "properties": {"wind": {"type": "boolean"}}},
    },
    "required": ["city"],
    "additionalProperties": False,
}
FOUND = {
    "places": [
        {"name": "Oslo", "population": 709_037, "tags": ["capital", "fjord"]},
        {"name": "Bergen", "population": 289_330, "tags": ["rain"]},
    ],
    "query": "cities of Norway",
    "took ms": 41,
}
SCHEMA = """{
  "type": "object",
  "properties": {
    "country": {"type": "string", "description": "Whose cities.", "minLength": 2},
    "count": {"type": "integer", "default": 2}
  },
  "required": ["country"]
}"""


def tools() -> tuple[Tool, Tool]:
    search = factories.make_tool(wire_name="city_search", title="City search")
    weather = factories.make_tool(
        wire_name="weather", title="Weather", input_schema=WEATHER_INPUT, description="Forecasts."
    )
    return search, weather


def draft_of(owner: User) -> SequenceDraft:
    """Make a draft of two steps: cities that were found in a test, and the weather of one."""
    search, weather = tools()
    draft = Draft(
        name="Weather of cities",
        schema=SCHEMA,
        steps=[
            StepDraft(
                key="search",
                tool=search.wire_name,
                store_as="cities",
                rows=[Row(name="text", source="initialInput", value="country", known="1")],
            ),
            StepDraft(key="weather", tool=weather.wire_name, store_as="forecast"),
        ],
    )
    settled(draft, tools_of(owner, draft))
    row = SequenceDraft.objects.create(owner=owner, document=draft_to_json(draft))
    row.revisions.create(number=1, document=row.document, label="Started", author=owner)
    DraftOutput.objects.create(draft=row, step_key="search", digest="", output=FOUND)
    SampleInput.objects.create(draft=row, name="north", input={"country": "Norway"})
    return row


def saved(row: SequenceDraft) -> Draft:
    row.refresh_from_db()
    return draft_from_json(row.document)


def opened(page: Page, sign_in: Callable[[str], None], username: str) -> SequenceDraft:
    row = draft_of(make_person(username))
    sign_in(username)
    page.goto(f"/sequences/drafts/{row.pk}/edit")
    return row


def test_a_value_is_picked_from_the_real_output_by_keyboard(
    page: Page, sign_in: Callable[[str], None], shoot: Callable[[Page, str], None]
) -> None:
    row = opened(page, sign_in, "mapper")
    page.locator("#steps-1-in-0-pick").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Take a value from…")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_text("values of the last test")).to_be_visible()
    shoot(page, "mapping-picker")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#steps-1-in-0-pick")).to_be_focused()

    page.keyboard.press("Enter")
    page.get_by_placeholder("Find by name or value").fill("oslo")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#steps-1-in-0-path")).to_have_value("places[0].name")
    expect(page.locator("#steps-1-in-0-check")).to_contain_text("Oslo")
    eventually(lambda: saved(row).steps[1].rows[0].path == "places[0].name")
    assert saved(row).steps[1].rows[0].value == "cities"


def test_a_mismatch_is_told_at_once_and_mended_by_a_press(
    page: Page, sign_in: Callable[[str], None], shoot: Callable[[Page, str], None]
) -> None:
    row = opened(page, sign_in, "mender")
    page.locator("#steps-1-in-0-source").select_option("previousStep")
    page.locator("select#steps-1-in-0-value").select_option("cities")
    path = page.locator("#steps-1-in-0-path")
    path.press_sequentially("places[*].name", delay=20)
    check = page.locator("#steps-1-in-0-check")
    row_shown = page.locator("li:has(> #steps-1-in-0-check)")
    expect(row_shown).to_contain_text("is a list. Map another value.")
    expect(check.get_by_role("button", name="Use the first item")).to_be_visible()
    shoot(page, "mapping-mismatch")
    check.get_by_role("button", name="Repeat the step for each item").click()
    expect(page.locator("#steps-1-in-0-source")).to_have_value("item")
    expect(check).to_contain_text("Oslo")
    expect(row_shown).not_to_contain_text("Map another value.")
    eventually(lambda: saved(row).steps[1].each.path == "places[*].name")


def test_nothing_is_asked_of_rows_that_are_not_shown_yet(
    page: Page, sign_in: Callable[[str], None]
) -> None:
    opened_with(
        page, sign_in, "waiter", source="previousStep", value="cities", path="places[*].name"
    )
    held = Held(page, "**/edit")
    check = page.locator("#steps-1-in-0-check")
    check.get_by_role("button", name="Repeat the step for each item").click()
    held.first()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(1_500)  # the checks are asked 0.9 s after the last change
    assert not [url for url in asked if url.endswith("/checks")]
    held.release()
    expect(check).to_contain_text("Oslo")


def opened_with(
    page: Page, sign_in: Callable[[str], None], username: str, **city: str
) -> SequenceDraft:
    """Open a draft that has `city` in the row of the weather's city, once that is checked."""
    row = draft_of(make_person(username))
    draft = saved(row)
    place = next(n for n, item in enumerate(draft.steps[1].rows) if item.name == "city")
    draft.steps[1].rows[place] = replace(draft.steps[1].rows[place], **city)
    row.document = draft_to_json(draft)
    row.save()
    sign_in(username)
    page.goto(f"/sequences/drafts/{row.pk}/edit")
    expect(page.locator("#steps-1-in-0-check > *")).not_to_have_count(0)
    return row


def checks_held(page: Page) -> Held:
    """Hold what the page asks of all rows, with the weather's city in focus."""
    held = Held(page, "**/checks")
    page.locator("#description").fill("Anything")
    page.locator("#steps-1-in-0-path").focus()
    held.first()
    return held


@contextmanager
def form_coming_anew(page: Page) -> Iterator[Locator]:
    """Hold the form that has one more input, and give the text of the weather's city meanwhile."""
    held = Held(page, "**/edit")
    page.locator("#schema-add").click()
    held.first()
    yield page.locator("#steps-1-in-0-value")
    held.release()
    expect(page.locator("#schema-2-name")).to_be_visible()


def test_what_is_typed_while_the_form_comes_anew_is_told_as_it_stands(
    page: Page, sign_in: Callable[[str], None]
) -> None:
    row = opened_with(page, sign_in, "hasty", source="template", value="Weather in ")
    with form_coming_anew(page) as text:
        text.press("End")
        text.press_sequentially("{{ initial.country }}")
    expect(text).to_have_value("Weather in {{ initial.country }}")
    expect(page.locator("#steps-1-in-0-check")).to_contain_text("Weather in Norway")
    eventually(lambda: saved(row).steps[1].rows[0].value == "Weather in {{ initial.country }}")


def test_the_keyboard_stays_where_it_went_while_the_form_comes_anew(
    page: Page, sign_in: Callable[[str], None]
) -> None:
    row = opened_with(page, sign_in, "mover", source="template", value="Weather in Norway")
    with form_coming_anew(page) as text:
        text.evaluate("field => { field.focus(); field.setSelectionRange(0, 7); }")
    page.keyboard.insert_text("Wind")
    expect(text).to_have_value("Wind in Norway")
    eventually(lambda: saved(row).steps[1].rows[0].value == "Wind in Norway")


def test_the_caret_stays_where_it_was_while_what_was_typed_is_put_back(
    page: Page, sign_in: Callable[[str], None]
) -> None:
    row = opened_with(page, sign_in, "inserter", source="template", value="Weather in Norway")
    with form_coming_anew(page) as text:
        text.press("Home")
        text.press_sequentially("The ")
    page.keyboard.insert_text("fine ")
    expect(text).to_have_value("The fine Weather in Norway")
    eventually(lambda: saved(row).steps[1].rows[0].value == "The fine Weather in Norway")


def test_a_late_answer_does_not_tell_of_what_was_there_before(
    page: Page, sign_in: Callable[[str], None]
) -> None:
    opened_with(page, sign_in, "tardy", source="previousStep", value="cities")
    late = checks_held(page).alone()
    before = late.fetch()
    page.locator("#steps-1-in-0-path").press_sequentially("places[0].name", delay=20)
    now = page.locator("#steps-1-in-0-check output")
    expect(now).to_have_text("Oslo")
    with suppress(Error):  # it is not waited for any more
        late.fulfill(response=before)
    page.wait_for_timeout(500)
    expect(now).to_have_text("Oslo")


def test_an_answer_for_a_form_that_is_gone_is_not_waited_for(
    page: Page, sign_in: Callable[[str], None]
) -> None:
    opened_with(page, sign_in, "leaver", source="previousStep", value="cities")
    held = checks_held(page)
    page.locator("#schema-add").click()
    expect(page.locator("#schema-2-name")).to_be_visible()
    held.release()
    # `page` fails the test where htmx finds no place for an answer.
    expect(page.locator("#steps-1-in-0-check .check-problem")).to_be_visible()


def test_a_template_shows_what_it_gives_while_it_is_typed(
    page: Page, sign_in: Callable[[str], None], shoot: Callable[[Page, str], None]
) -> None:
    row = opened(page, sign_in, "writer")
    page.locator("#steps-1-in-0-source").select_option("template")
    text = page.locator("#steps-1-in-0-value")
    text.press_sequentially("Weather in ", delay=10)
    page.locator("#steps-1-in-0-insert").click()
    page.get_by_role("button", name="country").click()
    expect(text).to_have_value("Weather in {{ initial.country }}")
    expect(page.locator("#steps-1-in-0-check")).to_contain_text("Weather in Norway")
    page.locator("#steps-1-options").click()
    page.locator("#steps-1-when").press_sequentially("steps.cities.query", delay=10)
    expect(page.locator("#steps-1-when-check")).to_contain_text("not true or false")
    page.locator("#steps-1-when").press_sequentially(' != ""', delay=10)
    expect(page.locator("#steps-1-when-check")).to_contain_text("true: the step runs")
    shoot(page, "mapping-previews")
    eventually(lambda: saved(row).steps[1].when == 'steps.cities.query != ""')


def test_inputs_are_made_as_fields_and_kept_in_step_with_their_json(
    page: Page, sign_in: Callable[[str], None], shoot: Callable[[Page, str], None]
) -> None:
    row = opened(page, sign_in, "namer")
    page.locator("#schema-0-name").fill("nation")
    page.locator("#schema-0-name").press("Tab")
    expect(page.locator("#steps-0-in-0-value")).to_have_value("nation")
    page.locator("#schema-add").click()
    name = page.locator("#schema-2-name")
    expect(name).to_be_focused()
    name.fill("mode")
    name.press("Tab")
    eventually(lambda: '"mode"' in saved(row).schema)
    page.locator("#schema-2-kind").select_option("choice")
    choices = page.locator("#schema-2-choices")
    expect(choices).to_have_value("first\nsecond")
    choices.fill("short\nlong")
    choices.press("Tab")
    eventually(lambda: '"long"' in saved(row).schema)
    expect(page.get_by_text("JSON only: minLength")).to_be_visible()
    shoot(page, "mapping-inputs")

    page.locator("#schema-json").click()
    json = page.locator("#schema")
    expect(json).to_have_value(saved(row).schema)
    json.fill('{"type": "object", "properties": {"only": {"type": "number"}}}')
    json.press("Tab")
    expect(page.locator("#schema-0-name")).to_have_value("only")
    expect(page.locator("#schema-0-kind")).to_have_value("number")


def test_what_is_typed_becomes_an_input_of_the_sequence(
    page: Page, sign_in: Callable[[str], None]
) -> None:
    row = opened(page, sign_in, "maker")
    page.locator("#steps-1-in-0-value").fill("Oslo")
    page.locator("#steps-1-in-0-make").click()
    expect(page.locator("#steps-1-in-0-source")).to_have_value("initialInput")
    expect(page.locator("#schema-2-name")).to_have_value("city")
    expect(page.locator("#schema-2-default")).to_have_value("Oslo")
    eventually(lambda: saved(row).steps[1].rows[0].source == "initialInput")


def test_each_kind_of_input_has_a_control_of_its_own(
    page: Page, sign_in: Callable[[str], None], shoot: Callable[[Page, str], None]
) -> None:
    row = opened(page, sign_in, "filler")
    page.locator("#steps-1-more").click()
    for number in range(1, 7):
        page.locator(f"#steps-1-in-{number}-source").select_option("static")
        expect(page.locator(f"#steps-1-in-{number}-value")).to_be_visible()
    names = [item.name for item in saved(row).steps[1].rows]
    field = {name: f"#steps-1-in-{names.index(name)}-value" for name in names}
    page.locator(field["days"]).fill("5")
    page.locator(field["unit"]).select_option("F")
    page.locator(field["since"]).fill("2026-01-31")
    page.locator(field["detailed"]).select_option("Yes")
    page.locator(field["stations"]).fill("north\nsouth")
    page.locator(field["stations"]).press("Tab")
    shoot(page, "mapping-controls")
    values = {"days": "5", "unit": "F", "since": "2026-01-31", "detailed": "true"}
    eventually(
        lambda: {r.name: r.value for r in saved(row).steps[1].rows if r.name in values} == values
    )
