"""The parts that are told of a score sum to it, and say which words gained it and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.explain import explain
from registry.search.need import Need, read
from registry.search.tokens import query_terms
from registry.search.weights import Weights
from registry.search.reading import read_message, words_by_term

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
    Need(text="and the links?", recent=("search the web for cats",)),
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.build(DOCUMENTS)


@pytest.mark.parametrize("need", NEEDS)
@pytest.mark.parametrize(
    "weights",
    [None, Weights(limitations=0.5, quality=0.5, name=3.0), Weights(history=1.0, passage=0.0)],
)
def test_the_parts_of_a_score_sum_to_it(
    engine: Engine, need: Need, weights: Weights | None
) -> None:
    ranked = engine.rank(need, weights=weights)
    told = explain(engine, need, ranked, weights)
    assert ranked and [each.id for each in told] == [each.id for each in ranked]
    for each, result in zip(told, ranked, strict=True):
        assert each.total == pytest.approx(result.score, abs=1e-6)


@pytest.mark.parametrize("need", NEEDS)
def test_all_results_are_told_on_one_scale(engine: Engine, need: Need) -> None:
    """A part that ranking counts and nobody tells would bend the scale of those that have it."""
    scales = []
    for result in engine.rank(need):
        parts = dict(result.parts)
        scales.append(result.score / (parts.pop("factor") * sum(parts.values())))
    assert scales == pytest.approx([scales[0]] * len(scales), rel=0.01)


def test_the_fields_of_a_term_sum_to_its_gain(engine: Engine) -> None:
    need = NEEDS[0]
    for each in explain(engine, need, engine.rank(need)):
        for term in each.terms:
            assert sum(term.fields.values()) == pytest.approx(term.gain, abs=1e-9)
        assert sum(each.fields.values()) == pytest.approx(sum(term.gain for term in each.terms))


def test_a_term_names_the_word_of_the_message_and_the_texts_that_say_it(engine: Engine) -> None:
    need = Need(text="scraping websites and web pages")
    [page, *_] = explain(engine, need, engine.rank(need))
    terms = {term.word: term for term in page.terms}
    assert page.id == "page"
    assert terms["scraping"].term == "scrape" and set(terms["scraping"].fields) == {"name"}
    assert set(terms["pages"].fields) == {"name", "description", "parameter_descriptions"}
    assert terms["scraping"].idf > terms["web"].idf


def test_what_lifts_a_tool_is_told_apart(engine: Engine) -> None:
    need = NEEDS[0]
    page = next(each for each in explain(engine, need, engine.rank(need)) if each.id == "page")
    assert all(page.factors[name] > 0 for name in ("quality", "health", "popularity"))
    search = next(each for each in explain(engine, need, engine.rank(need)) if each.id == "search")
    assert set(search.factors.values()) == {0.0}


def test_other_weights_are_told_as_they_rank(engine: Engine) -> None:
    need = Need(text="web pages")
    weights = Weights(description=0.0, parameter_descriptions=0.0)
    [page, *_] = explain(engine, need, engine.rank(need, weights=weights), weights)
    assert set(page.fields) <= {"name", "package", "category", "examples"}


def test_weights_that_are_adopted_rank_as_weights_given_apart(engine: Engine) -> None:
    weights = Weights(package=0.0, name=2.0, b=0.2)
    adopted = Engine.build(DOCUMENTS)
    adopted.rank(NEEDS[0])
    adopted.adopt(weights)
    assert adopted.rank(NEEDS[0]) == engine.rank(NEEDS[0], weights=weights)


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
