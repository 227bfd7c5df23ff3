"""Measuring texts."""

import pytest

from tests.registry.builtins.calling import run


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("One. Two! Three?", 3),
        ("It costs 3.5 euros at example.com.", 1),
        ("Dr. Smith met Mr. Jones. They spoke.", 2),
        ("Fruit, e.g. apples, i.e. food, pears etc. are here.", 1),
        ("The U.S. Army left.", 1),
        ("He said “Go.” Then he left", 2),
        ("...", 0),
        ("", 0),
    ],
)
def test_sentences_are_counted(source: str, expected: int) -> None:
    assert run("count_text", {"text": source, "what": "sentences"})["count"] == expected


@pytest.mark.parametrize(
    ("source", "what", "expected"),
    [
        ("e\u0301👨‍👩‍👧🇫🇷a", "characters", 4),
        ("🇫🇷" * 50_000, "characters", 50_000),
        ("cafe\u0301 don't well-known", "words", 3),
        ("a\nb\n", "lines", 2),
    ],
)
def test_the_parts_of_a_text_are_counted(source: str, what: str, expected: int) -> None:
    assert run("count_text", {"text": source, "what": what})["count"] == expected
