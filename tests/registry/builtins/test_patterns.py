"""Extracting by patterns."""

import pytest

from registry.errors import ToolInputRejected
from tests.registry.builtins.calling import run


def test_matches_are_told_with_their_groups() -> None:
    answer = run("regex_extract", {"text": "AB-12 cd-3", "pattern": "(?P<code>[A-Z]+)-([0-9]+)"})
    assert answer == {
        "total": 1,
        "matches": [
            {
                "match": "AB-12",
                "start": 0,
                "end": 5,
                "groups": ["AB", "12"],
                "named": {"code": "AB"},
            }
        ],
    }


@pytest.mark.parametrize(
    "pattern",
    [
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        r"\d{1,3}(?:\.\d{1,3}){3}",
        r"(?:[A-Z]{2,}\s+){3,10}(\w+)",
        r"https?://[^\s/]+(/[^\s?#]*)*(\?[^\s#]+)?",
        r"[+*{}()\[\]]{1,200}",
    ],
)
def test_everyday_patterns_are_accepted(pattern: str) -> None:
    assert run("regex_extract", {"text": "nothing", "pattern": pattern})["total"] == 0


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "^(a|a)*$",
        "(?=(a*))",
        "(?:" * 60 + "a" + ")+" * 60,
        "(?:" * 100 + "a" + "){2,9}" * 100,
        "(a{30000}){30000}",
        "a{99999999}",
        "(?:" * 240 + "a" + ")" * 240,
        "(?R)",
        "((a{9000})(?#(){9000}",
        "((?:a{9000})[[:alpha:](]){9000}",
    ],
)
def test_a_pattern_that_is_wrong_or_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(ToolInputRejected):
        run("regex_extract", {"text": "a" * 99_999 + "b", "pattern": pattern, "limit": 1_000})
