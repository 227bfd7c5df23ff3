"""What the relevance scale is fitted and measured on: labelled sets in registries of many sizes."""

import csv
import json
import random
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from registry.search.dense.encoder import Encoder, Floats
from registry.search.dense.texts import asked, digest_of, text_of
from registry.search.dense.vectors import Vectors, packed
from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.need import Need
from tests.registry.search.no_answer import fresh_messages, messages, short_requests

SMALL = 24
LARGE = 100_000


class Query(NamedTuple):
    kind: str
    text: str
    recent: tuple[str, ...] = ()
    relevant: frozenset[str] = frozenset()
    held_out: bool = False


class Seen(NamedTuple):
    registry: str
    query: Query
    hits: tuple[bool, ...]
    scores: tuple[float, ...]
    rows: np.ndarray
    is_meant: bool
    """Whether it was ranked by meaning, too; `rows` have the cosines then, in the last column."""


class Meanings:
    """The vectors of an encoder, each worked out once and kept in a file by its text's digest."""

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        self._encoder = encoder
        self._file = folder / f"texts-{encoder.name.replace('/', '-')}.npz"
        self._texts: dict[bytes, Floats] = {}
        if self._file.exists():
            with np.load(self._file) as kept:
                digests = map(bytes, kept["digests"])
                self._texts = dict(zip(digests, kept["vectors"], strict=True))
        self.vectors = Vectors(encoder.dimensions)

    def keep(self) -> None:
        """Write what was worked out for the next run."""
        digests = np.array([list(digest) for digest in self._texts], np.uint8)
        np.savez(self._file, digests=digests, vectors=np.array(list(self._texts.values())))

    def learn(self, tools: Iterable[SearchDocument]) -> None:
        new = [tool for tool in tools if tool.id not in self.vectors]
        self.vectors.put((tool.id, packed(self._of(text_of(tool)))) for tool in new)

    def of(self, need: Need) -> Floats | None:
        told = asked(need)
        return told and told.vector({text: self._of(text) for text in told.texts})

    def _of(self, text: str) -> Floats:
        digest = digest_of(text)
        if digest not in self._texts:
            self._texts[digest] = self._encoder.encode([text])[0]
        return self._texts[digest]


def documents(folder: Path) -> Iterator[SearchDocument]:
    for line in (folder / "tools.jsonl").open(encoding="utf-8"):
        tool = json.loads(line)
        parameters = tool.get("parameters") or []
        texts = ("description", "category", "package", "package_description")
        yield SearchDocument(
            id=f"{folder.name}/{tool['id']}",
            name=tool["name"],
            parameters=tuple(each["name"] for each in parameters),
            parameter_descriptions=tuple(each.get("description") or "" for each in parameters),
            examples=tuple(tool.get("examples") or ()),
            **{text: tool.get(text) or "" for text in texts},
        )


def queries(folder: Path) -> Iterator[Query]:
    for line in (folder / "queries.jsonl").open(encoding="utf-8"):
        item = json.loads(line)
        relevant = frozenset(f"{folder.name}/{each}" for each in item["relevant"])
        yield Query(folder.name, item["query"], tuple(item.get("history") or ()), relevant)


def unanswerable() -> list[Query]:
    fresh = [Query(f"fresh: {each.kind}", each.text, held_out=True) for each in fresh_messages()]
    known = [Query(f"no: {each.kind}", each.text, held_out=each.held_out) for each in messages()]
    return known + fresh


def short() -> list[Query]:
    """Return short requests, which any tool found in a large registry counts as right for."""
    return [Query("short", each.text, held_out=each.held_out) for each in short_requests()]


def own_words(tools: list[SearchDocument], count: int, rng: random.Random) -> Iterator[Query]:
    """Yield short requests: the name of a tool, and the first words of its description."""
    for tool in rng.sample(tools, min(count, len(tools))):
        relevant = frozenset(each.id for each in tools if each.name == tool.name)
        yield Query("own words", tool.name, relevant=relevant)
        yield Query("own words", " ".join(tool.description.split()[:6]), relevant=relevant)


def seen(
    registry: str,
    engine: Engine,
    asked_for: Iterable[Query],
    meanings: Meanings | None,
    *,
    is_out: bool = False,
) -> Iterator[Seen]:
    """Yield what each query finds; with `is_out` among all tools but those that are right."""
    for query in asked_for:
        need, mask = Need(text=query.text, recent=query.recent), None
        if is_out:
            mask = engine.alive.copy()
            mask[[engine.slot(each) for each in query.relevant]] = False
        for with_meaning in (False, True)[: 1 if meanings is None else 2]:
            vector = meanings.of(need) if with_meaning and meanings else None
            vectors = meanings.vectors if meanings and vector is not None else None
            ranked = engine.rank(need, limit=5, mask=mask, vectors=vectors, query_vector=vector)
            ids = [each.id for each in ranked]
            rows = engine.features(query.text, ids)
            if with_meaning:
                near = vectors.likeness(ids, vector) if vectors and vector is not None else []
                rows = np.c_[rows, np.nan_to_num(near)] if ids else rows[:0]
            hits = tuple(each in query.relevant for each in ids)
            scores = tuple(each.score for each in ranked)
            yield Seen(registry, query, hits, scores, rows, with_meaning)


def collect(folders: list[Path], others: Path | None, meanings: Meanings | None) -> Iterator[Seen]:
    rng = random.Random(5)
    none = unanswerable()
    tools_of = {folder.name: list(documents(folder)) for folder in folders}
    asked_of = {folder.name: list(queries(folder)) for folder in folders}
    pool = [tool for tools in tools_of.values() for tool in tools]
    some = [each for own in asked_of.values() for each in rng.sample(own, min(300, len(own)))]
    if meanings:
        meanings.learn(pool)
    for name, tools in tools_of.items():
        own, engine = asked_of[name], Engine.build(tools)
        words = own_words(tools, 60, rng)
        yield from seen(name, engine, [*own, *none, *words], meanings)
        for other, asker in permutations(asked_of, 2):
            if other == name:
                foreign = rng.sample(asked_of[asker], min(60, len(asked_of[asker])))
                yield from seen(name, engine, _out("foreign", foreign), meanings)
        for _ in range(3):
            few = rng.sample(tools, min(SMALL, len(tools)))
            ids = {tool.id for tool in few}
            fits = [each._replace(relevant=each.relevant & ids) for each in own]
            fits = [each for each in fits if each.relevant]
            fits = rng.sample(fits, min(150, len(fits)))
            every = [*fits, *none, *own_words(few, SMALL, rng)]
            yield from seen(f"{SMALL} of {name}", Engine.build(few), every, meanings)
    for _ in range(60):
        few = rng.sample(pool, rng.choice([1, 2, 3, 5]))
        every = [*rng.sample(none, 60), *own_words(few, 5, rng)]
        yield from seen("1-5", Engine.build(few), every, meanings)
    every = [*some, *none, *own_words(pool, 150, rng), *short()]
    engine = Engine.build(pool)
    yield from seen("pooled", engine, every, meanings)
    yield from seen("pooled", engine, _out("removed", some), meanings, is_out=True)
    if others:
        more = list(table(others, LARGE - len(pool), rng))
        yield from seen("100k", Engine.build([*pool, *more]), every, None)


def _out(kind: str, asked_for: list[Query]) -> list[Query]:
    """Return queries as ones that no tool answers."""
    return [
        each._replace(kind=f"{kind}: {each.kind}", held_out=number % 2 == 1)
        for number, each in enumerate(asked_for)
    ]


def table(path: Path, count: int, rng: random.Random) -> Iterator[SearchDocument]:
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    lines = [row for row in lines[1:] if len(row) > 3 and len(row[3]) > 14]
    for row in rng.sample(lines, min(count, len(lines))):
        package, _, name = row[0].rpartition("/")
        yield SearchDocument(id=f"other/{row[0]}", name=name, description=row[3], package=package)
