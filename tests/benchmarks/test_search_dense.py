"""Search by words and meaning among 100,000 tools, the encoding of the query included."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from registry.search.dense.late import BUDGET_SECONDS
from registry.search.dense.local import LocalEncoder
from registry.search.dense.texts import asked
from registry.search.dense.vectors import Vectors, packed
from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.need import Need
from tests.benchmarks.measure import Baseline, compare

pytestmark = pytest.mark.bench

TOOLS = 100_000
ENDINGS = ("er", "ing", "ed", "ion", "")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> LocalEncoder:
    made = LocalEncoder(tmp_path_factory.mktemp("models"))
    made.encode(["warm up"])
    return made


def words() -> list[str]:
    """Return made-up words, the first of which are said most."""
    chance = random.Random(3)
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    return ["".join(chance.choices(syllables, k=3)) + chance.choice(ENDINGS) for _ in range(5_000)]


def documents() -> list[SearchDocument]:
    chance, known = random.Random(4), words()
    often = list(itertools.accumulate(1 / (number + 1) for number in range(len(known))))

    def some(count: int) -> str:
        return " ".join(chance.choices(known, cum_weights=often, k=count))

    return [
        SearchDocument(id=str(number), name=some(2), description=some(20), parameters=(some(1),))
        for number in range(TOOLS)
    ]


def test_a_hybrid_search_among_a_hundred_thousand_tools(encoder: LocalEncoder) -> None:
    tools = documents()
    engine = Engine.build(tools)
    rows = np.random.default_rng(5).normal(size=(TOOLS, encoder.dimensions)).astype(np.float32)
    vectors = Vectors(encoder.dimensions)
    vectors.put((tool.id, packed(row)) for tool, row in zip(tools, rows, strict=True))
    reference = BM25Okapi([tool.description.split() for tool in tools])
    chance = random.Random(6)
    queries = itertools.cycle(
        [
            f"Please {' '.join(chance.choice(tools).description.split()[:8])} {number}"
            for number in range(200)
        ]
    )

    def hybrid() -> None:
        need = Need(text=next(queries))
        texts = asked(need)
        assert texts is not None
        of = dict(zip(texts.texts, encoder.encode(texts.texts), strict=True))
        engine.rank(need, limit=5, vectors=vectors, query_vector=texts.vector(of))

    def plain() -> None:
        reference.get_scores(next(queries).split())

    compare(f"hybrid, {TOOLS:,} tools", hybrid, Baseline("rank-bm25", plain, 0.1), limit=6)


def test_the_vector_of_a_query_comes_within_its_budget(encoder: LocalEncoder) -> None:
    query = "Find cheap flights from Rome to Oslo next week and book a hotel near the station"
    numbers = itertools.count()
    files = encoder._files
    from registry.search.dense.forward import Forward

    exact, tokenizer = Forward(files), files.tokenizer()
    compare(
        "vector of a query",
        lambda: encoder.encode([f"{query} {next(numbers)}"]),
        Baseline("numpy, full precision", lambda: exact(*tokenizer([query])), 0.8),
        limit=1000 * BUDGET_SECONDS,
    )
