"""Changing texts."""

from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from config.lib.types import JsonObject
from registry.builtins import BUILTINS
from registry.builtins.matching import GRAPHEME
from registry.builtins.shapes import TEXT_LIMIT
from registry.errors import ToolInputRejected
from registry.schemas import validate_arguments


def run(tool: str, **arguments: Any) -> JsonObject:
    builtin = BUILTINS[tool]
    answer: JsonObject = builtin.run(validate_arguments(builtin.input_schema, arguments))
    return answer


@pytest.mark.parametrize(
    ("case", "given_text", "expected"),
    [
        ("upper", "straße", "STRASSE"),
        ("lower", "HELLO World", "hello world"),
        ("title", "don't stop the élan", "Don't Stop The Élan"),
        (
            "sentence",
            "HI THERE. it cost 3.5 EUROS! ok\nbye",
            "Hi there. It cost 3.5 euros! Ok\nBye",
        ),
        ("sentence", "he said “go.” then left", "He said “go.” Then left"),
        ("snake", "parseHTTPReply v2Name", "parse_http_reply_v2_name"),
        ("kebab", "Don't panic!\nuser id", "dont-panic\nuser-id"),
        ("camel", "get_user_name", "getUserName"),
        ("pascal", "get user-name", "GetUserName"),
        ("camel", "!!!", ""),
    ],
)
def test_a_text_is_written_in_the_wanted_case(case: str, given_text: str, expected: str) -> None:
    assert run("change_case", text=given_text, case=case) == {"text": expected}


@pytest.mark.parametrize("source", ["A", "aB", ". ", '."', ".\n", "'a", " "])
@pytest.mark.parametrize("case", ["title", "sentence", "snake", "pascal"])
def test_the_longest_text_is_rewritten_too(case: str, source: str) -> None:
    longest = source * (TEXT_LIMIT // len(source))
    assert isinstance(run("change_case", text=longest, case=case)["text"], str)


def test_reversing_keeps_accents_flags_and_families_whole() -> None:
    assert run("reverse_text", text="e\u0301👨‍👩‍👧🇫🇷a")["text"] == "a🇫🇷👨‍👩‍👧e\u0301"


@pytest.mark.parametrize(
    ("unit", "expected"), [("words", "c b a"), ("lines", "c\na b"), ("characters", "c\nb a")]
)
def test_a_text_is_reversed_by_the_wanted_unit(unit: str, expected: str) -> None:
    assert run("reverse_text", text="a b\nc", unit=unit)["text"] == expected


def test_a_text_of_nothing_but_flags_is_reversed_in_time() -> None:
    longest = "🇫🇷" * (TEXT_LIMIT // 2)
    assert run("reverse_text", text=longest)["text"] == longest


@given(st.text(alphabet="a🇫🇷\u0301\u200d👨क\u0903\r\n", max_size=12))
def test_characters_are_those_of_the_unicode_standard(source: str) -> None:
    assert GRAPHEME.findall(source) == regex.findall(r"\X", source)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "a  b \n\n c"),
        ({"side": "start"}, "a  b \n\n c  "),
        ({"side": "end"}, "  a  b \n\n c"),
        ({"each_line": True}, "a  b\n\nc"),
        ({"collapse_spaces": True}, "a b \n\n c"),
        ({"each_line": True, "collapse_spaces": True, "remove_blank_lines": True}, "a b\nc"),
    ],
)
def test_white_space_is_removed_where_it_was_asked_for(options: JsonObject, expected: str) -> None:
    source = "  a  b \n\n c  "
    assert run("trim_text", text=source, **options) == {
        "text": expected,
        "removed": len(source) - len(expected),
    }


@pytest.mark.parametrize(
    ("options", "expected", "count"),
    [
        ({}, "The dog saw a Cat in the doglog", 2),
        ({"case_sensitive": False}, "The dog saw a dog in the doglog", 3),
        ({"whole_words": True}, "The dog saw a Cat in the catlog", 1),
    ],
)
def test_every_occurrence_is_replaced(options: JsonObject, expected: str, count: int) -> None:
    source = "The cat saw a Cat in the catlog"
    answer = run("replace_text", text=source, find="cat", replacement="dog", **options)
    assert answer == {"text": expected, "replacements": count}


def test_the_search_and_the_replacement_are_taken_literally() -> None:
    answer = run("replace_text", text="C++ (a.b)", find="C++", replacement=r"\1", whole_words=True)
    assert answer["text"] == r"\1 (a.b)"


def test_a_text_that_would_grow_too_large_is_refused() -> None:
    with pytest.raises(ToolInputRejected, match="would grow to"):
        run("replace_text", text="a" * TEXT_LIMIT, find="a", replacement="b" * 10_000)


@given(st.text(max_size=30), st.text(min_size=1, max_size=3), st.text(max_size=3))
def test_replacing_agrees_with_the_language(source: str, find: str, replacement: str) -> None:
    answer = run("replace_text", text=source, find=find, replacement=replacement)
    assert answer["text"] == source.replace(find, replacement)
