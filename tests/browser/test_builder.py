"""The builder in a browser: by keyboard, by pointer, in two windows, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from registry.models import Tool
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


def begin(page: Page, *, scripts: bool = True) -> None:
    page.goto("/sequences/new")
    page.get_by_role("button", name="Start a blank sequence").click()
    expect(page.get_by_role("heading", name="Steps")).to_be_visible()
    if scripts:  # the tests open by themselves once the scripts of the page are at work
        expect(page.get_by_role("heading", name="Test input")).to_be_visible()


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


def tools_in_order(page: Page) -> list[str]:
    return [box.input_value() for box in page.locator("[data-step] input[id$='-tool']").all()]


def three_steps(page: Page) -> None:
    """Begin a sequence that calls three tools, found by keyboard alone."""
    begin(page)
    page.locator("#name").fill("Count and sum")
    saved(lambda document: document["name"] == "Count and sum")
    page.get_by_label("Tool of step 1").fill("calculator")
    page.get_by_label("Tool of step 1").press("Tab")
    expect(step(page, 1)).to_contain_text("expression")
    for number, name in ((2, "trim_text"), (3, "count_text")):
        page.get_by_role("button", name="Add a step").focus()
        page.keyboard.press("/")
        choose(page, name)
        expect(page.get_by_label(f"Tool of step {number}")).to_be_focused()


def test_a_sequence_is_built_saved_and_published_by_keyboard(
    workshop: None, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("ada")
    three_steps(page)
    assert tools_in_order(page) == ["calculator", "trim_text", "count_text"]
    page.keyboard.press("Alt+ArrowUp")
    expect(page.get_by_label("Tool of step 2")).to_have_value("count_text")
    expect(page.get_by_label("Tool of step 2")).to_be_focused()
    page.get_by_role("button", name="Move up").nth(1).focus()
    page.keyboard.press("Control+z")
    expect(page.get_by_label("Tool of step 3")).to_have_value("count_text")
    page.keyboard.press("Control+Shift+z")
    expect(page.get_by_label("Tool of step 2")).to_have_value("count_text")
    page.get_by_label("Description").fill("Counts a text.")
    page.locator("#steps-0-in-0-value").fill("1 + 1")
    saved(lambda document: document["steps"][0]["rows"][0]["value"] == "1 + 1")
    shoot(page, "builder-three")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_role("heading", name="Count and sum")).to_be_visible()
    page.wait_for_url(re.compile(r"/sequences/[0-9a-f-]{36}/edit"))
    expect(page.get_by_text("the same as version 1")).to_be_visible()
    assert Tool.objects.get(title="Count and sum").version == 1


def test_what_is_wrong_is_told_beside_its_field_while_typing_goes_on(
    workshop: None, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("ada")
    begin(page)
    page.locator("#steps-0-options").click()
    box = page.locator("#steps-0-attempts")
    box.press_sequentially("often")
    message = page.locator("#steps-0-attempts-error")
    expect(message).to_have_text("This must be a whole number.")
    expect(box).to_be_focused()
    expect(box).to_have_value("often")
    expect(step(page, 1)).to_contain_text("1 to mend")
    shoot(page, "builder-problem")
    box.fill("3")
    expect(message).to_have_text("")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("Not published:")).to_be_visible()
    expect(page.locator("#name-error")).to_have_text("Give the sequence a name.")
    shoot(page, "builder-refused")


def test_a_step_is_dragged_to_its_place_removed_and_brought_back(
    workshop: None, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("ada")
    three_steps(page)
    page.get_by_role("button", name="Fold all up").click()
    expect(page.locator("#steps-0-body")).to_be_hidden()
    shoot(page, "builder-folded")
    grip, first = step(page, 3).locator("[data-grip]").bounding_box(), step(page, 1).bounding_box()
    assert grip is not None and first is not None
    page.mouse.move(grip["x"] + 5, grip["y"] + 5)
    page.mouse.down()
    page.mouse.move(first["x"] + 50, first["y"] + 5, steps=5)
    expect(step(page, 1)).to_have_class(re.compile("drop-before"))
    page.mouse.up()
    expect(page.get_by_label("Tool of step 1")).to_have_value("count_text")
    saved(lambda document: [s["collapsed"] for s in document["steps"]] == [True] * 3)
    step(page, 2).locator("summary[id$='-menu']").click()
    step(page, 2).get_by_role("button", name="Remove this step").click()
    expect(page.get_by_text("is removed. Undo brings it back.")).to_be_visible()
    expect(page.locator("[data-step]")).to_have_count(2)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator("[data-step]")).to_have_count(3)


def test_two_windows_never_overwrite_each_other_unseen(
    workshop: None, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("ada")
    begin(page)
    other = page.context.new_page()
    other.goto(page.url)
    other.locator("#name").fill("Made there")
    saved(lambda document: document["name"] == "Made there")
    page.locator("#name").fill("Made here")
    expect(page.get_by_text("You changed this in another window")).to_be_visible()
    shoot(page, "builder-conflict")
    page.get_by_role("button", name="Keep mine").click()
    saved(lambda document: document["name"] == "Made here")
    page.locator("h2#steps").click()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator("#name")).to_have_value("Made there")
    page.locator("#name").fill("Made here again")
    saved(lambda document: document["name"] == "Made here again")
    other.get_by_label("Description").fill("Typed there.")
    expect(other.get_by_role("button", name="Take theirs")).to_be_visible()
    other.get_by_role("button", name="Take theirs").click()
    expect(other.get_by_label("Description")).to_have_value("")
    other.get_by_role("button", name="Undo", exact=True).click()
    expect(other.get_by_label("Description")).to_have_value("Typed there.")


def test_what_is_typed_without_a_network_is_sent_when_it_is_back(
    workshop: None, page: Page, sign_in: SignIn
) -> None:
    sign_in("ada")
    page = page.context.new_page()  # whose console may tell of requests that fail
    begin(page)
    page.route("**/sequences/drafts/*/edit", lambda route: route.fulfill(status=429, body=""))
    page.locator("#name").fill("Not lost")
    expect(page.get_by_text("Not saved: the server cannot be reached.")).to_be_visible()
    page.get_by_label("Description").fill("Nor this.")
    page.unroute("**/sequences/drafts/*/edit")
    saved(lambda document: (document["name"], document["description"]) == ("Not lost", "Nor this."))
    expect(page.get_by_text("Not saved:")).to_have_count(0)


def test_a_save_whose_answer_was_lost_is_sent_again_and_is_no_conflict(
    workshop: None, page: Page, sign_in: SignIn
) -> None:
    sign_in("ada")
    page = page.context.new_page()  # whose console may tell of requests that fail
    begin(page)

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/sequences/drafts/*/edit", lose, times=1)
    page.locator("#name").fill("Said twice")
    expect(page.get_by_text("Not saved: the server cannot be reached.")).to_be_visible()
    expect(page.get_by_text("Not saved:")).to_have_count(0)
    page.get_by_label("Description").fill("And on.")
    saved(lambda document: document["description"] == "And on.")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert SequenceDraft.objects.get().document["name"] == "Said twice"


def test_it_is_built_without_scripts(workshop: None, live: Live, chromium: Browser) -> None:
    context = chromium.new_context(base_url=live.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/login/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("secret-ada")
    page.get_by_role("button", name="Sign in").click()
    begin(page, scripts=False)
    page.locator("#name").fill("By hand")
    page.get_by_label("Description").fill("Made without scripts.")
    page.get_by_label("Tool of step 1").fill("count_text")
    page.get_by_role("button", name="Show its inputs").click()
    expect(step(page, 1)).to_contain_text("The text to count in.")
    page.get_by_role("button", name="Add a step").click()
    page.get_by_label("Tool of step 2").fill("trim_text")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_label("Tool of step 2")).to_have_value("trim_text")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_label("Tool of step 2")).to_have_value("")
    page.get_by_role("button", name="Redo", exact=True).click()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("is saved as version 1")).to_be_visible()
    context.close()
