"""What no tool helps with stays below the floor; what one helps with does not."""

import random
from collections import defaultdict

import numpy as np
import pytest

from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.form import form_of
from registry.search.need import Need
from registry.search.relevance import (
    COEFFICIENTS,
    WITH_MEANING,
    features,
    reasons,
    relevance,
    speaker,
    spread,
)
from registry.search.weights import Weights
from tests.registry.search.no_answer import fresh_messages, messages, short_requests
from tests.registry.search.test_document import TOOLS

FLOOR = Weights().floor
PLAIN = list(COEFFICIENTS).index("plain")
# ruff: noqa: SIM905 - a list of words is read as one
OTHERS = (
    "invoice customer order shipment contract ticket meeting calendar mail folder image video song "
    "playlist market share bond exchange rate tax salary flight hotel train route map distance "
    "weather storm river animal plant recipe menu exam course book author library museum painting "
    "molecule protein gene star planet engine car battery light camera sensor network server log "
    "metric alert queue table column index branch commit issue review vote poll survey form page"
).split()
VERBS = ("get", "list", "create", "update", "delete", "search", "convert", "send", "plan", "read")


def catalogue(size: int) -> list[SearchDocument]:
    """Return the thirty tools among made-up ones."""
    rng = random.Random(3)
    tools = [SearchDocument(id=name, name=name, description=TOOLS[name]) for name in TOOLS]
    for number in range(size - len(tools)):
        verb, one, other, third = rng.choice(VERBS), *rng.sample(OTHERS, 3)
        text = f"{verb.title()} the {one} of a {other}, with its {third}."
        tools.append(
            SearchDocument(id=f"t{number}", name=f"{verb}_{one}_{other}", description=text)
        )
    return tools


@pytest.fixture(scope="module", params=[len(TOOLS), 3000])
def engine(request) -> Engine:
    return Engine.build(catalogue(request.param))


def finds(engine, text, **need):
    return any(hit.score >= FLOOR for hit in engine.rank(Need(text=text, **need), limit=5))


def test_there_are_enough_messages_of_many_kinds():
    kinds = defaultdict(int)
    for message in messages():
        kinds[message.kind] += 1
    assert len(messages()) >= 400
    assert len(kinds) >= 20
    assert min(kinds.values()) >= 15


def test_at_least_95_percent_of_what_no_tool_helps_with_finds_nothing(engine):
    held_out = [message.text for message in messages() if message.held_out]
    found = [text for text in held_out if finds(engine, text)]
    assert len(found) <= 0.05 * len(held_out), found


def test_so_it_is_with_messages_that_were_written_when_all_was_fitted(engine):
    fresh = [message.text for message in fresh_messages()]
    found = [text for text in fresh if finds(engine, text)]
    assert len(fresh) == 120
    assert len(found) <= 0.05 * len(fresh), found


@pytest.mark.parametrize(
    ("text", "name", "description"),
    [
        ("what's the weather", "get_weather", "Tell the current weather of a town."),
        ("tell me a joke", "random_joke", "Tell a random joke."),
        ("translate this", "translate_text", "Translate a text to another language."),
    ],
)
def test_a_short_request_passes_where_a_tool_fits(text, name, description):
    tool = SearchDocument(id="it", name=name, description=description)
    rare = [other for other in catalogue(10_000) if "weather" not in other.description]
    for others in ([], rare[:3], rare[:3000], rare):
        assert finds(Engine.build([*others, tool]), text), len(others)


def test_likeness_in_meaning_speaks_for_a_tool():
    rows, far, near = row(), np.array([0.1]), np.array([0.7])
    assert relevance(rows, far) < relevance(rows, near)
    assert relevance(rows, np.array([np.nan])) == relevance(rows)
    assert relevance(row(words=0, coverage=0.0), near) > FLOOR


@pytest.mark.parametrize(
    "text",
    [
        "What time is it in Tokyo?",
        "What is 17 * 23?",
        "convert this CSV to JSON",
        "csv to json",
        "html to markdown",
        "how many kilometres are 26 miles?",
        "make me a strong password",
        "sha256 of hello",
        "I need a QR code for my website",
        "could you kindly count the words of this text",
        "generate a uuid",
        "help me with web stuff",
    ],
)
def test_a_plain_request_passes_the_floor(engine, text):
    assert finds(engine, text)


@pytest.mark.parametrize("text", ["what time is it?", "tell me the time", "Which day is it?"])
def test_what_asks_for_a_thing_by_its_name_goes_on_from_nothing(text):
    before = "Convert this HTML page to markdown, please"
    engine = Engine.build(catalogue(30))
    alone = engine.rank(Need(text=text), limit=5)
    assert alone[0].score > FLOOR
    assert engine.rank(Need(text=text, recent=(before,)), limit=5) == alone


def test_short_requests_are_no_small_talk():
    """Each of these finds a tool that is called so; in words that no tool has, none can."""
    for message in short_requests():
        if message.held_out:
            tool = SearchDocument(id="it", name=message.text, description=message.text)
            assert finds(Engine.build([*catalogue(300), tool]), message.text), message.text


@pytest.mark.parametrize("text", ["hello", "thanks a lot!", "how are you?", "", "🙂", "\0"])
def test_small_talk_finds_nothing_even_after_a_request(engine, text):
    assert not finds(engine, text)
    assert not finds(engine, text, recent=("convert this CSV to JSON",))


@pytest.mark.parametrize("text", ["yes, that's correct", "now for Berlin", "a,b\n1,2", "it's 4711"])
def test_what_goes_on_from_a_request_keeps_its_relevance(engine, text):
    assert finds(engine, text, recent=("convert this CSV to JSON",))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_tool_among_few_is_found_by_its_own_words(size):
    tools = catalogue(30)[:size]
    few = Engine.build(tools)
    for tool in tools:
        assert finds(few, tool.name.replace("_", " "))
        assert finds(few, tool.description)
        assert not finds(few, "I had a wonderful day with my sister")


def test_relevance_falls_in_the_order_of_the_ranking(engine):
    for text in ("convert a text to another format", "the difference of two texts", "random json"):
        scores = [hit.score for hit in engine.rank(Need(text=text))]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_relevance_does_not_depend_on_how_many_are_asked_for(engine):
    need = Need(text="convert a text to another format")
    assert engine.rank(need, limit=1) == engine.rank(need, limit=10)[:1]


@pytest.mark.parametrize("likeness", [None, 0.5])
def test_what_speaks_for_a_tool_is_told(engine, likeness):
    rows = engine.features("please convert this CSV to JSON", ["csv_to_json"])
    near = None if likeness is None else np.array([likeness])
    told = reasons(rows[speaker(rows, near)], likeness)
    gains = {name: gain for name, (_, gain) in told.items()}
    assert min(gains["words"], gains["name"], gains["asks"]) > 0
    assert gains["personal"] == gains["talk"] == 0
    assert set(told) == {*(WITH_MEANING if likeness else COEFFICIENTS), "base"}
    assert 1 / (1 + np.exp(-sum(gains.values()))) == pytest.approx(relevance(rows, near))


def test_nothing_speaks_where_no_word_is_said(engine):
    for text in ("hello", "aardvark"):
        assert speaker(engine.features(text, ["csv_to_json"])) is None


def row(words=2, coverage=0.5, rarest=5.0, size=1000, text="convert it"):
    gains = np.array([[4.0] * words + [0.0] * (5 - words)])
    return features(
        gains,
        np.ones(5),
        np.array([coverage]),
        rarest=rarest,
        size=size,
        wanted=2,
        form=form_of(text),
    )


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (row(words=1), row(words=3)),
        (row(coverage=0.0), row(coverage=1.0)),
        (row(size=100_000), row(size=10)),
        (row(text="I told you of it"), row(text="of this or of it")),
        (row(text="now at once convert it"), row(text="could you please convert it")),
        (row(text="convert some of it"), row(text="convert 12 of it")),
        (row(text="why convert it"), row(text="now convert it")),
        (row(text="converting of it"), row(text="convert the it")),
    ],
)
def test_each_feature_weighs_one_way(less, more):
    assert relevance(less) < relevance(more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what's the weather", 1),
        ("tell me a joke", 1),
        ("Translate this!", 1),
        ("please show me the news", 1),
        ("why is the sky blue", 0),
        ("the weather", 0),
        ("this is the weather that we had on Monday", 0),
        ("thank you", 0),
        ("", 0),
    ],
)
def test_a_few_words_that_order_something_or_ask_for_a_thing_are_plain(text, expected):
    assert form_of(text).plain == expected


def test_a_plain_request_speaks_only_for_a_tool_that_says_all_of_it(engine):
    assert engine.features("query the json", ["json_query"])[0, PLAIN] == 1
    assert engine.features("query the purple json", ["json_query"])[0, PLAIN] == 0


def test_the_features_of_tools_do_not_depend_on_their_order(engine):
    names = list(TOOLS)[:6]
    rows = engine.features("convert a text to json", names)
    turned = engine.features("convert a text to json", names[::-1])
    assert rows.tolist() == turned[::-1].tolist()


def test_a_tool_of_which_no_word_is_said_is_not_relevant():
    assert relevance(row(words=0, coverage=0.0)) == 0.0
    assert relevance(np.zeros((0, len(COEFFICIENTS)))) == 0.0


def test_the_relevance_of_others_follows_their_share_of_the_best_score():
    assert spread(0.8, np.array([2.0, 2.0, 0.5])).tolist() == pytest.approx([0.8, 0.8, 0.4])
    assert spread(0.8, np.array([])).tolist() == []
    assert spread(0.8, np.array([0.0])).tolist() == [0.0]
