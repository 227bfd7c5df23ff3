"""The index scores as rank-bm25 does, whatever came and went before."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from registry.search.bm25 import Index

WORDS = st.sampled_from("abcdefgh")
TEXTS = st.lists(WORDS, min_size=1, max_size=12)


def reference(corpus: dict[str, list[str]], query: list[str]) -> dict[str, float]:
    scores = BM25Okapi(list(corpus.values())).get_scores(query)
    return dict(zip(corpus, map(float, scores), strict=True))


def assert_equal_scores(index: Index, corpus: dict[str, list[str]], query: list[str]) -> None:
    found = index.scores(query)
    for name, score in reference(corpus, query).items():
        assert found.get(name, 0.0) == pytest.approx(score, abs=1e-6)


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=15), st.lists(WORDS, max_size=6))
def test_scores_equal_those_of_rank_bm25(texts, query):
    corpus = {str(n): text for n, text in enumerate(texts)}
    index = Index(idf="okapi")
    for name, text in corpus.items():
        index.put(name, text)
    assert_equal_scores(index, corpus, query)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), TEXTS | st.none()), min_size=1, max_size=60),
    st.lists(WORDS, max_size=4),
)
def test_scores_stay_equal_while_documents_come_change_and_go(updates, query):
    corpus: dict[str, list[str]] = {}
    index = Index(idf="okapi")
    for number, text in updates:
        name = str(number)
        if text is None:
            corpus.pop(name, None)
            index.remove(name)
        else:
            corpus[name] = text
            index.put(name, text)
        index.scores(query)  # fills whatever is cached, so that stale values would show
        assert len(index) == len(corpus)
    if corpus:
        assert_equal_scores(index, corpus, query)
    else:
        assert index.scores(query) == {}


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=40), TEXTS, st.integers(1, 5))
def test_search_returns_the_best_in_the_order_of_their_scores(texts, query, limit):
    index = Index()
    for number, text in enumerate(texts):
        index.put(str(number), text)
    best = sorted((-score, name) for name, score in index.scores(query).items() if score > 0)
    hits = index.search(query, limit=limit)
    assert [(-hit.score, hit.id) for hit in hits] == best[:limit]
    assert all(0 < hit.relevance <= 1 for hit in hits)
    assert all(hit.relevance == index.relevance(query, hit.score) for hit in hits)


def test_a_single_document_is_found():
    index = Index()
    index.put("only", ["weather"])
    assert [hit.id for hit in index.search(["weather"], limit=5)] == ["only"]
    assert "only" in index


def test_weights_of_documents_and_queries_count():
    index = Index()
    index.put("title", {"mail": 1.0, "send": 1.0})
    index.put("aside", {"mail": 0.2, "post": 1.8})
    index.put("other", {"sort": 1.0, "send": 1.0})
    assert [hit.id for hit in index.search({"mail": 1.0}, limit=3)] == ["title", "aside"]
    once = index.scores({"mail": 1.0})["title"]
    assert index.scores({"mail": 2.0})["title"] == pytest.approx(2 * once)


def test_nothing_is_found_in_an_empty_index_or_by_an_empty_query():
    index = Index()
    assert index.search(["a"], limit=5) == []
    assert index.relevance(["a"], 1.0) == 0.0
    index.put("empty", [])
    assert index.search(["a"], limit=5) == []
    index.put("full", ["a"])
    assert index.search([], limit=5) == []
    index.remove("unknown")
    assert len(index) == 2


def test_unknown_words_lower_the_relevance():
    index = Index()
    for name in ("weather", "mail", "sort", "hash"):
        index.put(name, [name, "tool"])
    sure = index.search(["weather"], limit=1)[0].relevance
    vague = index.search(["weather", "zz", "yy", "xx"], limit=1)[0].relevance
    assert vague < sure
