"""A program of a person's hears of a run: subscribed in a browser, told by a real worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect
from standardwebhooks import Webhook as Verifier

from registry.models import EventDelivery, EventSubscription
from tests.browser.events_shown import show_events
from tests.factories import make_person, make_sequence
from tests.fakes.web_server import WebServer, serving
from tests.live import Live, eventually

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def admin(live: object) -> User:
    return make_person("admin", is_superuser=True, is_staff=True)


@pytest.fixture
def receiver() -> Iterator[WebServer]:
    with serving() as server:
        server.on("/events", lambda it: it.answer("thanks", status=200))
        yield server


def test_a_program_is_subscribed_tried_and_told_of_a_run(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot, receiver: WebServer
) -> None:
    sequence = make_sequence(admin, title="Sums")
    sign_in("admin")
    page.goto("/event-subscriptions/")
    expect(page.get_by_text("Nothing is told yet")).to_be_visible()
    shoot(page, "events-empty")
    page.get_by_role("link", name="New subscription").click()
    page.wait_for_url("**/new/")
    page.get_by_label("Address").fill("https://10.0.0.1/events")
    page.get_by_role("button", name="Make subscription").click()
    expect(page.get_by_text("Choose at least one.")).to_be_visible()
    page.get_by_label("A run succeeded").check()
    page.get_by_role("button", name="Make subscription").click()
    expect(page.get_by_text("10.0.0.1 is private")).to_be_visible()
    shoot(page, "events-form")
    page.get_by_label("Address").fill(f"{receiver.url}/events")
    page.get_by_label("A run failed").check()
    page.get_by_role("textbox", name="Note optional").fill("Night desk")
    page.get_by_role("button", name="Make subscription").click()
    expect(page.get_by_role("heading", name="Its secret")).to_be_visible()
    secret = page.get_by_text("whsec_").first.inner_text().strip()
    shoot(page, "events-made")
    page.get_by_role("button", name="Send a test event").click()
    expect(page.get_by_text("The test was taken: 200")).to_be_visible()
    expect(page.get_by_text("whsec_")).to_have_count(0)
    shoot(page, "events-tested")
    page.goto(f"/sequences/{sequence.pk}/run")
    page.get_by_label("Text").fill("17*23")
    page.get_by_role("button", name="Run", exact=True).click()
    eventually(lambda: len(receiver.asked) == 2, what="the event of the run")
    told = Verifier(secret).verify(receiver.asked[1].body, receiver.asked[1].headers)
    assert told["type"] in {"run.succeeded", "run.failed"}
    assert told["data"]["sequence"]["title"] == "Sums"
    subscription = EventSubscription.objects.get()
    eventually(lambda: EventDelivery.objects.filter(status="delivered").count() == 2)
    page.goto(f"/event-subscriptions/{subscription.pk}/")
    expect(page.get_by_role("row").filter(has_text=told["type"])).to_contain_text("Delivered")
    page.get_by_text("Message and attempts").first.click()
    shoot(page, "events-told")
    page.get_by_role("button", name="Send again run").click()
    eventually(lambda: len(receiver.asked) == 3, what="the same event again")
    ids = [each.headers["webhook-id"] for each in receiver.asked]
    assert ids[1] == ids[2] != ids[0]
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_text("By its owner")).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nothing is told yet")).to_be_visible()


def test_every_state_of_a_subscription_has_its_look(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    show_events(admin)
    sign_in("admin")
    page.goto("/event-subscriptions/")
    shoot(page, "events-list")
    page.get_by_role("link", name="pager").click()
    expect(page.get_by_text("Tries again")).to_be_visible()
    shoot(page, "events-pager")


def test_the_pages_work_without_scripts(
    admin: User, live: Live, chromium: Browser, receiver: WebServer
) -> None:
    context = chromium.new_context(base_url=live.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/login/?next=/event-subscriptions/new/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("secret-admin")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Address").fill(f"{receiver.url}/events")
    page.get_by_label("A tool is broken").check()
    page.get_by_role("button", name="Make subscription").click()
    expect(page.get_by_role("heading", name="Its secret")).to_be_visible()
    page.get_by_role("button", name="Send a test event").click()
    expect(page.get_by_text("The test was taken: 200")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Nothing is told yet")).to_be_visible()
    context.close()
