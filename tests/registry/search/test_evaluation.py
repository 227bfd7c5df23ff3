"""Measures of a ranking, against values worked out by hand."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.evaluation import (
    Judged,
    by_kind,
    first_place,
    ndcg,
    recall,
    reciprocal_rank,
    summary,
)


def judged(relevant, ranked, kept=None, **fields):
    ranked = tuple(ranked)
    kept = len(ranked) if kept is None else kept
    return Judged(relevant=frozenset(relevant), ranked=ranked, kept=kept, **fields)


@pytest.mark.parametrize(
    ("ranked", "relevant", "at", "expected"),
    [
        ("abc", "a", 5, 1.0),
        ("bac", "a", 5, 1 / log2(3)),
        ("bca", "a", 5, 0.5),
        ("bca", "a", 2, 0.0),
        ("abcd", "ac", 5, (1 + 1 / log2(4)) / (1 + 1 / log2(3))),
        ("xyab", "ab", 5, (1 / log2(4) + 1 / log2(5)) / (1 + 1 / log2(3))),
        ("abc", "abcdefg", 2, 1.0),
        ("abc", "", 5, 0.0),
        ("", "a", 5, 0.0),
    ],
)
def test_ndcg_is_the_gain_by_place_over_the_best_possible(ranked, relevant, at, expected):
    assert ndcg(ranked, relevant, at) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ranked", "relevant", "at", "expected"),
    [("abc", "ac", 2, 0.5), ("abc", "ac", 3, 1.0), ("abc", "x", 3, 0.0), ("abc", "", 3, 0.0)],
)
def test_recall_is_the_share_of_what_is_relevant(ranked, relevant, at, expected):
    assert recall(ranked, relevant, at) == expected


@pytest.mark.parametrize(
    ("ranked", "relevant", "at", "expected"),
    [("abc", "a", 10, 1.0), ("abc", "cb", 10, 0.5), ("abc", "c", 2, 0.0), ("", "c", 2, 0.0)],
)
def test_the_reciprocal_rank_is_that_of_the_first_relevant_one(ranked, relevant, at, expected):
    assert reciprocal_rank(ranked, relevant, at) == expected


def test_the_first_place_is_counted_from_one():
    assert (first_place("abc", "cb"), first_place("abc", "x")) == (2, None)


def test_queries_without_an_answer_count_in_their_own_measure_alone():
    told = summary(
        [
            judged("a", "ab", took_ms=1.0),
            judged("a", "ba", kept=1, took_ms=3.0),
            judged("", "ab", kept=0, took_ms=2.0),
            judged("", "ab", kept=2, took_ms=2.0),
        ]
    )
    assert (told.queries, told.no_answer_queries) == (2, 2)
    assert told.ndcg_at_5 == round((1 + 1 / log2(3)) / 2, 4)
    assert told.mrr_at_10 == 0.75
    assert (told.recall_at_5, told.recall_at_5_above_floor) == (1.0, 0.5)
    assert told.no_answer_accuracy == 0.5
    assert (told.p50_ms, told.p95_ms) == (2.0, 2.85)


def test_what_no_query_counts_in_is_unknown_and_not_zero():
    told = summary([])
    assert set(told.as_json().values()) == {0, None}
    assert summary([judged("a", "a")]).no_answer_accuracy is None


def test_kinds_are_told_apart_in_the_order_of_their_names():
    told = by_kind([judged("a", "a", kind="typo"), judged("a", "b", kind="plain"), judged("a", "")])
    assert list(told) == ["plain", "typo"]
    assert (told["typo"].ndcg_at_5, told["plain"].ndcg_at_5) == (1.0, 0.0)


@given(st.permutations(list("abcdefghij")), st.sets(st.sampled_from("abcdefghij"), min_size=1))
def test_every_measure_is_a_share_and_deeper_is_never_less(ranked, relevant):
    for measure in (ndcg, recall, reciprocal_rank):
        assert 0 <= measure(ranked, relevant, 5) <= 1
    assert recall(ranked, relevant, 5) <= recall(ranked, relevant, 10) == 1.0
    assert (ndcg(ranked, relevant, 10) == pytest.approx(1.0)) == (
        set(ranked[: len(relevant)]) == relevant
    )
