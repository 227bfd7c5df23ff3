"""The parts that are told of a score sum to it, and say which words gained it and where."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.search.dense.encoder import normalised
from registry.search.dense.vectors import Vectors, packed
from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.explain import Explanation, explain
from registry.search.need import Need, read
from registry.search.reading import read_message, words_by_term
from registry.search.tokens import query_terms
from registry.search.weights import Weights

DOCUMENTS = (
    SearchDocument(
        id="page",
        name="scrape_web_page",
        title="Scrape a web page",
        description="Read a web page as Markdown.",
        parameters=("url",),
        parameter_descriptions=("Address of the page.",),
        package="webtools",
        examples=("get the text of a website",),
        quality=0.8,
        health=1.0,
        downloads=1000,
    ),
    SearchDocument(
        id="search",
        name="search_the_web",
        description="Search the web and return links to pages.",
        category="web",
        package="webtools",
        limitations="It cannot read the page behind a link.",
    ),
    SearchDocument(id="mail", name="send_email", description="Send an email to a person."),
    SearchDocument(id="image", name="resize_image", description="Make an image smaller."),
)

NEEDS = (
    Need(text="read the markdown of a web page"),
    Need(text="Please get the text of a website, then email it to a person."),
    Need(text="convert 'the page' to an image"),
    Need(text="and the links?", recent=("search the web for cats",)),
    Need(text="Do it", queries=("read a web page", "search the web", "send an email")),
    Need(text="get the markdwn of a page"),
)


VECTORS = Vectors(4)
VECTORS.put(
    (id_, packed(np.array(vector, np.float32)))
    for id_, vector in {
        "page": (1, 0.2, 0, 0),
        "search": (0.5, 1, 0, 0),
        "mail": (0, 0.1, 1, 0),
    }.items()
)
MEANT: dict[str, Any] = {
    "vectors": VECTORS,
    "query_vector": normalised(np.array([[0.9, 0.5, 0.1, 0]], np.float32))[0],
}
# ruff: noqa: SIM905 - a list of words is read as one
WORDS = (
    "read the markdown of a web page, websites. then email it links? person image search text get "
    "hello please 'scrape' markdwn serach imagesmaller 17 * 23 cannot behind resize smaller xyzzy"
).split()


@pytest.fixture(scope="module")
def engine() -> Engine:
    engine = Engine.build(DOCUMENTS)
    # some that came after the index was built, and one that was there
    engine.put(SearchDocument(id="late", name="read_links", description="Read links of a page."))
    engine.put(DOCUMENTS[2])
    return engine


def explained(engine: Engine, need: Need, **options: Any) -> list[Explanation]:
    """Return the explanations of what is ranked, in order, having compared the two."""
    ranked = engine.rank(need, **options)
    look = engine.look(need, **options)
    told = [] if look is None else explain(engine, look, 50)
    assert [(each.id, each.score) for each in told] == [(each.id, each.score) for each in ranked]
    return told


def check(told: list[Explanation]) -> None:
    """See that the parts make the ranking, and that it makes the score that is told."""
    for each in told:
        parts = sum(term.gain for term in each.terms) + sum(each.added.values())
        lift = each.factors["quality"] * each.factors["health"] * each.factors["popularity"]
        assert parts * lift == pytest.approx(each.ranking, abs=1e-6)
        assert each.total == pytest.approx(each.ranking, abs=1e-6)
        share = (each.ranking / told[0].ranking) ** 0.5
        assert each.relevance.value * share == pytest.approx(each.score, abs=6e-5)  # four digits
        assert each.share == pytest.approx(share, abs=1e-6)
        relevance = each.relevance
        if relevance.reasons:
            odds = 1 / (1 + math.exp(-relevance.odds))
            assert odds * relevance.times == pytest.approx(relevance.value, abs=1e-6)


@pytest.mark.parametrize("need", NEEDS)
@pytest.mark.parametrize("meant", [{}, MEANT])
@pytest.mark.parametrize(
    "weights",
    [
        None,
        Weights(limitations=0.5, quality=0.5, name=3.0, rarity=0.2),
        Weights(history=1.0, passage=0.0, dense=0.3),
    ],
)
def test_the_parts_of_a_score_make_it(
    engine: Engine, need: Need, weights: Weights | None, meant: dict[str, Any]
) -> None:
    told = explained(engine, need, weights=weights, **meant)
    assert told
    check(told)


@settings(deadline=None, max_examples=150)
@given(
    texts=st.lists(
        st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=4, max_size=4
    ),
    queries=st.integers(0, 2),
    is_meant=st.booleans(),
    weights=st.sampled_from([None, Weights(corrected=1, clause=2, limitations=1, popularity=0.5)]),
)
def test_the_parts_of_any_score_make_it(
    engine: Engine, texts: list[str], queries: int, is_meant: bool, weights: Weights | None
) -> None:
    need = Need(text=texts[0], recent=(texts[1],), queries=tuple(texts[2 : 2 + queries]))
    check(explained(engine, need, weights=weights, **(MEANT if is_meant else {})))


def test_each_part_is_told_where_it_counts(engine: Engine) -> None:
    """A part that is nowhere above 0 would sum up whether it is told or not."""
    clauses, _, history, queries = NEEDS[1:5]
    first = explained(engine, clauses)
    assert all(any(each.added[name] for each in first) for name in ("coverage", "clause"))
    assert next(each for each in first if each.id == "page").added["passage"] > 0
    cannot = explained(engine, Need(text="read the page behind a link"))
    assert next(each for each in cannot if each.id == "search").added["limitations"] < 0
    followed = {each.id: each for each in explained(engine, history)}
    assert followed["search"].added["history"] > 0 and followed["search"].reliance > 0
    assert any(each.added["turn"] < 0 for each in explained(engine, queries))
    meant = explained(engine, NEEDS[0], **MEANT)
    assert meant[0].added["dense"] > 0
    other = {**MEANT, "query_vector": np.array([0, 0, 1, 0], np.float32)}
    assert explained(engine, NEEDS[0], **other)[0].added["shift"] != 0


def test_a_word_that_is_read_as_another_is_told(engine: Engine) -> None:
    [best, *_] = explained(engine, Need(text="get the markdwn"))
    assert best.corrected == {"markdwn": ("markdown",)}
    [term] = [term for term in best.terms if term.is_corrected]
    assert (term.word, term.term) == ("markdwn", "markdown")
    [word] = [
        word for word in read_message("get the markdwn", best.corrected).words if word.read_as
    ]
    assert word.read_as == ("markdown",)


def test_why_the_best_is_relevant_is_told(engine: Engine) -> None:
    relevance = explained(engine, Need(text="Please read the web page"))[0].relevance
    reasons = {reason.name: reason for reason in relevance.reasons}
    assert relevance.speaks == "message" and relevance.tool == "page"
    assert math.expm1(reasons["words"].value) == pytest.approx(3)  # read, web, page
    assert reasons["asks"].gain > 0 > reasons["base"].gain
    follows = explained(engine, Need(text="and for Berlin?", recent=("search the web",)))
    assert follows[0].relevance.speaks == "earlier" and follows[0].relevance.times < 1
    by_query = explained(engine, Need(text="do it", queries=("resize an image",)))[0].relevance
    assert by_query.speaks == "query" and by_query.text == "resize an image"
    meant = explained(engine, Need(text="xyzzy"), **MEANT)[0].relevance
    assert meant.value > 0
    assert max(meant.reasons, key=lambda reason: reason.gain).name == "meaning"


def test_the_clause_that_fits_is_told(engine: Engine) -> None:
    told = {each.id: each for each in explained(engine, NEEDS[1])}
    assert told["mail"].clause == ("email", "person") and "website" in told["page"].clause


def test_the_fields_of_a_term_sum_to_its_gain(engine: Engine) -> None:
    for each in explained(engine, NEEDS[0]):
        for term in each.terms:
            assert sum(term.fields.values()) == pytest.approx(term.gain, abs=1e-9)
        assert sum(each.fields.values()) == pytest.approx(sum(term.gain for term in each.terms))


def test_a_term_names_the_word_of_the_message_and_the_texts_that_say_it(engine: Engine) -> None:
    need = Need(text="scraping websites and web pages")
    [page, *_] = explained(engine, need)
    terms = {term.word: term for term in page.terms}
    assert page.id == "page"
    assert terms["scraping"].term == "scrape" and set(terms["scraping"].fields) == {"name"}
    assert set(terms["pages"].fields) == {"name", "description", "parameter_descriptions"}
    assert terms["scraping"].idf > terms["web"].idf


def test_what_lifts_a_tool_is_told_apart(engine: Engine) -> None:
    told = {each.id: each for each in explained(engine, NEEDS[0])}
    assert all(factor > 1 for factor in told["page"].factors.values())
    assert set(told["search"].factors.values()) == {1.0}


def test_other_weights_are_told_as_they_rank(engine: Engine) -> None:
    weights = Weights(description=0.0, parameter_descriptions=0.0)
    [page, *_] = explained(engine, Need(text="web pages"), weights=weights)
    assert set(page.fields) <= {"name", "package", "category", "examples"}


def test_weights_that_are_adopted_rank_as_weights_given_apart(engine: Engine) -> None:
    weights = Weights(package=0.0, name=2.0, b=0.2)
    adopted = Engine.build(DOCUMENTS)
    adopted.rank(NEEDS[0])
    adopted.adopt(weights)
    plain = Engine.build(DOCUMENTS)
    assert adopted.rank(NEEDS[0]) == plain.rank(NEEDS[0], weights=weights)
    assert adopted.rank(NEEDS[0]) != plain.rank(NEEDS[0])


def test_each_word_of_a_message_is_told_with_its_fate() -> None:
    message = read_message("Hello! Could you please convert 3 Websites, a lot?")
    greeting, asked, rest = message.clauses
    assert greeting.is_small_talk and [word.fate for word in greeting.words] == ["small talk"]
    assert [(word.text, word.fate, word.terms) for word in asked.words] == [
        ("Could", "stop word", ()),
        ("you", "stop word", ()),
        ("please", "chatter", ()),
        ("convert", "kept", ("convert",)),
        ("3", "number", ()),
        ("Websites", "kept", ("websit",)),
    ]
    assert [word.fate for word in rest.words] == ["too short", "kept"]


def test_a_calculation_is_told_as_what_stands_for_it() -> None:
    [kind] = read_message("What is 17 * 23?").kinds
    assert kind.text == "17 * 23" and "calcul" in kind.terms


def test_small_talk_asks_nothing() -> None:
    assert read_message("hello there").asks_nothing
    assert read_message("").asks_nothing
    assert not read_message("convert").asks_nothing


@given(st.text(max_size=200))
def test_the_words_that_are_kept_are_those_that_rank(text: str) -> None:
    assert set(words_by_term([text])) == set(query_terms(text)) == set(read(text).terms)
