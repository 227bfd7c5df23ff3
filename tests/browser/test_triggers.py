"""An owner says when a sequence runs by itself, in a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from sequences.models import Run, Schedule, Webhook
from tests.factories import make_person, make_sequence
from tests.live import Live

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "title": "Sum"}},
    "required": ["text"],
}


@pytest.fixture
def admin(live: object) -> User:
    return make_person("admin", is_superuser=True, is_staff=True)


def test_a_schedule_is_made_switched_off_and_deleted(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sequence = make_sequence(admin, title="Sums", input_schema=SCHEMA)
    sign_in("admin")
    page.goto("/sequences/")
    page.get_by_role("link", name="When Sums runs").click()
    page.wait_for_url("**/triggers")
    shoot(page, "triggers-empty")
    page.get_by_role("link", name="Add a schedule").click()
    page.wait_for_url("**/schedules/new")
    expect(page.get_by_text("At 09:00, UTC. Next:")).to_be_visible()
    expect(page.get_by_label("Day of the month")).to_be_hidden()
    page.get_by_label("How often").select_option("weekly")
    page.get_by_label("On", exact=True).select_option("Friday")
    expect(page.get_by_text("At 09:00, only on Friday, UTC.")).to_be_visible()
    page.get_by_label("Time zone").fill("Europe/Berlin")
    expect(page.get_by_text("only on Friday, Europe/Berlin.")).to_be_visible()
    page.get_by_role("textbox", name="Name optional").fill("Week's end")
    shoot(page, "schedule-form")
    page.get_by_label("Sum").fill("")
    page.get_by_role("button", name="Save schedule").click()
    expect(page.locator("#run-text-error")).to_be_visible()
    page.get_by_label("Sum").fill("17*23")
    page.get_by_role("button", name="Save schedule").click()
    page.wait_for_url("**/triggers")
    expect(page.get_by_role("heading", name="Week's end")).to_be_visible()
    shoot(page, "triggers-schedule")
    schedule = Schedule.objects.get()
    assert (schedule.cron, schedule.timezone) == ("0 9 * * 5", "Europe/Berlin")
    assert schedule.input == {"text": "17*23"}
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_role("button", name="Switch on")).to_be_focused()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No schedules")).to_be_visible()
    assert not Schedule.objects.filter(tool=sequence).exists()


def test_a_webhook_is_made_tried_and_given_another_secret(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sequence = make_sequence(admin, title="Sums", input_schema=SCHEMA)
    sign_in("admin")
    page.goto(f"/sequences/{sequence.pk}/triggers")
    page.get_by_role("link", name="Add a webhook").click()
    page.wait_for_url("**/webhooks/new")
    page.get_by_role("textbox", name="Name optional").fill("Shop")
    page.get_by_label("Where its input comes from").fill('{"text": "body.["}')
    page.get_by_role("button", name="Make webhook").click()
    expect(page.get_by_text("cannot be read")).to_be_visible()
    shoot(page, "webhook-form")
    page.get_by_label("Where its input comes from").fill('{"text": "body.order.sum"}')
    page.get_by_role("button", name="Make webhook").click()
    expect(page.get_by_role("heading", name="Its secret")).to_be_visible()
    expect(page.get_by_text("whsec_").first).to_be_visible()
    shoot(page, "webhook-made")
    page.get_by_role("textbox", name="Message").fill('{"order": {"sum": "2+3"}}')
    page.get_by_role("button", name="Send test").click()
    expect(page.get_by_text("The message was taken")).to_be_visible()
    assert Run.objects.get().input == {"text": "2+3"}
    before = Webhook.objects.get().secret_set_at
    expect(page.get_by_role("heading", name="Its secret")).to_have_count(0)
    page.get_by_role("button", name="Make another secret").click()
    expect(page.get_by_role("heading", name="Its secret")).to_be_visible()
    assert Webhook.objects.get().secret_set_at > before


def test_the_forms_work_without_scripts(admin: User, live: Live, chromium: Browser) -> None:
    sequence = make_sequence(admin, title="Sums", input_schema=SCHEMA)
    context = chromium.new_context(base_url=live.url, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/login/?next=/sequences/{sequence.pk}/triggers/schedules/new")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("secret-admin")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("How often").select_option("cron")
    page.get_by_label("Cron expression").fill("often")
    page.get_by_role("button", name="Save schedule").click()
    expect(page.get_by_text("and this has 1")).to_be_visible()
    page.get_by_label("Cron expression").fill("*/15 * * * *")
    page.get_by_label("Sum").fill("17*23")
    page.get_by_role("button", name="Save schedule").click()
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_role("button", name="Switch on")).to_be_visible()
    context.close()
