"""Names looked up by their words: stored, moved and changed, against a look through all of them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.search.document import SearchDocument
from registry.search.names import Names
from registry.search.words import MOST_APART, misspelt, words_of

WORDS = ("get", "weather", "town", "alerts", "report")
TITLES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)

patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def names_of(titles):
    names = Names()
    for slot, title in enumerate(titles):
        names.put(slot, SearchDocument(id=f"{slot:06}", name=title, quality=0.5))
    return names


def everything(names, titles):
    return np.ones(len(titles), np.bool_)


@patiently
@given(st.lists(TITLES, min_size=1, max_size=20), st.sampled_from(["g", "we", "wea rep", "town"]))
def test_it_finds_what_a_look_through_all_names_finds(titles, text):
    names = names_of(titles)
    found = names.begun(text, everything(names, titles), 100)
    expected = {
        slot
        for slot, title in enumerate(titles)
        if all(any(w.startswith(b) for w in words_of(title)) for b in words_of(text))
    }
    if expected:
        assert set(found) == expected


@patiently
@given(st.lists(TITLES, min_size=1, max_size=20), st.data())
def test_what_is_stored_or_moved_finds_the_same(titles, data):
    names = names_of(titles)
    kept = data.draw(st.lists(st.booleans(), min_size=len(titles), max_size=len(titles)))
    for slot, is_kept in enumerate(kept):
        if not is_kept:
            names.remove(slot)
    mask = np.array(kept)
    found = names.ids(names.begun("weather", mask, 100))
    stored = Names.from_arrays(names.arrays(), [f"{slot:06}" for slot in range(len(titles))])
    assert stored.ids(stored.begun("weather", mask, 100)) == found
    places = np.where(mask, np.cumsum(mask) - 1, -1)
    moved = names.moved(places)
    assert moved.ids(moved.begun("weather", np.ones(mask.sum(), np.bool_), 100)) == found


def test_many_names_are_sorted_in_and_later_ones_found_beside_them():
    titles = [f"weather_report_{number}" for number in range(MOST_APART)]
    names = names_of(titles)
    mask = everything(names, [*titles, ""])
    assert len(names.begun("weather", mask[:-1], MOST_APART)) == MOST_APART
    names.put(MOST_APART, SearchDocument(id="last", name="weatherAlerts"))
    assert names.ids(names.begun("weather al", mask, 5)) == ["last"]
    names.remove(MOST_APART)
    mask[-1] = False
    assert names.begun("weatheralerts", mask, 5) == []


def test_names_of_late_are_found_that_are_sorted_by_themselves():
    titles = [f"weather_report_{number}" for number in range(3 * MOST_APART)]
    names = names_of(titles)
    names.settle()
    late = [f"late_forecast_{number}" for number in range(MOST_APART // 3)]
    for slot, name in enumerate(late, start=len(titles)):
        names.put(slot, SearchDocument(id=name, name=name))
    mask = everything(names, [*titles, *late])
    assert len(names.begun("forecast", mask, len(titles))) == len(late)
    assert names.ids(names.begun("late_forecast_77", mask, 1)) == ["late_forecast_77"]
    names.remove(len(titles) + 77)
    mask[len(titles) + 77] = False
    places = np.where(mask, np.cumsum(mask) - 1, -1)
    moved = names.moved(places)
    every = np.ones(mask.sum(), np.bool_)
    assert len(moved.begun("forecast", every, len(titles))) == len(late) - 1
    assert len(moved.begun("weather", every, len(titles))) == len(titles)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("get_user-name", ["get", "user", "name"]),
        ("HTMLToMarkdown", ["html", "to", "markdown"]),
        ("Café Ｗｅｂ", ["cafe", "web"]),
        ("天气", ["天气"]),
        ("🙂 _ -", []),
    ],
)
def test_names_are_split_into_words(text, words):
    assert words_of(text) == words


def test_a_slip_is_one_letter_and_never_the_first():
    for slip in ("weathr", "waether", "weatherr", "weatjer", "weahter"):
        assert "weather" in set(misspelt(slip))
    assert "weather" not in set(misspelt("eather"))
    assert not list(misspelt("abc"))
