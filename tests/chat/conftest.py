"""A scripted model, and turns that are run to their end."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.test import AsyncClient

from chat import services, turns
from chat.llm import library
from chat.models import Conversation, InputRequest, Turn
from chat.models.turn import AT_WORK, OPEN, TurnStatus
from registry.search import service as search_service
from tests.fakes.model_server import ModelServer, served
from tests.live import eventually

PATIENCE = 120
"""Seconds that a busy machine may take for a turn, which a quiet one does in one or two."""


@pytest.fixture(autouse=True)
def _fresh_search_index() -> Iterator[None]:
    """Let no index, and no connection that listens for changes, outlive a test."""
    yield
    search_service.reset()


@pytest.fixture(scope="session")
def _served_model() -> Iterator[ModelServer]:
    library.load()  # takes seconds, which are none of the first test's
    with served() as model:
        yield model


@pytest.fixture
def model(_served_model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Give the scripted model, with an empty script.

    A turn that a test leaves at work ends before the next test, whose script it would read.
    """
    monkeypatch.setenv("OPENAI_API_BASE", _served_model.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted-secret-key")
    # the waits are the product's, only shorter
    monkeypatch.setattr(settings, "MODEL_RETRY_SECONDS", 0.01)
    _served_model.requests.clear()
    _served_model._script.clear()
    _served_model.keyed.clear()
    _served_model._embeddings.clear()
    yield _served_model
    eventually(lambda: not turns._running, seconds=PATIENCE, what="the end of the test's turns")


def waiting(turn: Turn) -> list[InputRequest]:
    """Wait until a turn waits for a person, and return what it asks."""

    def look() -> bool:
        turn.refresh_from_db()
        return turn.status not in AT_WORK

    eventually(look, seconds=PATIENCE, what="the turn's pause")
    assert turn.status == TurnStatus.WAITING, turn.error
    return list(turn.input_requests.filter(answered_at=None).order_by("created_at", "pk"))


def finished(turn: Turn) -> Turn:
    """Wait until a turn is over and return it as it is then."""

    def look() -> bool:
        turn.refresh_from_db()
        return turn.status not in OPEN

    eventually(look, seconds=PATIENCE, what="the turn's end")
    return turn


@pytest.fixture
async def async_client(alice: User) -> AsyncIterator[AsyncClient]:
    """Give a client that streams, signed in as Alice."""
    client = AsyncClient()
    await client.aforce_login(alice)
    yield client
    # requests ran in the one thread that asgiref keeps; its connection would outlive the test
    await sync_to_async(connections.close_all)()


@pytest.fixture
def say(transactional_db: None) -> Callable[..., Turn]:
    """Return a function that sends a message and waits for the end of its turn."""

    def send(conversation: Conversation, content: str, **fields: object) -> Turn:
        return finished(services.message_send(conversation, content=content, **fields))

    return send
