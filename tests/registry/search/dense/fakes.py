"""An encoder in which words that mean the same have the same place."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Sequence

import numpy as np

from registry.search.dense.encoder import EncoderRefused, EncoderUnavailable, Floats, normalised

DIMENSIONS = 64
SAME = {"rain": "weather", "umbrella": "weather", "forecast": "weather", "cash": "money"}


class FakeEncoder:
    """Counts what it is asked; waits, fails or refuses as a test says."""

    def __init__(self, name: str = "fake/1") -> None:
        self.name = name
        self.dimensions = DIMENSIONS
        self.seen: list[str] = []
        self.fails = False
        self.refuses = ""
        self.hold: threading.Event | None = None

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return vectors of words; `seen` grows by the texts."""
        if self.hold is not None:
            self.hold.wait(60)
        if self.fails:
            raise EncoderUnavailable("The encoder is away.")
        if self.refuses and any(self.refuses in text for text in texts):
            raise EncoderRefused("This text is too strange.")
        self.seen += texts
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"[a-z]{3,}", text.lower()):
                row[zlib.crc32(SAME.get(word, word).encode()) % DIMENSIONS] += 1
        return normalised(rows)
