"""A run in the browser: it goes on by itself, asks, and stands beside another."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from registry.models import Tool
from sequences import news
from sequences.models import Run
from tests import factories
from tests.browser import runs_shown
from tests.live import Live, eventually

SignIn = Callable[[str], None]
Shoot = Callable[[Page, str], None]


@pytest.fixture
def admin(live: Live) -> User:
    return factories.make_person("admin", is_superuser=True, is_staff=True)


@pytest.fixture
def calculator(admin: User) -> Tool:
    return factories.make_builtin("calculator")


@pytest.fixture
def sequence(admin: User, calculator: Tool) -> Tool:
    return runs_shown.report_sequence(admin, calculator)


def test_a_run_goes_on_by_itself_asks_and_takes_the_answer(
    page: Page, sign_in: SignIn, sequence: Tool
) -> None:
    sign_in("admin")
    page.goto(f"/sequences/{sequence.pk}/run")
    page.get_by_role("button", name="Run").click()
    page.wait_for_url("**/runs/*/")
    page.evaluate("document.body.dataset.here = 'yes'")
    recipients = page.get_by_label("Recipients")
    recipients.fill("everybody")  # it is asked without the page being loaded again
    assert page.evaluate("document.body.dataset.here") == "yes"
    expect(page.locator("#run").get_by_text("Waits for a person").first).to_be_visible()

    page.get_by_label("Note").fill("Go ahead.")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#run [role=status]")).to_have_text("Succeeded")
    run = Run.objects.get()
    assert run.requests.get().values == {"recipients": "everybody", "urgent": False}


def test_what_is_open_typed_and_in_focus_stays_when_the_run_changes(
    page: Page, sign_in: SignIn, admin: User, sequence: Tool, calculator: Tool
) -> None:
    run = runs_shown.waiting_run(sequence, admin, calculator)
    sign_in("admin")
    page.goto(f"/runs/{run.pk}/")
    page.locator("#step-2-iterations > summary").click()
    page.locator("#run-input > summary").click()
    recipients = page.get_by_label("Recipients")
    recipients.press_sequentially("half  name")
    recipients.evaluate("field => field.setSelectionRange(5, 5)")

    step = run.steps.get(number=3)
    step.message = "Drawn anew."
    step.attempts = 2
    step.save()
    news.tell(run.pk)
    expect(page.get_by_text("Drawn anew.")).to_be_visible()
    expect(recipients).to_have_value("half  name")
    expect(recipients).to_be_focused()
    page.keyboard.insert_text("a")
    expect(recipients).to_have_value("half a name")
    assert page.evaluate("document.querySelector('#step-2-iterations').open")
    assert page.evaluate("document.querySelector('#run-input').open")


def test_a_run_is_followed_without_its_stream(
    page: Page, sign_in: SignIn, admin: User, sequence: Tool, calculator: Tool
) -> None:
    run = runs_shown.waiting_run(sequence, admin, calculator)
    sign_in("admin")
    page.route("**/events?*", lambda route: route.fulfill(status=404))
    page.goto(f"/runs/{run.pk}/")
    run.steps.filter(number=3).update(message="Drawn anew.")
    expect(page.get_by_text("Drawn anew.")).to_be_visible()


def test_the_pages_of_runs_look_right(
    page: Page, sign_in: SignIn, shoot: Shoot, admin: User, sequence: Tool, calculator: Tool
) -> None:
    waiting = runs_shown.waiting_run(sequence, admin, calculator)
    doubtful = runs_shown.doubtful_run(sequence, admin, calculator)
    first, again = runs_shown.failed_runs(sequence, admin, calculator)
    sign_in("admin")
    page.goto("/runs/")
    expect(page.get_by_role("link", name="1 needs attention")).to_be_visible()
    expect(page.locator("#nav .count.is-waiting")).to_have_text("2 wait for you")
    shoot(page, "runs")
    for name, address in {
        "run-waiting": f"/runs/{waiting.pk}/",
        "run-doubt": f"/runs/{doubtful.pk}/",
        "run-failed": f"/runs/{first.pk}/",
        "run-again": f"/runs/{again.pk}/",
        "run-step": f"/runs/{waiting.pk}/steps/{waiting.steps.get(number=1).pk}/",
    }.items():
        page.goto(address)
        shoot(page, name)

    page.goto("/runs/?tool=northern_report")
    boxes = page.get_by_role("checkbox", name="Compare the run")
    boxes.nth(2).check()
    boxes.nth(3).check()
    page.get_by_role("button", name="Compare the two chosen").click()
    page.wait_for_url(f"**/runs/{first.pk}/compare/{again.pk}")
    expect(page.get_by_text("$.day")).to_be_visible()
    shoot(page, "run-compare")


def test_a_step_in_doubt_is_settled_by_the_keyboard(
    page: Page, sign_in: SignIn, admin: User, sequence: Tool, calculator: Tool
) -> None:
    run = runs_shown.doubtful_run(sequence, admin, calculator)
    sign_in("admin")
    page.goto(f"/runs/{run.pk}/")
    page.get_by_label("What it gave, as JSON").fill('{"result": 2, "expression": "1 + 1"}')
    page.get_by_role("button", name="It was done").focus()
    page.keyboard.press("Enter")
    eventually(lambda: run.steps.filter(number=1, status="succeeded").exists(), what="settled")
    expect(page.get_by_label("Recipients")).to_be_visible()
