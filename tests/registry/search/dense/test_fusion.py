"""Words and meaning in one order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.dense.fusion import fuse, share_of

NAN = float("nan")


def order(scores):
    return list(np.argsort(-scores, kind="stable"))


def test_likeness_decides_between_what_the_words_rank_alike():
    lexical = np.array([1.0, 0.99, 0.2])
    assert order(fuse(lexical, np.array([0.1, 0.7, 0.2]), 0.5)) == [1, 0, 2]


def test_with_the_share_zero_the_words_decide_alone():
    lexical = np.array([1.0, 0.9])
    assert fuse(lexical, np.array([0.1, 0.9]), 0.0) is lexical


def test_with_the_share_one_the_meaning_decides_alone():
    assert order(fuse(np.array([1.0, 0.9, 0.0]), np.array([0.1, 0.2, 0.9]), 1.0)) == [2, 1, 0]


def test_the_result_has_the_range_of_the_lexical_scores():
    lexical = np.array([0.3, 1.4, 0.9])
    fused = fuse(lexical, np.array([0.2, 0.1, 0.8]), 0.75)
    assert fused.min() == pytest.approx(0.3)
    assert fused.max() == pytest.approx(1.4)


@pytest.mark.parametrize("likeness", [[NAN, NAN, NAN], [NAN, 0.5, NAN]])
def test_with_too_few_vectors_the_words_decide_alone(likeness):
    lexical = np.array([1.0, 0.9, 0.1])
    assert fuse(lexical, np.array(likeness), 0.75) is lexical


def test_a_candidate_without_a_vector_is_neither_lost_nor_preferred():
    lexical = np.array([1.0, 0.8, 0.6, 0.4, 0.2])
    likeness = np.array([0.7, 0.5, NAN, 0.3, 0.2])
    assert order(fuse(lexical, likeness, 0.75)) == [0, 1, 2, 3, 4]


def test_equal_likeness_leaves_the_order_of_the_words():
    lexical = np.array([0.1, 0.9, 0.5])
    assert order(fuse(lexical, np.full(3, 0.4), 0.75)) == [1, 2, 0]


@given(
    st.lists(
        st.tuples(st.floats(0, 3), st.one_of(st.just(NAN), st.floats(-1, 1))),
        min_size=1,
        max_size=30,
    ),
    st.floats(0, 1),
)
def test_every_candidate_has_a_finite_score(pairs, share):
    lexical, likeness = (np.array(values, dtype=np.float64) for values in zip(*pairs, strict=True))
    assert np.isfinite(fuse(lexical, likeness, share)).all()


@pytest.mark.parametrize(
    ("clauses", "share"), [(0, 0.75), (1, 0.75), (2, 0.65), (4, 0.45), (6, 0.3), (50, 0.3)]
)
def test_the_share_falls_with_each_clause_to_a_floor(clauses, share):
    assert share_of(0.75, clauses) == pytest.approx(share)


def test_a_share_below_the_floor_stays_as_it_is_set():
    assert share_of(0.1, 5) == 0.1
