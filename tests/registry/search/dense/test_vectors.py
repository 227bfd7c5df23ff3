"""Vectors in memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.search.dense.vectors import FIRST_ROWS, Vectors, packed, unpacked

chance = np.random.default_rng(5)


def unit(count, dimensions=384):
    rows = chance.normal(size=(count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def held(rows):
    vectors = Vectors(rows.shape[1])
    vectors.put((str(number), packed(row)) for number, row in enumerate(rows))
    return vectors


def test_a_packed_vector_takes_a_byte_a_number_and_keeps_its_direction():
    for row in unit(20):
        assert len(packed(row)) == 384
        assert unpacked(packed(row)) @ row > 0.9999


def test_a_vector_of_zeros_stays_one():
    assert not unpacked(packed(np.zeros(8, dtype=np.float32))).any()


def test_likeness_is_the_cosine():
    rows = unit(200)
    found = held(rows).likeness([str(number) for number in range(200)], rows[3])
    assert np.allclose(found, rows @ rows[3], atol=0.01)


def test_a_tool_without_a_vector_has_no_likeness():
    rows = unit(2)
    found = held(rows).likeness(["1", "nobody"], rows[1])
    assert found[0] == pytest.approx(1, abs=0.001)
    assert np.isnan(found[1])


def test_no_tools_have_no_likeness():
    assert held(unit(2)).likeness([], unit(1)[0]).shape == (0,)


def test_a_vector_of_another_length_is_not_taken():
    vectors = Vectors(8)
    vectors.put([("a", packed(unit(1, 16)[0]))])
    assert "a" not in vectors


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2 * FIRST_ROWS), st.booleans()), max_size=400))
def test_it_holds_what_was_put_last_and_not_removed(steps):
    vectors, wanted = Vectors(4), {}
    for number, stays in steps:
        name = str(number)
        if stays:
            wanted[name] = unit(1, 4)[0]
            vectors.put([(name, packed(wanted[name]))])
        else:
            wanted.pop(name, None)
            vectors.remove([name])
    assert len(vectors) == len(wanted)
    for name, row in wanted.items():
        assert vectors.likeness([name], row)[0] == pytest.approx(1, abs=0.01)


def test_a_hundred_thousand_vectors_take_fifty_megabytes_at_the_most():
    vectors = Vectors(384)
    row = packed(unit(1)[0])
    vectors.put((str(number), row) for number in range(100_000))
    assert len(vectors) == 100_000
    assert vectors.memory < 52_000_000
