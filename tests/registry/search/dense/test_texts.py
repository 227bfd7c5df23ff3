"""Which texts become vectors."""

import numpy as np
import pytest

from registry.search.dense.encoder import normalised
from registry.search.dense.texts import LONGEST, MOST_CLAUSES, asked, digest_of, text_of
from registry.search.document import SearchDocument
from registry.search.need import Need


def document(**fields):
    return SearchDocument(**{"id": "1", "name": "getUserName", **fields})


def test_the_text_of_a_tool_says_what_it_is_called_and_does_before_its_parameters():
    text = text_of(
        document(
            package="@acme/people-tools",
            category="people",
            description="Look a person up.",
            use_case="Who somebody is",
            examples=("Who is Ada?",),
            parameters=("userId", "max_age"),
            parameter_descriptions=("Number of the person", ""),
        )
    )
    assert text == (
        "get User Name. @acme people tools. people. Look a person up. Who somebody is. "
        "Who is Ada?. user Id Number of the person; max age"
    )


def test_a_tool_that_says_nothing_but_its_name_has_a_text():
    assert text_of(document()) == "get User Name"


def test_a_text_has_an_end_and_no_nul():
    text = text_of(document(description="x\0y " * 5_000))
    assert len(text) <= LONGEST
    assert "\0" not in text


def test_limitations_and_quality_are_not_in_the_text():
    plain = text_of(document(description="Counts words."))
    told = document(
        description="Counts words.",
        limitations="No poems",
        quality=0.9,
        health=1.0,
        downloads=7,
    )
    assert text_of(told) == plain
    assert digest_of(text_of(told)) == digest_of(plain)


def test_digests_tell_texts_apart():
    assert digest_of("a") != digest_of("b")


@pytest.mark.parametrize("text", ["", "  ", "\0", "\n\t"])
def test_a_blank_need_asks_for_nothing(text):
    assert asked(Need(text=text)) is None


def test_a_short_message_is_one_text():
    texts = asked(Need(text="Find cheap flights"))
    assert texts is not None
    assert texts.texts == ("Find cheap flights",)


def test_a_long_message_is_asked_whole_and_by_its_clauses():
    texts = asked(Need(text="Find cheap flights. Then book a hotel; thanks!"))
    assert texts is not None
    assert texts.parts == ("Find cheap flights", "Then book a hotel")


def test_sub_queries_are_parts_and_stand_for_a_message_that_is_blank():
    texts = asked(Need(text="travel", queries=("find flights", "book hotels")))
    assert texts is not None
    assert texts.parts == ("find flights", "book hotels")
    alone = asked(Need(text=" ", queries=("find flights", "book hotels")))
    assert alone is not None
    assert alone.whole == "find flights"


def test_a_hostile_message_becomes_few_texts():
    texts = asked(Need(text="a b. " * 20_000, recent=("x y. " * 9_000,) * 50))
    assert texts is not None
    assert len(texts.texts) <= 2 + MOST_CLAUSES
    assert all(len(text) <= LONGEST for text in texts.texts)


def test_the_vector_of_a_need_lies_between_its_texts_and_has_the_length_one():
    texts = asked(Need(text="One two. Three four", recent=("Five six",)))
    assert texts is not None
    of = dict(zip(texts.texts, normalised(np.eye(4, dtype=np.float32)), strict=True))
    vector = texts.vector(of)
    assert np.linalg.norm(vector) == pytest.approx(1)
    whole, first, second, before = vector
    assert first == pytest.approx(second)
    assert whole > first > before > 0
