"""The postings score as rank-bm25 does, whatever came and went before."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from registry.search.bm25 import Scheme
from registry.search.bulk import indexed
from registry.search.document import SearchDocument, terms_of
from registry.search.postings import Postings
from registry.search.weights import FIELDS

WORDS = st.sampled_from([f"w{letter}" for letter in "abcdefgh"])
TEXTS = st.lists(WORDS, min_size=1, max_size=12)
OKAPI = Scheme((1.0,), idf="okapi")


def scored(postings: Postings, query: list[str], scheme: Scheme | None = None) -> list[float]:
    return list(postings.gains(Counter(query), scheme).scores[postings.alive])


def assert_as_rank_bm25(postings: Postings, corpus: list[list[str]], query: list[str]) -> None:
    expected = BM25Okapi(corpus).get_scores(query)
    assert scored(postings, query) == pytest.approx(list(expected), abs=1e-6)


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=15), st.lists(WORDS, max_size=6))
def test_scores_equal_those_of_rank_bm25(texts, query):
    postings = Postings(OKAPI)
    for text in texts:
        postings.add([text])
    assert_as_rank_bm25(postings, texts, query)


MERGE = -1
CHANGES = st.lists(st.tuples(st.integers(MERGE, 20), TEXTS | st.none()), min_size=1, max_size=60)


@settings(deadline=None)
@given(CHANGES, st.lists(WORDS, max_size=4))
def test_scores_stay_equal_while_documents_come_change_and_go(updates, query):
    corpus: dict[int, tuple[int, list[str]]] = {}
    postings = Postings(OKAPI)
    for number, text in updates:
        if number == MERGE:
            postings = Postings(OKAPI, state=postings.state)
            assert postings.slack == postings.size - len(postings)
            continue
        if number in corpus:
            postings.drop(corpus.pop(number)[0])
        if text is not None:
            corpus[number] = postings.add([text]), text
        scored(postings, query)  # fills whatever is cached, so that stale values would show
        assert len(postings) == len(corpus)
    if corpus:
        assert_as_rank_bm25(postings, [text for _, text in sorted(corpus.values())], query)
    else:
        assert scored(postings, query) == []


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12), st.lists(WORDS, max_size=6))
def test_an_index_built_at_once_scores_as_rank_bm25_does(texts, query):
    documents = [
        SearchDocument(id=str(number), name="x".join(name), description=" ".join(words * 2))
        for number, (name, words) in enumerate(texts)
    ]
    corpus = [[term for field in terms_of(each) for term in field] for each in documents]
    if not any(corpus):
        return  # rank-bm25 divides by the number of terms
    state, _ = indexed(documents)
    postings = Postings(Scheme((1.0,) * len(FIELDS), idf="okapi"), state=state)
    query = [*query, *corpus[0][:2]]
    assert_as_rank_bm25(postings, corpus, query)


@settings(deadline=None)
@given(
    st.lists(TEXTS, min_size=1, max_size=15),
    st.sets(st.integers(0, 14)),
    st.lists(WORDS, min_size=1, max_size=6),
    st.integers(0, 20),
)
def test_terms_that_cost_too_much_are_told_where_it_is_asked(texts, gone, query, most):
    postings = Postings(OKAPI)
    for text in texts[: len(texts) // 2]:
        postings.add([text])
    postings = Postings(OKAPI, state=postings.state)
    for text in texts[len(texts) // 2 :]:
        postings.add([text])
    for slot in gone & set(range(len(texts))):
        postings.drop(slot)
    if not len(postings):
        return
    slots = np.flatnonzero(postings.alive).astype(np.int32)
    whole, part = postings.gains(Counter(query)), postings.gains(Counter(query), most=most)
    assert part.by_term(slots).sum(axis=0) == pytest.approx(whole.scores[slots])
    backwards = slots[::-1]
    assert np.array_equal(part.of_few(backwards), part.by_term(slots).T[::-1])
    left = {each.column for each in part.rest}
    scored = [row for row in range(len(part.terms)) if row not in left]
    assert part.total(slots) == pytest.approx(part.by_term(slots)[scored].sum(axis=0))
    assert whole.by_term(slots).sum(axis=0) == pytest.approx(whole.scores[slots])
    rarest = min((postings.holders[number] for number in part.numbers), default=0)
    assert len(part.slots) <= max(most, rarest) + len(gone) * len(part.terms)


@settings(deadline=None)
@given(
    st.lists(st.tuples(TEXTS, st.lists(WORDS, max_size=5)), min_size=1, max_size=12),
    st.lists(WORDS, min_size=1, max_size=4),
    st.tuples(st.floats(0.1, 2), st.floats(0, 2)),
)
def test_weights_given_with_a_query_score_as_those_of_the_index_do(texts, query, weights):
    """A field of weight 2 is a text said twice."""
    ours, other = Postings(Scheme(weights)), Postings(Scheme((1.0, 1.0)))
    for first, second in texts:
        ours.add([first, second])
        other.add([first, second])
    assert scored(other, query, Scheme(weights)) == pytest.approx(scored(ours, query))


def test_a_field_of_weight_two_is_a_text_that_is_said_twice():
    weighted, said = Postings(Scheme((2.0, 1.0))), Postings(Scheme((1.0,)))
    for title, text in (("mail send", "post a letter"), ("hash", "mail a hash"), ("x", "y z")):
        weighted.add([title.split(), text.split()])
        said.add([[*title.split() * 2, *text.split()]])
    assert scored(weighted, ["mail", "hash"]) == pytest.approx(scored(said, ["mail", "hash"]))


def test_a_single_document_is_found_with_the_idf_of_lucene():
    postings = Postings(Scheme((1.0,)))
    postings.add([["weather"]])
    assert scored(postings, ["weather"])[0] > 0


def test_nothing_is_found_in_an_empty_index_or_by_an_empty_query():
    postings = Postings(Scheme((1.0,)))
    assert scored(postings, ["a"]) == []
    postings.add([[]])
    assert scored(postings, ["a"]) == [0.0]
    postings.add([["a"]])
    assert not np.any(scored(postings, []))
    assert postings.idf("unknown") is None
