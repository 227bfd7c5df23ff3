"""Five results are five different tools, of more than one package where there are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.folding import Described
from registry.search.selection import (
    BEYOND_LIMIT,
    DUPLICATE,
    ENOUGH_OF_PACKAGE,
    Fitting,
    is_named,
    select,
)


def fits(name_or_id, package="", *, name="", merit=(0.0, 0.0), is_own=False):
    called = name or name_or_id
    described = Described(name=called, description=f"Do {called}.", package=package)
    return Fitting(id=name_or_id, described=described, merit=merit, is_own=is_own)


def given_ids(choices):
    return [each.id for each in choices if not each.reason]


def reasons(choices):
    return {each.id: each.reason for each in choices}


def test_the_best_are_given_up_to_the_limit():
    choices = select([fits(each) for each in "abc"], limit=2, per_package=3)
    assert reasons(choices) == {"a": "", "b": "", "c": BEYOND_LIMIT}


def test_copies_take_one_place_and_are_told():
    ranked = [fits("a1", "x", name="a"), fits("a2", "y", name="a"), fits("b", "z")]
    choices = select(ranked, limit=2, per_package=3)

    assert given_ids(choices) == ["a1", "b"]
    assert choices[0].duplicates == ("a2",)
    assert reasons(choices)["a2"] == DUPLICATE


def test_of_copies_the_persons_own_is_given_then_the_better_then_the_first_by_id():
    def best(*items):
        return given_ids(select(items, limit=5, per_package=3))

    worse = fits("a1", "x", name="a", merit=(0.2, 1.0))
    better = fits("a2", "y", name="a", merit=(0.9, 0.0))
    own = fits("a3", "z", name="a", is_own=True)
    equal = fits("a0", "w", name="a", merit=(0.9, 0.0))
    assert best(worse, better) == ["a2"]
    assert best(worse, better, own) == ["a3"]
    assert best(better, equal) == ["a0"]


def test_the_best_copy_stands_where_the_first_was_ranked():
    ranked = [fits("a1", "x", name="a"), fits("b"), fits("a2", "y", name="a", merit=(1.0, 0.0))]
    assert given_ids(select(ranked, limit=5, per_package=3)) == ["a2", "b"]


def test_copies_stay_where_they_are_not_to_be_folded():
    ranked = [fits("a1", "x", name="a"), fits("a2", "y", name="a")]
    assert given_ids(select(ranked, limit=5, per_package=3, fold=False)) == ["a1", "a2"]


def test_one_package_does_not_take_all_places():
    ranked = [*(fits(f"a{n}", "acme") for n in range(5)), fits("b", "other"), fits("c", "third")]
    choices = select(ranked, limit=5, per_package=3)

    assert given_ids(choices) == ["a0", "a1", "a2", "b", "c"]
    assert reasons(choices)["a3"] == ENOUGH_OF_PACKAGE


def test_a_package_fills_the_places_that_no_other_wants():
    ranked = [*(fits(f"a{n}", "acme") for n in range(6)), fits("b", "other")]
    choices = select(ranked, limit=5, per_package=3)

    assert given_ids(choices) == ["a0", "a1", "a2", "a3", "b"]
    assert reasons(choices)["a4"] == ENOUGH_OF_PACKAGE


def test_a_package_that_the_message_names_has_all_places():
    ranked = [*(fits(f"a{n}", "@acme/github-tools") for n in range(5)), fits("b", "other")]
    text = "list my issues on GitHub"
    given = given_ids(select(ranked, limit=5, per_package=3, text=text))
    assert given == ["a0", "a1", "a2", "a3", "a4"]


def test_tools_of_no_package_and_no_cap_are_not_counted():
    ranked = [*(fits(f"a{n}") for n in range(4)), fits("b", "other")]
    assert given_ids(select(ranked, limit=4, per_package=2)) == ["a0", "a1", "a2", "a3"]
    ranked = [*(fits(f"a{n}", "acme") for n in range(4)), fits("b", "other")]
    assert given_ids(select(ranked, limit=4, per_package=None)) == ["a0", "a1", "a2", "a3"]


@pytest.mark.parametrize(
    ("package", "text", "expected"),
    [
        ("github", "open an issue on github", True),
        ("@acme/github-tools", "ask GitHub", True),
        ("@acme/github-tools", "what ACME has", True),
        ("server-tools", "which server tools are there", False),
        ("weather-pro", "the weather in Rome", False),
        ("", "anything", False),
    ],
)
def test_a_package_is_named_by_all_words_that_tell(package, text, expected):
    assert is_named(package, text) is expected


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "x", "y"])), max_size=12),
    st.integers(0, 6),
    st.integers(1, 3),
)
def test_each_candidate_is_told_once_and_the_places_are_used(items, limit, cap):
    ranked = [fits(str(n), package, name=name) for n, (name, package) in enumerate(items)]
    choices = select(ranked, limit=limit, per_package=cap)

    assert sorted(each.id for each in choices) == sorted(each.id for each in ranked)
    different = len({name for name, _ in items})
    assert len(given_ids(choices)) == min(limit, different)
    told = [copy for each in choices for copy in each.duplicates]
    assert sorted(told) == sorted(each.id for each in choices if each.reason == DUPLICATE)
