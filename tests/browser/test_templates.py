"""A person begins a sequence: from a template, a file, words; and mends one whose tool changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from registry.builtins import BUILTINS
from registry.models import Tool
from registry.services import tool_publish
from sequences.services import sequence_create
from sequences.template_library import TEMPLATES
from tests import factories
from tests.factories import make_person

Shoot = Callable[[Page, str], None]


@pytest.fixture
def ada() -> User:
    for name in BUILTINS:
        factories.make_builtin(name)
    return make_person("ada")


def test_a_template_becomes_a_draft_with_a_sample(
    live: object, page: Page, sign_in: Callable[[str], None], shoot: Shoot, ada: User
) -> None:
    sign_in("ada")
    page.goto("/sequences/")
    shoot(page, "beginnings-empty-list")
    page.get_by_role("link", name="Start from a template").click()
    expect(page.get_by_role("heading", name="Templates")).to_be_visible()
    shoot(page, "beginnings-templates")
    page.get_by_role("button", name="Start from Check a table and keep what is wrong").click()
    page.wait_for_url("**/sequences/drafts/**")
    expect(page.get_by_text("A draft was begun. Nothing is published yet.")).to_be_visible()
    shoot(page, "beginnings-started")


def test_an_import_is_looked_at_before_it_becomes_a_draft(
    live: object,
    page: Page,
    sign_in: Callable[[str], None],
    shoot: Shoot,
    ada: User,
    tmp_path: Path,
) -> None:
    document = TEMPLATES["deadlines"].as_json()
    document["tools"][0]["wireName"] = document["tools"][0]["export"] = "add_days"
    file = tmp_path / "deadlines.sequence.json"
    file.write_text(json.dumps(document))
    sign_in("ada")
    page.goto("/sequences/import")
    page.get_by_label("Or paste it").fill('{"outfitter": "sequence",')
    page.get_by_role("button", name="See what it comes to").click()
    expect(page.get_by_text("line 1, column")).to_be_visible()
    expect(page.get_by_label("Or paste it")).to_have_value('{"outfitter": "sequence",')
    shoot(page, "beginnings-import-refused")
    page.get_by_label("File").set_input_files(str(file))
    page.get_by_role("button", name="See what it comes to").click()
    expect(page.get_by_text("not here")).to_be_visible()
    shoot(page, "beginnings-import-preview")
    page.get_by_label("In place of add_days").select_option(label="Add to a date (date_add)")
    page.get_by_role("button", name="Look again with these tools").click()
    expect(page.get_by_text("All of its tools are here")).to_be_visible()
    shoot(page, "beginnings-import-whole")
    page.get_by_role("button", name="Begin a draft with it").click()
    page.wait_for_url("**/sequences/drafts/**")


def test_words_become_a_draft_or_stay_where_they_are(
    live: object, page: Page, sign_in: Callable[[str], None], shoot: Shoot, ada: User
) -> None:
    sign_in("ada")
    page.goto("/sequences/describe")
    page.get_by_label("What shall it do?").fill("Xyzzy qwfp zxcv")
    page.get_by_role("button", name="Make a draft").click()
    expect(page.locator("#describe-error")).to_be_visible()
    expect(page.get_by_label("What shall it do?")).to_have_value("Xyzzy qwfp zxcv")
    shoot(page, "beginnings-describe-none")
    words = "Trim the white space of a text, count its words and paint Venus"
    page.get_by_label("What shall it do?").fill(words)
    page.get_by_role("button", name="Make a draft").click()
    page.wait_for_url("**/sequences/drafts/**")
    expect(page.get_by_text("It understands no language").first).to_be_visible()
    shoot(page, "beginnings-described")


def test_a_changed_tool_is_told_and_mended_by_a_button(
    live: object, page: Page, sign_in: Callable[[str], None], shoot: Shoot, ada: User
) -> None:
    counter = Tool.objects.get(wire_name="count_text")
    source = {"source": "initialInput", "key": "text"}
    step = {"stepNumber": 1, "toolToRunId": str(counter.pk), "inputMapping": {"text": source}}
    sequence = sequence_create(
        ada,
        name="Count",
        description="Counts words.",
        definition={"format": 1, "steps": [step]},
        input_schema=factories.TEXT_SCHEMA,
    )
    schema = json.loads(json.dumps(counter.input_schema).replace('"text"', '"source_text"'))
    counter.input_schema = schema
    tool_publish(counter, author=None, reason="Renamed an input")
    sign_in("ada")
    page.goto("/sequences/")
    expect(page.get_by_text("“count_text” now needs “source_text”.")).to_be_visible()
    shoot(page, "repairs-list")
    page.get_by_role("link", name="Count", exact=True).click()
    expect(page.get_by_role("heading", name="Tools have changed")).to_be_visible()
    shoot(page, "repairs-builder")
    page.get_by_role("button", name="Give what “text” gave to “source_text”").click()
    expect(page.get_by_role("heading", name="Tools have changed")).to_be_hidden()
    page.goto(f"/sequences/{sequence.pk}/versions/")
    page.get_by_label("Name of version 1").fill("before the change")
    page.get_by_role("button", name="Name version 1").click()
    expect(page.get_by_text("Version 1 is called “before the change”.")).to_be_visible()
    shoot(page, "repairs-versions")
    page.get_by_role("button", name="Into the draft version 1").click()
    expect(page.get_by_role("heading", name="Tools have changed")).to_be_visible()
