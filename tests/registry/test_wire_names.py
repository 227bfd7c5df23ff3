"""Every tool gets a name that model APIs accept."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.errors import Conflict
from registry.wire_names import wire_name

ACCEPTED = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def free(_: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("package", "export", "name"),
    [
        ("@org/pkg", "export", "org_pkg-export"),
        ("@myorg/web-scraper", "scrapeTool", "myorg_web-scraper-scrapeTool"),
        ("lodash.get", "default", "lodash_get-default"),
        ("@org/search", "webSearch()", "org_search-webSearch"),
        ("7zip", "pack", "_7zip-pack"),
        (None, "current_time", "current_time"),
        (None, "Count and Shout", "count_and_shout"),
        (None, "  Über – Zähler! ", "uber_zahler"),
        (None, "3 wishes", "_3_wishes"),
    ],
)
def test_a_name_is_made_readable_and_acceptable(package, export, name):
    assert wire_name(package, export, free) == name


@pytest.mark.parametrize(("package", "export"), [(None, "数える"), (None, ""), ("@", "")])
def test_a_name_without_a_letter_becomes_a_tool_with_a_digest(package, export):
    assert re.fullmatch(r"tool-[0-9a-f]{8}", wire_name(package, export, free))


def test_a_long_name_is_cut_and_told_apart_by_its_digest():
    first = wire_name("@org/pkg", "x" * 100 + "a", free)
    second = wire_name("@org/pkg", "x" * 100 + "b", free)
    assert len(first) == len(second) == 64
    assert first != second


def test_taken_names_are_avoided_the_same_way_each_time():
    names: set[str] = set()
    for _ in range(5):
        names.add(wire_name(None, "Count", names.__contains__))
    assert len(names) == 5
    assert "count" in names
    assert wire_name(None, "Count", {"count"}.__contains__) in names


def test_it_gives_up_when_every_name_is_taken():
    with pytest.raises(Conflict, match="No free name"):
        wire_name(None, "count", lambda name: True)


@given(st.none() | st.text(max_size=90), st.text(max_size=90), st.booleans())
def test_any_text_gives_an_acceptable_name(package, export, first_is_taken):
    asked: list[str] = []

    def taken(name: str) -> bool:
        asked.append(name)
        return first_is_taken and len(asked) == 1

    name = wire_name(package, export, taken)
    assert ACCEPTED.fullmatch(name)
    asked.clear()
    assert wire_name(package, export, taken) == name
