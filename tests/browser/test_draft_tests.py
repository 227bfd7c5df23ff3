"""Testing a draft in the builder: a step, the steps behind it, and an output said by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from sequences.drafts import draft_begin
from sequences.forms.drafts import Draft, Row, StepDraft
from sequences.models import DraftOutput, SequenceDraft
from tests import factories
from tests.live import Live, eventually

pytestmark = [pytest.mark.django_db(transaction=True)]

SignIn = Callable[[str], None]
Shoot = Callable[[Page, str], None]

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to count."}},
        "required": ["text"],
    }
)


@pytest.fixture
def draft(live: Live) -> SequenceDraft:
    ada = factories.make_person("ada")
    for name in ("trim_text", "count_text"):
        factories.make_builtin(name)
    steps = [
        StepDraft(
            key="trim",
            tool="trim_text",
            rows=[Row(name="text", source="initialInput", value="text")],
            store_as="trimmed",
        ),
        StepDraft(
            key="count",
            tool="count_text",
            rows=[Row(name="text", source="previousStep", value="trimmed", path="text")],
            store_as="counted",
        ),
    ]
    return draft_begin(ada, Draft(name="Count it", schema=SCHEMA, steps=steps))


def card_of(page: Page, key: str) -> Locator:
    return page.locator(f"#tested-{key}")


def test_a_draft_is_tested_step_by_step_and_goes_on_from_an_edited_output(
    draft: SequenceDraft, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("ada")
    page.goto(f"/sequences/drafts/{draft.pk}/edit")
    expect(page.get_by_role("heading", name="Test input")).to_be_visible()
    expect(card_of(page, "trim")).to_contain_text("Not tested yet")
    page.locator("#run-text").fill("  two words ")
    card_of(page, "count").get_by_role("button", name="Up to here").click()
    expect(card_of(page, "count")).to_contain_text(re.compile(r"Tested\b"))
    kept = DraftOutput.objects.get(step_key="count").output
    expect(page.locator("#run-text")).to_have_value("  two words ")
    shoot(page, "draft-tested")

    page.locator("#output-of-trim summary").click()
    edited = json.dumps({"text": "one"})
    page.locator("#output-trim").fill(edited)
    card_of(page, "trim").get_by_role("button", name="Use it as edited").click()
    expect(card_of(page, "trim")).to_contain_text("Edited by hand")
    card_of(page, "count").get_by_role("button", name="This step").click()
    eventually(lambda: DraftOutput.objects.get(step_key="count").output != kept)
    page.get_by_text("Keep this input as a sample").click()
    page.locator("#sample-name").fill("two words")
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_role("link", name="two words")).to_be_visible()


def test_a_step_is_tested_from_its_menu_with_what_was_typed_a_moment_ago(
    draft: SequenceDraft, page: Page, sign_in: SignIn
) -> None:
    sign_in("ada")
    page.goto(f"/sequences/drafts/{draft.pk}/edit")
    page.locator("#run-text").fill("three short words")
    page.locator("#steps-0-options").click()
    page.locator("#steps-0-title").fill("Cut it")
    page.locator("#steps-0-menu").click()
    page.get_by_role("button", name="Test this step").first.click()
    expect(card_of(page, "trim")).to_contain_text("1. Cut it")
    eventually(lambda: DraftOutput.objects.filter(step_key="trim").exists())


def test_what_keeps_a_step_from_being_tested_is_told(
    draft: SequenceDraft, page: Page, sign_in: SignIn
) -> None:
    sign_in("ada")
    page.goto(f"/sequences/drafts/{draft.pk}/test")
    card_of(page, "count").get_by_role("button", name="This step").click()
    expect(page.get_by_role("alert")).to_contain_text("Step 2 reads what step 1 gives")
    page.get_by_role("button", name="Test all of it").click()
    expect(page.get_by_role("alert")).to_contain_text("text")
