"""Vectors by a provider: LiteLLM's own HTTP path against the scripted server."""

import threading

import numpy as np
import pytest

from chat import embedding
from chat.embedding import LiteLlmEncoder
from registry.models import ToolVector
from registry.search.dense import choice, meaning
from registry.search.dense.choice import chosen_encoder
from registry.search.dense.encoder import EncoderRefused, EncoderUnavailable
from registry.search.dense.storing import vectors_round
from tests.factories import make_tool
from tests.fakes.model_server import DIMENSIONS, EMBEDDING_MODEL, Embedding, vector_of


@pytest.fixture
def encoder(model):
    return LiteLlmEncoder(EMBEDDING_MODEL)


def test_the_texts_go_in_one_request_and_come_back_in_order(encoder, model):
    vectors = encoder.encode(["heavy rain", "cold snow"])
    assert [request["input"] for request in model.requests] == [["heavy rain", "cold snow"]]
    assert model.requests[0]["model"] == "scripted-embedding"
    assert vectors.shape == (2, DIMENSIONS) == (2, encoder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    expected = np.array(vector_of("cold snow")) / np.linalg.norm(vector_of("cold snow"))
    assert np.allclose(vectors[1], expected, atol=1e-5)


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
def test_a_provider_that_does_not_answer_is_unavailable_and_says_what_to_do(encoder, model, status):
    model.embeds(Embedding(status=status, error={"message": "No: sk-scripted-secret-key"}))
    with pytest.raises(EncoderUnavailable) as told:
        encoder.encode(["rain"])
    assert EMBEDDING_MODEL in str(told.value)
    assert "sk-scripted-secret-key" not in str(told.value)


def test_a_text_that_the_provider_does_not_take_is_refused(encoder, model):
    model.embeds(Embedding(status=400, error={"message": "This text is too long."}))
    with pytest.raises(EncoderRefused):
        encoder.encode(["rain"])


def test_a_server_that_is_not_there_is_unavailable(encoder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    with pytest.raises(EncoderUnavailable):
        encoder.encode(["rain"])


def test_a_provider_is_not_waited_for_for_ever(encoder, model, monkeypatch):
    monkeypatch.setattr(embedding, "SECONDS", 0.2)
    hold = threading.Event()
    model.embeds(Embedding(hold=hold))
    with pytest.raises(EncoderUnavailable):
        encoder.encode(["rain"])
    hold.set()


def test_vectors_of_other_lengths_are_not_taken(encoder, monkeypatch):
    monkeypatch.setattr("chat.llm.embed", lambda *_args, **_options: [[1.0, 0.0], [1.0]])
    with pytest.raises(EncoderUnavailable, match="other vectors"):
        encoder.encode(["rain", "snow"])


@pytest.mark.django_db
def test_a_model_that_is_set_by_its_name_works_out_the_vectors_of_tools(model, settings):
    settings.EMBEDDINGS = EMBEDDING_MODEL
    choice._encoder.cache_clear()
    encoder = chosen_encoder()
    assert isinstance(encoder, LiteLlmEncoder)
    tool = make_tool()
    assert vectors_round(encoder) == 1
    row = ToolVector.objects.get(tool=tool)
    assert (row.encoder, len(row.vector)) == (EMBEDDING_MODEL, DIMENSIONS)
    meaning.reset()
