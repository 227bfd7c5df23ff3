"""However an index came to hold its documents, it ranks them alike."""

import json
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.need import Need
from registry.search.weights import Weights

WORDS = (
    "weather",
    "getWeather",
    "send_mail",
    "mail's",
    "Café",
    "base64",
    "web-page",
    "天気予報",
    "the",
)
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
DOCUMENT = st.builds(
    SearchDocument,
    id=st.integers(0, 8).map(str),
    name=TEXT,
    title=TEXT,
    description=TEXT,
    package=TEXT,
    parameters=TEXTS,
    limitations=TEXT,
    examples=TEXTS,
    quality=st.sampled_from((0.0, 0.5)),
    downloads=st.sampled_from((0, 1000)),
)
NEED = st.builds(Need, text=TEXT, recent=TEXTS, queries=TEXTS)
ALL_PARTS = Weights(limitations=0.3)


def stored_and_loaded(engine: Engine) -> Engine:
    """Send an index through files of numpy and JSON, which is what a snapshot is."""
    arrays, texts = engine.arrays()
    file = BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    with np.load(file) as loaded:
        frozen = {name: loaded[name] for name in loaded}
    for values in frozen.values():
        values.flags.writeable = False  # as when it is mapped from a file
    return Engine.from_arrays(frozen, json.loads(json.dumps(texts)), engine.weights)


def put_one_by_one(documents: dict[str, SearchDocument]) -> Engine:
    engine = Engine(ALL_PARTS)
    for document in documents.values():
        engine.put(document)
    return engine


def assert_ranks_alike(engine: Engine, other: Engine, need: Need) -> None:
    found, expected = engine.rank(need), other.rank(need)
    assert [each.id for each in found] == [each.id for each in expected]
    for each, wanted in zip(found, expected, strict=True):
        assert each.score == pytest.approx(wanted.score, abs=2e-4)
        assert each.parts == pytest.approx(wanted.parts, abs=2e-4)


CHANGES = st.lists(
    st.one_of(DOCUMENT, st.integers(0, 8).map(str), st.sampled_from(("compact", "store"))),
    max_size=25,
)


@settings(deadline=None, max_examples=150)
@given(st.lists(DOCUMENT, max_size=8), CHANGES, NEED)
def test_an_index_that_lived_ranks_like_one_that_is_new(first, changes, need):
    engine = Engine.build(first, ALL_PARTS)
    documents = {document.id: document for document in first}
    for change in changes:
        if isinstance(change, SearchDocument):
            engine.put(change)
            documents[change.id] = change
        elif change == "compact":
            engine, _ = engine.compacted()
            assert engine.size == len(documents)
            assert engine.slack == 0
        elif change == "store":
            engine = stored_and_loaded(engine)
        else:
            engine.remove(change)
            documents.pop(change, None)
        engine.rank(need)  # fills what is cached, so that stale values would show
    assert len(engine) == len(documents)
    exact = put_one_by_one(documents)
    engine._postings.pieces.drift = 0.0  # else averages may be off by a thousandth
    assert_ranks_alike(engine, exact, need)
    heavy = replace(ALL_PARTS, name=2.0, b=0.3)
    rebuilt = Engine.build(documents.values(), heavy)
    found, expected = engine.rank(need, weights=heavy), rebuilt.rank(need)
    assert [each.id for each in found] == [each.id for each in expected]


@settings(deadline=None)
@given(st.lists(DOCUMENT, max_size=8), st.sets(st.integers(0, 8).map(str)))
def test_compacting_says_where_each_document_went(documents, gone):
    engine = Engine.build(documents)
    for name in gone:
        engine.remove(name)
    old = {each.id: engine.slot(each.id) for each in documents if each.id in engine}
    smaller, slots = engine.compacted()
    assert {name: slots[slot] for name, slot in old.items()} == {
        name: smaller.slot(name) for name in old
    }
    assert sorted(slots[slots >= 0]) == list(range(len(old)))


def test_words_that_nothing_says_any_more_are_forgotten():
    engine = Engine.build([SearchDocument(id="a", name="old word", limitations="never")])
    engine.put(SearchDocument(id="a", name="new", limitations="ever"))
    smaller, _ = engine.compacted()
    assert set(smaller.arrays()[1]["vocabulary"]) == {"new", "ever"}


def test_a_snapshot_can_change_while_its_file_stays():
    engine = Engine.build([SearchDocument(id="a", name="weather")])
    loaded = stored_and_loaded(engine)
    loaded.put(SearchDocument(id="b", name="weather report"))
    loaded.remove("a")
    assert [each.id for each in loaded.rank(Need(text="weather"))] == ["b"]
    assert [each.id for each in engine.rank(Need(text="weather"))] == ["a"]
