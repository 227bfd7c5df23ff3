"""The model in numpy, in full precision: where onnxruntime is missing, and as its reference."""

import numpy as np
from scipy.special import erf

from registry.search.dense.bert import Files, Integers
from registry.search.dense.encoder import Floats, normalised


class Forward:
    """Callable as `forward(ids, mask) → vectors of length 1`."""

    def __init__(self, files: Files) -> None:
        self._weights = files.weights()
        self._layers: int = files.config["num_hidden_layers"]
        self._heads: int = files.config["num_attention_heads"]
        self._epsilon: float = files.config["layer_norm_eps"]

    def __call__(self, ids: Integers, mask: Integers) -> Floats:
        """Return the mean of the tokens of each text."""
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        places = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        states = self._norm("embeddings.LayerNorm", words + places + kind)
        hidden = np.where(mask, 0, np.finfo(np.float32).min).astype(np.float32)[:, None, None, :]
        for number in range(self._layers):
            states = self._layer(f"encoder.layer.{number}", states, hidden)
        present = mask[..., None].astype(np.float32)
        total: Floats = (states * present).sum(axis=1) / present.sum(axis=1)
        return normalised(total)

    def _layer(self, name: str, states: Floats, hidden: Floats) -> Floats:
        texts, length, width = states.shape
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", states)
            .reshape(texts, length, self._heads, -1)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(query.shape[-1] ** 0.5) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ value).transpose(0, 2, 1, 3).reshape(texts, length, width)
        seen = self._linear(f"{name}.attention.output.dense", seen)
        states = self._norm(f"{name}.attention.output.LayerNorm", seen + states)
        inner = self._linear(f"{name}.intermediate.dense", states)
        inner = inner * (1 + erf(inner / np.float32(2**0.5))) / 2
        return self._norm(
            f"{name}.output.LayerNorm", self._linear(f"{name}.output.dense", inner) + states
        )

    def _linear(self, name: str, states: Floats) -> Floats:
        product: Floats = states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return product

    def _norm(self, name: str, states: Floats) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._epsilon)
        scaled: Floats = centred / spread * self._weights[f"{name}.weight"]
        return scaled + self._weights[f"{name}.bias"]
