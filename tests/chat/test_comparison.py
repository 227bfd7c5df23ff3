"""Whether two samples differ: what is tested, stated and left unsaid."""

import random

import pytest

from chat.comparison import Sample, Unit, Verdict, compare


def sample(**fields):
    values = {
        "turns": 1,
        "answered": True,
        "calls": 2,
        "failed_calls": 0,
        "latency_ms": 1000.0,
        "tokens": 300,
        "cost": 0.01,
    }
    return Sample(**{**values, **fields})


def by_key(a, b, planned=10):
    return {item.measure.key: item for item in compare(a, b, planned=planned)}


def some(well, badly, **fields):
    return [sample(**fields)] * well + [sample(failed_calls=1, **fields)] * badly


def test_shares_are_compared_by_fishers_exact_test():
    # The lady tasting tea, 8 of 10 against 1 of 10: p = 0.005477 in any table of the test.
    found = by_key(some(1, 9), some(8, 2))["success"]

    assert found.p == pytest.approx(0.005477, abs=1e-6)
    assert found.verdict is Verdict.B_BETTER
    assert (found.a.value, found.b.value) == (0.1, 0.8)
    assert found.difference == pytest.approx(0.7)


def test_the_interval_of_a_share_is_wilsons():
    found = by_key(some(8, 2), some(8, 2))["success"].a
    assert (found.low, found.high) == (
        pytest.approx(0.4902, abs=1e-4),
        pytest.approx(0.9433, abs=1e-4),
    )


def test_faster_answers_are_better_and_more_calls_are_only_more():
    slow = [sample(latency_ms=2000 + n, calls=5 + n % 3) for n in range(30)]
    fast = [sample(latency_ms=500 + n, calls=1 + n % 3) for n in range(30)]
    found = by_key(slow, fast)

    assert found["latency_ms"].verdict is Verdict.B_BETTER
    assert found["calls"].verdict is Verdict.A_MORE
    assert found["latency_ms"].measure.unit is Unit.MILLISECONDS


def test_nothing_is_concluded_before_both_arms_have_what_was_planned():
    found = by_key(some(0, 40), some(39, 0), planned=40)
    assert {item.verdict for item in found.values()} == {Verdict.TOO_FEW}


def test_the_p_values_are_adjusted_for_looking_at_several_measures():
    found = by_key(some(1, 9), some(8, 2))
    assert found["success"].p_adjusted == pytest.approx(5 * found["success"].p)


def test_a_cost_that_is_not_known_is_not_nothing():
    found = by_key([sample(cost=None)] * 20, [sample(cost=None)] * 20)["cost"]
    assert (found.verdict, found.a.value, found.p) == (Verdict.NO_DATA, None, None)


def test_no_conversation_at_all_is_told_as_that():
    found = by_key([], [])
    assert {item.verdict for item in found.values()} == {Verdict.NO_DATA}


def test_two_samples_of_the_same_kind_are_seldom_said_to_differ():
    lot = random.Random(7)

    def drawn():
        return sample(latency_ms=lot.expovariate(1 / 900), calls=lot.randint(0, 4))

    stated = 0
    for _ in range(60):
        found = by_key([drawn() for _ in range(25)], [drawn() for _ in range(25)])
        stated += any(item.verdict is not Verdict.NO_DIFFERENCE for item in found.values())
    assert stated <= 9  # 5 % of 60 are expected; more than 9 has a chance of 1 in 1,000
