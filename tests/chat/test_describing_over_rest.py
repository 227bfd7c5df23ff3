"""A sequence described in words by REST."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from registry.models import Tool
from sequences.models import SequenceDraft
from sequences.proposals import PROPOSE
from tests import factories
from tests.chat.test_describing import PROPOSAL, WORDS
from tests.fakes.model_server import MODEL, Call, ModelServer
from tests.rest.callers import by

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS, JSON = "/api/v1/sequences/describe/", "application/json"


@pytest.fixture
def scripted(settings: pytest.FixtureRequest, model: ModelServer) -> ModelServer:
    for name in ("trim_text", "count_text"):
        factories.make_builtin(name)
    settings.OUTFITTER_MODEL = MODEL
    return model


def test_what_a_model_makes_of_words_is_a_draft(alice: User, scripted: ModelServer) -> None:
    token = by(alice, "chat", "tools:write", "tools:read")
    assert Client().get(ADDRESS, **token).json() == [{"name": MODEL, "demo": False}]
    scripted.calls(Call(PROPOSE, PROPOSAL))
    answer = Client().post(ADDRESS, {"words": WORDS}, JSON, **token)
    assert answer.status_code == 201, answer.content
    row = SequenceDraft.objects.get()
    told = answer.json()
    assert (told["draft"], told["tries"], told["drafts"]) == (str(row.pk), 1, [])
    assert told["madeOfIt"] == "Two steps: clean, then count."
    assert told["leftOpen"] == ["Nothing is sent anywhere."]
    draft = Client().get(answer["Location"], **token).json()
    assert (draft["name"], draft["sequence"]) == ("Clean and count", None)
    assert not Tool.objects.filter(kind="sequence").exists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"words": WORDS, "model": "unknown/model"}, "invalid_input"),
        ({"words": " "}, "invalid_input"),
        ({"words": "x" * 4_001}, "invalid_input"),
    ],
)
def test_words_and_model_are_checked_before_anything_is_asked(
    alice: User, scripted: ModelServer, body: dict[str, str], code: str
) -> None:
    answer = Client().post(ADDRESS, body, JSON, **by(alice))
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert scripted.requests == []


def test_a_model_that_proposes_nothing_leaves_nothing(alice: User, scripted: ModelServer) -> None:
    scripted.enqueue("I would rather not.")
    answer = Client().post(ADDRESS, {"words": WORDS}, JSON, **by(alice))
    assert (answer.status_code, answer.json()["code"]) == (422, "nothing_drafted")
    assert "I would rather not." in answer.json()["message"]
    assert not SequenceDraft.objects.exists()


@pytest.mark.parametrize("scope", ["chat", "tools:write"])
def test_a_token_needs_both_scopes(alice: User, scope: str) -> None:
    answer = Client().post(ADDRESS, {"words": WORDS}, JSON, **by(alice, scope))
    assert answer.status_code == 403
