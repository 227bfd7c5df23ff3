"""Which forms of a secret are put out of sight, and which are not."""

import base64
import json
import logging
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.masking import MASK, Masker, log_failure, mask

SECRET = 'sk/live "é"+0123456789'
RAW = SECRET.encode()


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(SECRET))[3:-3],
        quote(SECRET, safe=""),
        quote(SECRET),
        quote_plus(SECRET),
        quote(SECRET, safe="")
        .replace("%2F", "%2f")
        .replace("%C3%A9", "%c3%a9")
        .replace("%2B", "%2b"),
        RAW.hex(),
        RAW.hex().upper(),
        RAW.hex(" "),
        RAW.hex(":"),
        SECRET[::-1],
        ",".join(map(str, RAW)),
        "sk/live &quot;é&quot;+0123456789",
    ],
)
def test_a_secret_is_masked_in_the_forms_that_programs_write(text):
    masked = mask({"a": [f"before {text} after"]}, [SECRET])
    assert masked == {"a": [f"before {MASK} after"]}


@given(st.binary(max_size=20), st.binary(max_size=20), st.booleans())
def test_a_secret_inside_longer_base64_is_masked(before, after, urlsafe):
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    masked = mask(encode(before + RAW + after).decode(), [SECRET])
    assert MASK in masked
    for pad in range(3):
        core = encode(b"\0" * pad + RAW).decode()[4:24]
        assert core not in masked


def test_a_secret_in_a_key_in_pieces_and_in_bytes_is_masked():
    told = {
        SECRET: 1,
        "letters": list(SECRET),
        "halves": {"one": SECRET[:9], "two": SECRET[9:]},
        SECRET[:5]: SECRET[5:],
        "bytes": list(RAW),
        "buffer": {"type": "Buffer", "data": [1, 2, *RAW]},
    }
    masked = json.dumps(mask(told, [SECRET]), ensure_ascii=False)
    for piece in (SECRET[9:], SECRET[5:], "0123", "48, 49, 50"):
        assert piece not in masked


def test_a_number_that_is_a_secret_is_masked_and_others_are_not():
    assert mask([12345678, 123, 1.5, True, None], ["12345678"]) == [MASK, 123, 1.5, True, None]


def test_shorter_values_are_left_alone():
    assert mask("abc", ["abc"]) == "abc"
    assert mask("abcd", ["abcd"]) == MASK
    assert mask({"a": "ab", "b": "cd"}, ["abcd"]) == {"a": "ab", "b": "cd"}


def test_of_two_secrets_the_longer_one_is_masked_whole():
    assert mask("secret-and-more", ["secret", "secret-and-more"]) == MASK


def test_nothing_changes_where_there_is_no_secret():
    value = {"a": ["x", 1, {"b": None}], "c": [1, 2, 3, 4]}
    assert mask(value, [SECRET]) == value
    assert mask(value, []) is value


@given(
    st.text(max_size=30),
    st.text(max_size=30),
    st.lists(st.integers(min_value=1, max_value=7), min_size=1, max_size=30),
)
def test_words_that_come_in_pieces_are_masked_like_the_whole(before, after, sizes):
    stream = Masker([SECRET]).stream()
    text, shown, place = before + SECRET + after, [], 0
    for size in (sizes * len(text))[: len(text)]:
        shown.append(stream.take(text[place : place + size]))
        place += size
    shown.append(stream.rest())
    assert SECRET not in "".join(shown)
    assert "".join(shown) == Masker([SECRET]).text(text)


def test_what_cannot_begin_a_secret_is_shown_at_once():
    stream = Masker(["secret-value"]).stream()
    assert stream.take("Hello se") == "Hello "
    assert stream.take("ven") == "seven"


def test_a_logged_failure_repeats_no_secret(caplog):
    try:
        int(f"bad {SECRET}")
    except ValueError:
        log_failure(logging.getLogger("test"), Masker([SECRET]), "%s failed", "It")
    assert "It failed" in caplog.text
    assert "ValueError" in caplog.text
    assert SECRET not in caplog.text
