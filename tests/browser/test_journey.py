"""An owner makes a tool out of a template: tried step by step, published, run, watched."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from registry.builtins import BUILTINS
from sequences.models import DraftOutput, Run, SequenceDraft
from tests import factories
from tests.live import eventually

SignIn = Callable[[str], None]
Shoot = Callable[[Page, str], None]

START = "Start from Check a table and keep what is wrong"
TABLE = "name,email\nAda,ada@x.example\nBob,"


@pytest.fixture
def ada(live: object) -> User:
    for name in BUILTINS:
        factories.make_builtin(name)
    return factories.make_person("ada")


def test_from_a_template_through_tests_to_a_run_that_asks(
    ada: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("ada")
    page.goto("/sequences/new")
    page.get_by_role("link", name="Start from a template").click()
    page.get_by_role("button", name=START).click()
    page.wait_for_url("**/sequences/drafts/**")
    draft = SequenceDraft.objects.get()
    keys = [step["key"] for step in draft.document["steps"]]

    # It is tried at once with the input that the template brought along.
    expect(page.get_by_role("heading", name="Test input")).to_be_visible()
    expect(page.locator("#run-rule")).not_to_have_value("")
    page.locator("#run-table").fill(TABLE)
    page.locator(f"#test-step-{keys[0]}").click()
    first = page.locator(f"#tested-{keys[0]}")
    expect(first).to_contain_text(re.compile(r"Tested\b"))
    # The checks beside the rows know at once what it gave.
    expect(page.locator("#steps-1-in-1-check")).to_contain_text("ada@x.example")
    first.get_by_text("What it gave").click()
    page.locator(f"#test-until-{keys[1]}").click()
    second = page.locator(f"#tested-{keys[1]}")
    expect(second).to_contain_text(re.compile(r"Tested\b"))
    expect(page.locator(f"#output-{keys[0]}")).to_be_visible()  # what was open is open still

    # An output is edited, and what read it is told to be older.
    output = page.locator(f"#output-{keys[0]}")
    output.fill(output.input_value().replace("ada@x.example", "nobody"))
    page.locator(f"#test-edit-{keys[0]}").click()
    expect(first).to_contain_text("Edited by hand")
    expect(second).to_contain_text("What it reads is newer")
    shoot(page, "journey-tested")

    # The picture leads to the step; the step is given a name of its own.
    page.locator(f"a.flow-box[href='#step-{keys[1]}']").click()
    expect(page.locator(f"#step-{keys[1]}")).to_be_in_viewport()
    page.locator("#steps-1-title").fill("Those to mend")
    expect(page.locator("#draft-flow")).to_contain_text("Those to mend")
    expect(page.locator("#draft-safety")).to_contain_text("read-only")

    page.locator("#save-run").click()
    page.wait_for_url("**/run")
    page.get_by_label("Table").fill(TABLE)
    page.get_by_label("Rule").fill("contains(email, '@')")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*/")
    page.get_by_label("Remark").fill("ring Bob")
    page.goto("/")
    page.get_by_role("region", name="Waiting for you").get_by_role("link").last.click()
    page.get_by_label("Remark").fill("ring Bob")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#run [role=status]")).to_have_text("Succeeded")
    run = Run.objects.get(draft=None)
    assert run.output["remark"] == "ring Bob"
    assert [row["name"] for row in run.output["wrong"]] == ["Bob"]
    assert DraftOutput.objects.filter(draft=draft, is_edited=True).count() == 1


def test_a_test_that_asks_is_answered_and_seen_in_the_builder_without_a_reload(
    ada: User, page: Page, sign_in: SignIn
) -> None:
    sign_in("ada")
    page.goto("/sequences/templates/")
    page.get_by_role("button", name=START).click()
    page.wait_for_url("**/sequences/drafts/**")
    expect(page.get_by_role("heading", name="Test input")).to_be_visible()
    page.get_by_role("button", name="Test all of it").click()
    status = page.locator("#test-results [role=status]")
    expect(status).to_have_text("Waits for a person")
    test = Run.objects.get()
    other = page.context.new_page()
    other.goto(f"/runs/{test.pk}/")
    other.get_by_role("button", name="Approve").click()
    expect(other.locator("#run [role=status]")).to_have_text("Succeeded")
    other.close()
    expect(status).to_have_text("Succeeded")
    expect(page.locator("#test-results")).to_contain_text('"good"')
    eventually(lambda: DraftOutput.objects.filter(draft=test.draft).count() == 4)
