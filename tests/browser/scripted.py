"""The product whose models answer by a script, in a browser: fixtures to import."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from agents.models import Agent
from chat.models import Conversation
from tests.factories import make_agent, make_builtin, make_conversation, make_person
from tests.fakes.model_server import MODEL, ModelServer
from tests.live import Live

__all__ = ["agent", "live", "model", "open_chat", "person"]

SignIn = Callable[[str], None]


@pytest.fixture
def model(scripted_model: ModelServer) -> ModelServer:
    """Give the scripted model, with an empty script."""
    scripted_model.requests.clear()
    scripted_model._script.clear()
    return scripted_model


@pytest.fixture
def live(live: Live, scripted_web: Live, model: ModelServer) -> Live:
    """Give the product whose models answer by a script, on an empty database."""
    return scripted_web


@pytest.fixture
def person(live: Live) -> User:
    return make_person("ada")


@pytest.fixture
def agent(person: User) -> Agent:
    tools = [make_builtin("calculator"), make_builtin("current_time")]
    return make_agent(
        person, *tools, name="Helper", slug="helper", model=MODEL, discovery_mode="linked"
    )


@pytest.fixture
def open_chat(person: User, agent: Agent, page: Page, sign_in: SignIn) -> Callable[..., None]:
    """Return a function that opens a conversation with the agent."""

    def act(conversation: Conversation | None = None) -> None:
        sign_in("ada")
        conversation = conversation or make_conversation(person, agent)
        page.goto(f"/chat/{conversation.pk}/")

    return act


def say(page: Page, words: str) -> None:
    page.get_by_label("Message to Helper").fill(words)
    page.get_by_role("button", name="Send").click()


def over(page: Page) -> None:
    """Wait until the agent has answered what was said last."""
    # until a message is taken the button that sent it is there still
    expect(page.locator("#composer")).not_to_have_class(re.compile("htmx-request"))
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
