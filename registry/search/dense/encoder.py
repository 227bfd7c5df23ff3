"""What turns texts into vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class EncoderUnavailable(Exception):
    """An encoder gave no vectors now: what it needs is missing, or its service failed."""


class EncoderRefused(Exception):
    """An encoder will never take one of these texts."""


class Encoder(Protocol):
    """Something that turns texts into vectors. Safe to be called from several threads."""

    @property
    def name(self) -> str:
        """Return what its vectors are kept under; other vectors, another name."""

    @property
    def dimensions(self) -> int:
        """Return how long a vector is; 0 where that is not known before the first."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return a vector of length 1 for each text, as rows.

        Raises EncoderUnavailable, or EncoderRefused where one of the texts is to blame.
        """


def normalised(vectors: Floats) -> Floats:
    """Return rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Floats = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return rows
