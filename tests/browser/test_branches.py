"""Other answers, other messages and messages that wait, in a browser."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from agents.models import Agent
from chat.models import Conversation
from tests import factories
from tests.browser.scripted import live, model
from tests.factories import make_person
from tests.fakes.model_server import MODEL, ModelServer, Reply

__all__ = ["live", "model"]

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def conversation(live: object) -> Conversation:
    ann = make_person("ann")
    tools = [factories.make_builtin("calculator")]
    agent: Agent = factories.make_agent(ann, *tools, name="Helper", model="demo/offline")
    return factories.make_conversation(ann, agent)


def send(page: Page, words: str) -> None:
    page.get_by_label("Message to Helper").fill(words)
    page.keyboard.press("Enter")


def settled(page: Page, turns: int) -> None:
    expect(page.locator("#thread > section")).to_have_count(turns)
    expect(page.locator("#thread .spinner")).to_have_count(0)


def test_an_answer_is_regenerated_a_message_edited_and_every_branch_found_again(
    conversation: Conversation, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("ann")
    page.goto(f"/chat/{conversation.pk}/")
    send(page, "What is 17 * 23?")
    settled(page, 1)
    send(page, "What is 2 * 3?")
    settled(page, 2)

    page.get_by_role("button", name="Regenerate").last.click()
    expect(page.locator(".branches")).to_contain_text("2/2")  # as many turns as before
    settled(page, 2)

    page.get_by_role("link", name="Edit message").first.click()
    box = page.get_by_label("Message", exact=True)
    expect(box).to_have_value("What is 17 * 23?")
    shoot(page, "edit-message")
    box.fill("What is 5 * 5?")
    page.get_by_role("button", name="Send", exact=True).first.click()
    settled(page, 1)
    expect(page.locator("#thread")).to_contain_text("25")
    expect(page.get_by_role("heading", name="What is 5 * 5?")).to_be_visible()
    shoot(page, "branches")

    page.get_by_role("button", name="Previous branch").click()
    expect(page.locator("#thread > section")).to_have_count(2)
    expect(page.locator("#thread")).to_contain_text("391")
    page.reload()
    expect(page.locator("#thread")).to_contain_text("391")
    expect(page.locator(".branches")).to_have_count(2)


def test_messages_wait_and_are_sent_one_after_the_other_without_a_reload(
    conversation: Conversation, model: ModelServer, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    Agent.objects.filter(pk=conversation.agent_id).update(model=MODEL, discovery_mode="linked")
    held = threading.Event()  # the first answer lasts until all have been queued
    model.enqueue(Reply("I can work out sums.", hold=held), "It is 6.", "It is 9.")
    sign_in("ann")
    page.goto(f"/chat/{conversation.pk}/")
    send(page, "Hello, what can you do for me in all the words that you have?")
    expect(page.get_by_role("button", name="Queue the message")).to_be_visible()
    for words in ("What is 2 * 3?", "What is 3 * 3?", "Never mind"):
        send(page, words)
        expect(page.locator("#queue")).to_contain_text(words)
    shoot(page, "queue")
    page.get_by_role("button", name="Remove “Never mind”").click()
    expect(page.locator("#queue")).not_to_contain_text("Never mind")
    held.set()
    settled(page, 3)
    expect(page.locator("#queue")).to_have_text("")
    expect(page.locator("#thread > section").last).to_contain_text("9")
    assert conversation.turns.count() == 3
