"""The vectors of tools in memory, as 8-bit integers: 384 bytes each, 39 MB for 100,000."""

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.dense.encoder import Floats

STEPS = 127
FIRST_ROWS = 64
Bytes = NDArray[np.int8]


def packed(vector: Floats) -> bytes:
    """Return a vector as one signed byte a number, in steps of its largest.

    Its length is lost, which says nothing: vectors are compared by their angle.
    """
    most = float(np.abs(vector).max(initial=0.0)) or 1.0
    numbers: Bytes = np.rint(vector * (STEPS / most)).astype(np.int8)
    return numbers.tobytes()


def unpacked(value: bytes) -> Floats:
    """Return a packed vector with the length 1; one of zeros stays one."""
    numbers = np.frombuffer(value, dtype=np.int8).astype(np.float32)
    vector: Floats = numbers / (np.linalg.norm(numbers) or np.float32(1))
    return vector


class Vectors:
    """The vectors of one encoder by the ids of tools. Safe for several threads."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._lock = Lock()
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._numbers: Bytes = np.zeros((FIRST_ROWS, dimensions), dtype=np.int8)
        self._scales: Floats = np.zeros(FIRST_ROWS, dtype=np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._rows

    @property
    def memory(self) -> int:
        """Return how many bytes the numbers take."""
        return self._numbers.nbytes + self._scales.nbytes

    def put(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Add or replace packed vectors; those of another length are of another encoder."""
        with self._lock:
            fitting = [item for item in items if len(item[1]) == self.dimensions]
            rows = [self._row(tool_id) for tool_id, _ in fitting]
            joined = b"".join(value for _, value in fitting)
            numbers = np.frombuffer(joined, dtype=np.int8).reshape(-1, self.dimensions)
            self._numbers[rows] = numbers
            lengths = np.linalg.norm(numbers.astype(np.float32), axis=1)
            self._scales[rows] = 1 / np.where(lengths > 0, lengths, 1)

    def remove(self, tool_ids: Iterable[str]) -> None:
        """Take vectors out; those that are not there are passed over."""
        with self._lock:
            for tool_id in tool_ids:
                if (row := self._rows.pop(tool_id, None)) is not None:
                    self._free.append(row)

    def likeness(self, tool_ids: Sequence[str], query: Floats) -> Floats:
        """Return the cosine of each tool's vector and a query's; NaN for a tool without one."""
        with self._lock:
            rows = np.array([self._rows.get(tool_id, -1) for tool_id in tool_ids], dtype=np.intp)
            numbers, scales = self._numbers[rows], self._scales[rows]
        found: Floats = (numbers.astype(np.float32) @ query) * scales
        found[rows < 0] = np.nan
        return found

    def _row(self, tool_id: str) -> int:
        row = self._rows.get(tool_id)
        if row is None:
            row = self._free.pop() if self._free else len(self._rows)
            if row >= len(self._numbers):
                self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
                self._scales = np.concatenate([self._scales, np.zeros_like(self._scales)])
            self._rows[tool_id] = row
        return row


class Meaning(NamedTuple):
    """What an engine takes; `state` says why there is nothing, or that there is."""

    vectors: Vectors | None
    query: Floats | None
    state: str
