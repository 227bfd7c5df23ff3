"""The best of many are the best, however they are looked for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from registry.search.candidates import best, first_of

SCORES = st.lists(st.sampled_from((0.0, 0.5, 1.0, 1.5, 2.0)), max_size=40).map(np.array)


@given(st.integers(0, 2**32), st.integers(1, 3000), st.floats(0, 1), st.integers(1, 60))
def test_no_score_outside_is_better_than_one_inside(seed, size, share, most):
    random = np.random.default_rng(seed)
    scores = np.where(random.random(size) < 0.4, random.random(size).round(2), 0)
    if seed % 2:
        scores.sort()  # so that a sample of them tells little
    allowed = random.random(size) < share
    found = best(scores, allowed, most)
    expected = np.sort(scores[(scores > 0) & allowed])[::-1][:most]
    assert np.sort(scores[found])[::-1].tolist() == expected.tolist()
    assert len(set(found.tolist())) == len(found)
    assert allowed[found].all()


@given(SCORES, st.integers(0, 50))
def test_equals_stand_in_the_order_of_their_names(scores, limit):
    names = [f"{(7 * place) % 41:02}" for place in range(len(scores))]
    whole = sorted(range(len(scores)), key=lambda place: (-scores[place], names[place]))
    expected = [place for place in whole if scores[place] > 0][:limit]
    assert first_of(scores, names.__getitem__, limit) == expected
