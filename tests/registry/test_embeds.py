"""What stands between « and » in arguments."""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.embeds import LARGEST, resolve_embeds
from registry.errors import ArtifactNotFound, InvalidEmbed

KEPT = {("notes.txt", None): "latest", ("notes.txt", 1): "first «math:1+1»"}


def read(name, version):
    try:
        return KEPT[name, version]
    except KeyError:
        raise ArtifactNotFound(f"There is no {name}.", "Artifacts: notes.txt.") from None


def resolved(text, **options):
    return resolve_embeds({"text": text}, read=read, **options)["text"]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("«math:2*3»", "6"),
        ("a «math: 10 / 4 » b «math:2**3»", "a 2.5 b 8"),
        ("«artifact_content:notes.txt»", "latest"),
        ("«artifact_content:notes.txt:1»", "first «math:1+1»"),
        ("no embed", "no embed"),
        ("« quoted » and «unknown:x» and «math»", "« quoted » and «unknown:x» and «math»"),
        ("«unknown:«math:1+1»»", "«unknown:2»"),
        ("«datetime:100%%»", "100%"),
    ],
)
def test_an_embed_is_worked_out_and_what_is_none_stays(text, result):
    assert resolved(text) == result


def test_embeds_are_found_in_lists_and_objects_but_not_in_keys():
    arguments = {"a": ["«math:1+1»", {"«math:1»": "«math:2+2»"}], "n": 3, "none": None}
    expected = {"a": ["2", {"«math:1»": "4"}], "n": 3, "none": None}
    assert resolve_embeds(arguments, read=read) == expected


def test_arguments_that_are_raw_are_left_alone():
    arguments = {"template": "«math:1+1»", "text": "«math:1+1»"}
    done = resolve_embeds(arguments, raw=["template"], read=read)
    assert done == {"template": "«math:1+1»", "text": "2"}


def test_each_uuid_is_another_one():
    one, two = resolved("«uuid:» «uuid:»").split()
    assert UUID(one).version == UUID(two).version == 4
    assert one != two


def test_a_moment_is_of_now_in_utc_or_in_a_named_zone():
    moment = datetime.fromisoformat(resolved("«datetime:»"))
    assert abs(moment - datetime.now(UTC)) < timedelta(minutes=1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", resolved("«datetime:%Y-%m-%d»"))
    assert resolved("«datetime:%z|Asia/Tokyo»") == "+0900"
    assert resolved("«datetime:|Tokyo»").endswith("+09:00")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("«math:1/0»", "«math:1/0» cannot be worked out"),
        ("«math:__import__('os')»", "«math:__import__('os')» cannot be worked out"),
        ("«math:»", "«math:» cannot be worked out"),
        ("«math:9**9**9»", "cannot be worked out"),
        ("«datetime:%99999999d»", "The form of the date cannot be read"),
        ("«datetime:%Y|Atlantis»", "no time zone or city"),
        ("«artifact_content:other»", "There is no other."),
        ("«artifact_content:notes.txt:x»", "is not the number of a version"),
        ("«artifact_content:notes.txt:9»", "There is no notes.txt."),
        (f"«math:{'1+' * 900}1»", "The expression is longer than 1,000 characters"),
    ],
)
def test_an_embed_that_cannot_be_worked_out_is_named(text, words):
    with pytest.raises(InvalidEmbed) as caught:
        resolved(text)
    assert words in caught.value.message
    assert caught.value.code == "invalid_embed"
    assert caught.value.hint
    assert len(caught.value.extra["embed"]) <= 80


def test_embeds_may_put_in_only_so_much():
    def large(name, version):
        return "x" * (LARGEST // 2 + 1)

    with pytest.raises(InvalidEmbed, match="at most"):
        resolve_embeds({"a": "«artifact_content:a» «artifact_content:b»"}, read=large)


@given(st.text(alphabet="«»:%mathuid etcon|0189*/+-.()", max_size=60))
def test_no_text_breaks_it(text):
    try:
        assert isinstance(resolved(text), str)
    except InvalidEmbed as problem:
        assert problem.message
