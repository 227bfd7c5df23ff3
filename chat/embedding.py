"""Vectors by an embedding model that LiteLLM reaches: an encoder of the registry."""

from collections.abc import Sequence

import numpy as np

from chat import llm
from chat.errors import ContextTooLong, ModelError, ModelRefusedRequest
from registry.search.dense.encoder import (
    EncoderRefused,
    EncoderUnavailable,
    Floats,
    normalised,
)

SECONDS = 20.0
"""How long a provider may take. A search does not wait for it longer than its budget."""


class LiteLlmEncoder:
    """An embedding model by its LiteLLM string, such as `openai/text-embedding-3-small`."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._dimensions = 0

    @property
    def name(self) -> str:
        """Return the model's string."""
        return self._model

    @property
    def dimensions(self) -> int:
        """Return how long a vector is; 0 before the first."""
        return self._dimensions

    def encode(self, texts: Sequence[str]) -> Floats:
        """Ask the provider for the vectors of texts, in one request."""
        try:
            rows = llm.embed(self._model, texts, seconds=SECONDS)
        except (ContextTooLong, ModelRefusedRequest) as refusal:
            raise EncoderRefused(refusal.message) from refusal
        except ModelError as problem:
            raise EncoderUnavailable(f"{problem.message} {problem.hint}") from problem
        if len(rows) != len(texts) or len({len(row) for row in rows}) > 1:
            raise EncoderUnavailable(f"{self._model} gave other vectors than it was asked for.")
        vectors = normalised(np.array(rows, dtype=np.float32))
        self._dimensions = vectors.shape[1]
        return vectors
