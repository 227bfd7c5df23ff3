"""What is looked at closely is what a plain reading of the definition gives."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.arrays import Ragged
from registry.search.closely import Close, Known
from registry.search.forward import Forward

IDF = np.array([0.5, 1.0, 2.0, 3.0, 0.25, 4.0])
TERMS = st.lists(st.integers(0, len(IDF) - 1), max_size=5)
DOCUMENT = st.tuples(TERMS, st.lists(TERMS, max_size=3), TERMS)


def idf(terms) -> float:
    return sum(IDF[term] for term in set(terms))


def likeness(terms, said) -> float:
    common = idf(set(terms) & said)
    return common / math.sqrt(idf(said) * idf(terms)) if common else 0.0


@given(st.lists(DOCUMENT, max_size=8), st.sets(st.integers(0, len(IDF) - 1)), st.data())
def test_coverage_and_likeness_are_what_they_are_called(documents, said, data):
    forward = Forward()
    for document in documents:
        forward.append(*document)
    numbers = np.array(sorted(said), np.int64)
    known = Known(numbers, IDF[numbers], len(IDF))
    slots = np.array(sorted(data.draw(st.sets(st.integers(0, 7)))), np.int32)
    slots = slots[slots < len(documents)]
    chosen = [documents[slot] for slot in slots]

    close = Close(forward, slots, IDF.__getitem__)

    assert list(close.coverage(known)) == pytest.approx(
        [idf(set(name) & said) / (idf(name) or 1) for name, _, _ in chosen]
    )
    assert list(close.likeness_of_passages(known)) == pytest.approx(
        [max([likeness(each, said) for each in passages], default=0) for _, passages, _ in chosen]
    )
    assert list(close.likeness_of_limitations(known)) == pytest.approx(
        [likeness(limitations, said) for _, _, limitations in chosen]
    )


@given(st.lists(TERMS, max_size=10), st.data())
def test_rows_come_back_as_they_went_in(rows, data):
    ragged = Ragged()
    for row in rows:
        ragged.append(row)
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=10)) if rows else []
    values, lengths = ragged.rows(np.array(wanted, np.int64))
    assert lengths.tolist() == [len(rows[number]) for number in wanted]
    assert values.tolist() == [term for number in wanted for term in rows[number]]
    kept = ragged.kept(np.array(wanted, np.int64))
    assert [kept.row(place).tolist() for place in range(len(kept))] == [rows[n] for n in wanted]
