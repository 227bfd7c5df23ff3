"""Vectors of queries: within a budget, or not at all."""

import threading
import time

import numpy as np
import pytest

from registry.search.dense.late import (
    BUDGET_SECONDS,
    EMPTY,
    FAILED,
    FIRST_REST,
    KEPT,
    LATE,
    LONGEST_REST,
    MOST_WAITING,
    USED,
    QueryVectors,
)
from registry.search.need import Need
from tests.live import eventually
from tests.registry.search.dense.fakes import FakeEncoder

PATIENT = 60.0


class Clock:
    """A clock that a test turns on."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def encoder():
    return FakeEncoder()


@pytest.fixture
def queries(encoder):
    made = QueryVectors(encoder, budget=PATIENT)
    yield made
    made.close()


def meant(queries, text, **fields):
    return queries.answer(queries.ask(Need(text=text, **fields)))


def test_a_need_has_the_vector_of_its_encoder(encoder, queries):
    vector, state = meant(queries, "heavy rain")
    assert state == USED
    assert np.allclose(vector, encoder.encode(["heavy rain"])[0], atol=1e-6)


def test_a_text_is_encoded_once(encoder, queries):
    meant(queries, "heavy rain")
    meant(queries, "and snow", recent=("heavy rain",))
    assert encoder.seen == ["heavy rain", "and snow"]


def test_a_blank_need_is_not_sent_to_the_encoder(encoder, queries):
    assert meant(queries, "  ") == (None, EMPTY)
    assert encoder.seen == []


def test_a_search_waits_no_longer_than_the_budget(encoder):
    encoder.hold = threading.Event()
    queries = QueryVectors(encoder)
    started = time.perf_counter()
    assert meant(queries, "heavy rain") == (None, LATE)
    assert time.perf_counter() - started >= BUDGET_SECONDS
    assert encoder.seen == [], "the encoder is held up still"
    encoder.hold.set()
    queries.close()


def test_a_vector_that_comes_late_serves_the_next_search(encoder):
    encoder.hold = threading.Event()
    queries = QueryVectors(encoder, budget=0.001)
    assert meant(queries, "heavy rain").state == LATE
    encoder.hold.set()
    eventually(lambda: meant(queries, "heavy rain").state == USED)
    assert encoder.seen == ["heavy rain"]
    queries.close()


def test_no_more_needs_than_that_wait_for_a_slow_encoder(encoder):
    encoder.hold = threading.Event()
    queries = QueryVectors(encoder, budget=0.001)
    for number in range(3 * MOST_WAITING):
        assert meant(queries, f"need {number}").state == LATE
    encoder.hold.set()
    eventually(lambda: meant(queries, "need 0").state == USED)
    eventually(lambda: meant(queries, "another").state == USED)
    assert len([text for text in encoder.seen if text.startswith("need ")]) == MOST_WAITING
    queries.close()


def test_an_encoder_that_fails_is_left_alone_twice_as_long_each_time(encoder):
    clock = Clock()
    queries = QueryVectors(encoder, budget=PATIENT, now=clock)
    encoder.fails = True
    rest = FIRST_REST
    while rest < LONGEST_REST:
        assert meant(queries, "heavy rain") == (None, FAILED)
        encoder.fails = False  # nobody would notice before the rest is over
        clock.now += rest - 0.01
        assert meant(queries, "heavy rain") == (None, FAILED)
        assert encoder.seen == []
        encoder.fails = True
        clock.now += 0.01
        rest *= 2
    encoder.fails = False
    clock.now += LONGEST_REST
    assert meant(queries, "heavy rain").state == USED
    encoder.fails = True
    assert meant(queries, "deep snow").state == FAILED
    clock.now += FIRST_REST  # a success has ended the long rests
    encoder.fails = False
    assert meant(queries, "deep snow").state == USED
    queries.close()


def test_what_is_known_is_found_while_the_encoder_is_away(encoder, queries):
    meant(queries, "heavy rain")
    encoder.fails = True
    assert meant(queries, "deep snow").state == FAILED
    assert meant(queries, "heavy rain").state == USED


def test_an_encoder_that_breaks_is_a_failure_and_no_error(encoder, queries, monkeypatch):
    monkeypatch.setattr(encoder, "encode", lambda _texts: 1 / 0)
    assert meant(queries, "heavy rain") == (None, FAILED)


def test_the_vectors_that_were_asked_for_last_are_kept(encoder, queries):
    meant(queries, "first")
    for start in range(0, KEPT, 500):
        texts = tuple(f"q{number}" for number in range(start, start + 500))
        queries._keep(texts, np.zeros((500, 64), dtype=np.float32))
    encoder.seen.clear()
    assert meant(queries, "first").state == USED
    assert encoder.seen == ["first"]
    assert len(queries._kept) == KEPT
