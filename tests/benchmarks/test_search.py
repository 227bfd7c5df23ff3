"""What a search of the pure engine costs, beside rank-bm25 and beside itself.

Each message is new to what is cached by text. Reading the message is counted, explaining is not.
Time is that of the thread, because all of this is computing and other work would be counted else.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from registry.search.bm25 import Ints
from registry.search.document import SearchDocument, terms_of
from registry.search.engine import Engine
from registry.search.need import Need
from registry.search.tokens import tokenize
from tests.benchmarks.catalogue import Catalogue
from tests.benchmarks.measure import held, in_turns, rows_of

pytestmark = pytest.mark.bench

SMALL, LARGE = 10_000, 100_000
AT_ONCE = 25
"""Searches of one turn; its value is their median."""

FOUND = 5
CACHED = 256
"""Messages whose reading the engine keeps."""


@dataclass(frozen=True)
class Registry:
    """Made-up tools, and their index."""

    documents: list[SearchDocument]
    engine: Engine
    needs: list[Need]
    mask: np.ndarray

    @property
    def others(self) -> list[Need]:
        """Return the same messages from the middle on: the other side has not just read them."""
        middle = len(self.needs) // 2
        return [*self.needs[middle:], *self.needs[:middle]]

    @classmethod
    def of(cls, size: int) -> Registry:
        catalogue = Catalogue()
        documents = list(catalogue.documents(size))
        engine = Engine.build(documents)
        needs = catalogue.needs(600, earlier=3)
        for need in needs:  # a process that has searched for a while
            engine.rank(need)
        assert len({need.text for need in needs}) > CACHED
        half = np.random.default_rng(1).random(engine.size) < 0.5
        return cls(documents, engine, needs, half)


@pytest.fixture(scope="module")
def small() -> Registry:
    return Registry.of(SMALL)


@pytest.fixture(scope="module")
def large() -> Registry:
    return Registry.of(LARGE)


def measured(act: Callable[[], object]) -> float:
    """Return how long the thread computes, in milliseconds."""
    started = time.thread_time()
    act()
    return (time.thread_time() - started) * 1000


def many(act: Callable[[Need], object], needs: Sequence[Need]) -> Callable[[], float]:
    """Return what searches for the next needs and says the median of what one took."""
    left = cycle(needs)

    def turn() -> float:
        return statistics.median([measured(partial(act, next(left))) for _ in range(AT_ONCE)])

    return turn


def alone(need: Need) -> Need:
    return replace(need, recent=())


def best_of_rank_bm25(index: BM25Okapi) -> Callable[[Need], Ints]:
    def search(need: Need) -> Ints:
        return np.argsort(index.get_scores(tokenize(need.text)))[::-1][:FOUND]

    return search


def words_of(document: SearchDocument) -> list[str]:
    return [term for terms in terms_of(document) for term in terms]


@pytest.mark.parametrize(("size", "limit", "target"), [("small", 0.4, 0.1), ("large", 1.3, 0.01)])
def test_ranking_among_those_that_a_person_may_find(request, size, limit, target):
    registry: Registry = request.getfixturevalue(size)
    engine, mask = registry.engine, registry.mask
    other = best_of_rank_bm25(BM25Okapi([words_of(each) for each in registry.documents]))
    needs = cycle(registry.needs)
    runs = {
        "": many(lambda need: engine.rank(alone(need), mask=mask, limit=FOUND), registry.needs),
        "rank-bm25": lambda: measured(lambda: other(next(needs))),
    }
    name = f"search {len(registry.documents):,} tools"
    held(rows_of(name, in_turns(runs), {"rank-bm25": target}, limit))


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_mask_costs_no_more(request, size):
    registry: Registry = request.getfixturevalue(size)
    engine = registry.engine
    runs = {
        "": many(
            lambda need: engine.rank(alone(need), mask=registry.mask, limit=FOUND), registry.needs
        ),
        "unfiltered": many(lambda need: engine.rank(alone(need), limit=FOUND), registry.others),
    }
    name = f"filtered search, {len(registry.documents):,} tools"
    held(rows_of(name, in_turns(runs), {"unfiltered": 1.15}, None))


@pytest.mark.parametrize(("size", "target"), [("small", 1.75), ("large", 1.75)])
def test_three_earlier_messages(request, size, target):
    """In a conversation the earlier messages were read when they came.

    They have three times the words, whose postings are what takes time in a large registry.
    """
    registry: Registry = request.getfixturevalue(size)
    engine = registry.engine

    def in_conversation(needs: Sequence[Need]) -> Callable[[], float]:
        left = cycle(needs)

        def turn() -> float:
            taken = [next(left) for _ in range(AT_ONCE)]
            for need in taken:
                for text in need.recent:
                    engine.rank(Need(text=text), limit=FOUND)
            return statistics.median(
                [measured(partial(engine.rank, need, limit=FOUND)) for need in taken]
            )

        return turn

    runs = {
        "": in_conversation(registry.needs),
        "without them": many(lambda need: engine.rank(alone(need), limit=FOUND), registry.others),
    }
    name = f"search with history, {len(registry.documents):,} tools"
    held(rows_of(name, in_turns(runs), {"without them": target}, None))


def changed(documents: Sequence[SearchDocument]) -> Iterator[SearchDocument]:
    for number, document in enumerate(cycle(documents)):
        yield replace(document, description=f"{document.description} Changed {number}.")


def test_one_tool_updated_and_the_search_after_it(large):
    engine = Engine.build(large.documents)
    for need in large.needs:
        engine.rank(need)
    updates, needs = changed(large.documents), cycle(large.needs)
    searches: list[float] = []

    def update() -> float:
        took = []
        for _ in range(AT_ONCE):
            took.append(measured(partial(engine.put, next(updates))))
            need = alone(next(needs))
            searches.append(measured(partial(engine.rank, need, limit=FOUND)))
        return statistics.median(took)

    runs = {
        "": update,
        "build of a tenth": lambda: measured(lambda: Engine.build(large.documents[:SMALL])),
    }
    held(rows_of("one of 100,000 tools updated", in_turns(runs), {"build of a tenth": 0.01}, 0.2))
    runs = {
        "": lambda: (update(), statistics.median(searches[-AT_ONCE:]))[1],
        "no update": many(lambda need: large.engine.rank(alone(need), limit=FOUND), large.others),
    }
    held(rows_of("search after an update", in_turns(runs), {"no update": 1.35}, 1.3))


def test_build_of_100_000_tools(large):
    """Both from documents: tokenizing is counted, what made the documents is not."""
    documents = large.documents
    took: dict[str, list[float]] = {"": [], "rank-bm25, the same terms": []}
    for _ in range(3):
        took[""].append(measured(lambda: Engine.build(documents)))
        took["rank-bm25, the same terms"].append(
            measured(lambda: BM25Okapi([words_of(each) for each in documents]))
        )
    medians = {name: statistics.median(values) for name, values in took.items()}
    held(rows_of("build of 100,000 tools", medians, {"rank-bm25, the same terms": 0.5}, limit=2000))


def test_compaction_of_100_000_tools(large):
    """Beside the build that it saves; searches go on meanwhile."""
    engine = Engine.build(large.documents)
    updates = changed(large.documents)
    for _ in range(2000):
        engine.put(next(updates))
    took = statistics.median([measured(engine.compacted) for _ in range(3)])
    build = measured(lambda: Engine.build(large.documents))
    held(rows_of("compaction, 100,000 tools", {"": took, "build": build}, {"build": 0.4}, 300))
