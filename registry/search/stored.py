"""A reader's replica as a snapshot on disk, and back."""

import inspect
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.search import (
    bm25,
    bulk,
    catalogue,
    columns,
    document,
    engine,
    forward,
    kept,
    names,
    postings,
    tokens,
    weights,
    words,
)
from registry.search.columns import Columns
from registry.search.engine import Engine
from registry.search.names import Names
from registry.search.position import Position
from registry.search.reader import Reader
from registry.search.replica import Replica
from registry.search.snapshot import Snapshot, SnapshotUnusable

_CODE = (
    *(bm25, bulk, catalogue, columns, document, engine),
    *(forward, kept, names, postings, tokens, weights, words),
)
"""What decides how a tool stands in the index: another version of it needs another index."""


@cache
def code_digest() -> str:
    """Return what changes with the code that reads tools into the index."""
    digest = blake2b(version("snowballstemmer").encode(), digest_size=16)
    for module in _CODE:
        digest.update(inspect.getsource(module).encode())
    return digest.hexdigest()


def fits_of(cluster: str, tables: str) -> dict[str, str]:
    """Return what a snapshot has to share with its reader."""
    return {"version": code_digest(), "database": f"{cluster}/{tables}"}


def snapshot_of(reader: Reader, cluster: str) -> Snapshot:
    """Return what a reader has read; the reader must not be written meanwhile."""
    arrays, texts = reader.replica.engine.arrays()
    rows, interned = reader.replica.columns.arrays()
    return Snapshot(
        fits=fits_of(cluster, reader.position.tables),
        facts={
            "oldest": reader.position.oldest,
            "newest": reader.position.newest,
            "texts": texts,
            "interned": interned,
        },
        arrays={
            **_named("index", arrays),
            **_named("column", rows),
            **_named("name", reader.replica.names.arrays()),
        },
    )


def reader_of(snapshot: Snapshot, tables: str) -> Reader:
    """Return the reader that a snapshot was made of. Raises SnapshotUnusable."""
    try:
        facts = snapshot.facts
        index = Engine.from_arrays(_of("index", snapshot.arrays), facts["texts"])
        rows = Columns.from_arrays(_of("column", snapshot.arrays), facts["interned"])
        names = Names.from_arrays(_of("name", snapshot.arrays), index.ids)
        position = Position(int(facts["oldest"]), int(facts["newest"]), tables)
    except (KeyError, ValueError, TypeError, IndexError) as problem:
        raise SnapshotUnusable("it is not laid out as this version lays it out") from problem
    return Reader(Replica(index, rows, names), position)


def _named(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {f"{prefix}.{name}": np.asarray(array) for name, array in arrays.items()}


def _of(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    start = f"{prefix}."
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
