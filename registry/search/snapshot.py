"""Keep arrays in one file that is either whole and meant for its reader, or not read at all."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"OUTFITTER-SEARCH"
DIGEST_BYTES = 32
LENGTH_BYTES = 8
ALIGNED = 64
"""Bytes that an array starts at a multiple of, as processors read them best."""

KINDS = "?iuf"
"""Kinds of numbers that an array may hold; never objects."""


class SnapshotUnusable(Exception):
    """The file is not whole, or was written by or for another; the message says which."""


@dataclass(frozen=True)
class Snapshot:
    """Arrays and texts, and what must be as it was then for them to be of use."""

    fits: Mapping[str, str]
    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Write a file at once: whoever reads it finds the old one or the new one."""
    places: dict[str, Any] = {}
    end = 0
    for name, array in snapshot.arrays.items():
        start = -(-end // ALIGNED) * ALIGNED
        places[name] = [array.dtype.str, list(array.shape), start]
        end = start + array.nbytes
    told = {"fits": dict(snapshot.fits), "facts": snapshot.facts, "arrays": places}
    header = json.dumps(told, ensure_ascii=False).encode()
    body = bytearray(end)
    for name, array in snapshot.arrays.items():
        start = places[name][2]
        body[start : start + array.nbytes] = np.ascontiguousarray(array).tobytes()
    length = len(header).to_bytes(LENGTH_BYTES, "big")
    digest = _digest(length, header, body)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in (MAGIC, digest, length, header, body):
                file.write(part)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_snapshot(path: Path, fits: Mapping[str, str]) -> Snapshot:
    """Return what a file holds. Raises SnapshotUnusable, and OSError where it cannot be read."""
    data = memoryview(path.read_bytes())
    begin = len(MAGIC) + DIGEST_BYTES
    head = begin + LENGTH_BYTES
    if len(data) < head or data[: len(MAGIC)] != MAGIC:
        raise SnapshotUnusable("it is no snapshot of the search index")
    if _digest(data[begin:]) != data[len(MAGIC) : begin]:
        raise SnapshotUnusable("it is damaged")
    body = head + int.from_bytes(data[begin:head], "big")
    try:
        told = json.loads(bytes(data[head:body]))
        other = [name for name, value in fits.items() if told["fits"].get(name) != value]
        if other:
            raise SnapshotUnusable(f"it is of another {' and '.join(other)}")
        arrays = {name: _array(data[body:], *place) for name, place in told["arrays"].items()}
        return Snapshot(told["fits"], told["facts"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise SnapshotUnusable("it is not laid out as a snapshot is") from problem


def _array(body: memoryview, dtype: str, shape: list[int], start: int) -> NDArray[Any]:
    kind = np.dtype(dtype)
    if kind.kind not in KINDS and kind != np.bool_:
        raise ValueError(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(body, dtype=kind, count=count, offset=start).reshape(shape)


def _digest(*parts: bytes | bytearray | memoryview) -> bytes:
    digest = blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()
