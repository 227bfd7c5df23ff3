"""A tool lacks its key: the card asks for it; long results stand beside the conversation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from chat.artifacts import ConversationArtifacts
from chat.models import Conversation, Message, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from registry.errors import MissingCredential
from tests import factories
from tests.factories import make_person, make_turn

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def lacking(live: object) -> Conversation:
    """A conversation in which a tool lacked its key and another gave a long result."""
    user = make_person("admin", is_superuser=True)
    agent = factories.make_agent(user, name="Researcher", model="demo/offline")
    conversation = factories.make_conversation(user, agent, title="Search the web")
    turn = make_turn(conversation=conversation, number=1, model="demo/offline")
    error = MissingCredential(
        "exa_search needs EXA_API_KEY, which is not set.", missing=["EXA_API_KEY"]
    )
    error.tool = "@exalabs/ai-sdk::webSearch"
    call = {"id": "call_1", "name": "exa_search", "arguments": '{"query": "tools"}'}
    rows = [
        {"role": Role.USER, "content": "Search the web for tools"},
        {"role": Role.ASSISTANT, "tool_calls": [call]},
        {
            "role": Role.TOOL,
            "tool_call_id": "call_1",
            "result": {"status": "failed", "error": error.as_dict(), "duration_ms": 2},
        },
        {"role": Role.ASSISTANT, "content": "The search needs a key. Please set `EXA_API_KEY`."},
    ]
    for position, row in enumerate(rows):
        Message.objects.create(turn=turn, position=position, **row)
    Turn.objects.filter(pk=turn.pk).update(status=TurnStatus.RUNNING)
    Turn.objects.filter(pk=turn.pk).update(status=TurnStatus.COMPLETED)
    kept = ConversationArtifacts(conversation.pk)
    kept.save("export_rows.json", b"[1, 2, 3]" * 4000, "application/json")
    kept.save("notes.txt", b"A note.", "text/plain")
    return conversation


def test_a_missing_key_is_set_in_its_card_and_the_message_tried_again(
    lacking: Conversation, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto(f"/chat/{lacking.pk}/")
    card = page.locator(".tool-card").first
    expect(card.get_by_label("EXA_API_KEY")).to_be_visible()
    shoot(page, "chat-missing-key")
    card.get_by_label("EXA_API_KEY").fill("canary-value-1")
    card.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("EXA_API_KEY is set")
    names = page.get_by_role("list", name="Variables of this conversation")
    expect(names).to_contain_text("EXA_API_KEY")
    assert "canary-value-1" not in page.content()
    shoot(page, "chat-key-set")

    card.get_by_role("button", name="Try again").click()
    expect(page.locator(".branches")).to_contain_text("2/2")
    expect(page.locator("#thread > section")).to_have_count(1)
    expect(page.locator(".spinner")).to_have_count(0, timeout=60_000)
    expect(page.locator("#thread > section").last).to_contain_text("Search the web for tools")

    names.get_by_role("button", name="Remove EXA_API_KEY").click()
    expect(names).to_have_count(0)
    page.get_by_text("Set or replace one").click()
    page.get_by_label("Name", exact=True).fill("my key")
    page.get_by_label("Value", exact=True).fill("x")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.locator("#variables")).to_contain_text("is not a variable name")


def test_an_artifact_is_downloaded_from_the_side(
    lacking: Conversation, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/agents/credentials/?name=EXA_API_KEY")
    expect(page.get_by_label("Variable")).to_have_value("EXA_API_KEY")
    shoot(page, "credentials")
    page.goto(f"/chat/{lacking.pk}/")
    panel = page.locator("#artifacts")
    expect(panel).to_contain_text("export_rows.json")
    with page.expect_download() as download:
        panel.get_by_role("link", name="Download notes.txt").click()
    assert download.value.suggested_filename == "notes.txt"
    assert download.value.path().read_text() == "A note."
