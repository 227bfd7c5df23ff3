"""The product whose models answer by a script, in a browser: fixtures to import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from agents.models import Agent
from chat.models import Conversation
from tests.factories import make_agent, make_builtin, make_conversation, make_person
from tests.fakes.model_server import MODEL, ModelServer, served
from tests.live import Live, Process, environment, eventually, free_port

__all__ = ["agent", "live", "model", "open_chat", "person", "scripted_web"]

SignIn = Callable[[str], None]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with served() as server:
        yield server


@pytest.fixture(scope="module")
def scripted_web(
    live_processes: Live, model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """Run one more web process, whose models answer by a script."""
    port = free_port()
    env = {**environment(), "OPENAI_API_BASE": model.url, "OPENAI_API_KEY": "sk-scripted"}
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port)]
    log = Path(tmp_path_factory.mktemp("scripted")) / "web.log"
    web = Process("web", command, env, log)
    web.start()
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        try:
            return httpx.get(f"{url}/healthz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    try:
        eventually(ready, seconds=90, what="the web process's start")
        yield replace(live_processes, url=url)
    finally:
        web.stop()


@pytest.fixture
def live(live: Live, scripted_web: Live, model: ModelServer) -> Live:
    """Give the product whose models answer by a script, on an empty database."""
    model.requests.clear()
    model._script.clear()
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
    expect(page.get_by_role("button", name="Send")).to_be_enabled(timeout=30_000)
