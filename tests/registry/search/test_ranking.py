"""What ranks first, and why: history, sub-queries, misspelt words, polite phrases."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.history import reliance, states
from registry.search.need import Need, read
from registry.search.weights import Weights

TOOLS = {
    "scrape_page": "Fetches a web page and returns its text as Markdown.",
    "send_mail": "Sends an e-mail to one or more people.",
    "book_room": "Books a meeting room for a time.",
    "cancel_room": "Cancels the booking of a meeting room.",
    "get_weather": "Returns the weather forecast of a city.",
    "convert_currency": "Converts an amount of money from one currency to another.",
    "summarize_text": "Summarizes a long text in a few sentences.",
    "translate_text": "Translates text into another language.",
    "list_issues": "Lists the open issues of a GitHub repository.",
    "resize_image": "Changes width and height of an image.",
    "parse_pdf": "Reads a PDF document and returns its text.",
    "set_alarm": "Sets an alarm for a time of the day.",
    "login": "Logs a user in by user name and password.",
    "create_chart": "Draws a chart of numbers as an image.",
}
ENGINE = Engine.build(
    SearchDocument(id=name, name=name, description=text) for name, text in TOOLS.items()
)
REQUESTS = {
    "scrape this page": "scrape_page",
    "send a mail to Tom": "send_mail",
    "book a room for Monday": "book_room",
    "what will the weather be tomorrow": "get_weather",
    "convert 5 dollars to another currency": "convert_currency",
    "summarize the report": "summarize_text",
    "translate this into French": "translate_text",
    "list issues on github": "list_issues",
    "resize the image to 100 px": "resize_image",
    "set an alarm for 7": "set_alarm",
}
OPENINGS = (
    "can you please",
    "hey, I'd like you to",
    "could you kindly",
    "I was wondering if you could",
    "Hi there! Please",
    "would it be possible for you to",
    "I would really appreciate it if you could",
    "please help me",
    "I want you to",
    "Good morning, do you mind if I ask you to",
    "so could you maybe just",
)
CLOSINGS = ("", ", thanks!", " please", ". Thank you so much!", ", would you?", " for me")


def found(text, *, recent=(), queries=(), limit=5, weights=None):
    need = Need(text=text, recent=recent, queries=queries)
    return [each.id for each in ENGINE.rank(need, limit=limit, weights=weights)]


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(sorted(REQUESTS)),
    st.lists(st.sampled_from(OPENINGS), max_size=2),
    st.sampled_from(CLOSINGS),
)
def test_polite_phrases_round_a_request_change_nothing(request_, openings, closing):
    polite = " ".join([*openings, request_]) + closing
    assert found(polite)[:1] == [REQUESTS[request_]]


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_polite_answer_still_is_an_answer(opening):
    recent = ("Can you cancel my room?",)
    assert found("my name is Mary", recent=recent) == found(
        f"{opening} my name is Mary", recent=recent
    )


@pytest.mark.parametrize(
    ("answer", "asked", "tool"),
    [
        ("10 pm tonight.", "Can you set an alarm?", "set_alarm"),
        ("My user name is mary and my password is x.", "Cancel my room booking", "cancel_room"),
        ("34567890", "Please cancel the meeting room", "cancel_room"),
        ("Yes, that's correct.", "Could you translate this letter?", "translate_text"),
        ("and for Berlin?", "What's the weather in Paris?", "get_weather"),
    ],
)
def test_an_answer_is_for_the_tool_that_was_asked_for(answer, asked, tool):
    assert found(answer, recent=(asked,))[0] == tool


@pytest.mark.parametrize(("text", "tool"), REQUESTS.items())
def test_a_request_that_stands_alone_is_not_led_astray_by_earlier_ones(text, tool):
    assert found(text, recent=("log me in with my password", "draw a chart of it"))[0] == tool


def test_earlier_messages_do_not_change_what_a_long_request_finds():
    text = (
        "Fetch the web page of the city, summarize its long text in few sentences, translate the "
        "sentences into another language and send people the document by mail"
    )
    assert found(text, recent=("Set an alarm",)) == found(text)


def test_without_a_weight_history_adds_nothing():
    assert found("10 pm tonight", recent=("Set an alarm",), weights=Weights(history=0)) == found(
        "10 pm tonight", weights=Weights(history=0)
    )


@given(st.integers(0, 50), st.floats(0, 1), st.booleans())
def test_who_says_more_leans_less(words, coverage, is_statement):
    leaning = reliance(words, coverage, is_statement=is_statement)
    assert 0 <= leaning <= 1
    assert reliance(words + 1, coverage, is_statement=is_statement) <= leaning
    assert reliance(words, 1.0, is_statement=is_statement) <= leaning
    assert reliance(words, coverage, is_statement=True) >= leaning


@pytest.mark.parametrize(
    ("text", "is_statement"),
    [
        ("My name is Mary.", True),
        ("It's on Monday.", True),
        ("yes", True),
        ("42", True),
        ("I want to book it", False),
        ("Start the engine", False),
        ("Is it on?", False),
        ("", True),
        ("a" * 10**5, False),
    ],
)
def test_a_statement_is_told_from_a_request(text, is_statement):
    assert states(text) is is_statement


def test_each_sub_query_gets_a_place():
    many = [
        SearchDocument(id=f"w{n}", name=f"weather_{n}", description="Tells the weather of a city.")
        for n in range(20)
    ]
    other = SearchDocument(id="m", name="send_mail", description="Sends an e-mail.")
    engine = Engine.build([*many, other])
    need = Need(text="Look at it and tell Tom", queries=("weather of a city", "send an e-mail"))
    assert "m" in [each.id for each in engine.rank(need, limit=5)][:2]
    three = found(
        "Do all of it",
        queries=("translate a text", "draw a chart", "convert currency"),
    )
    assert set(three[:3]) == {"translate_text", "create_chart", "convert_currency"}


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("wether forcast", "get_weather"),
        ("the page as markdwn", "scrape_page"),
        ("sumarize it", "summarize_text"),
        ("translaet it", "translate_text"),
        ("curency", "convert_currency"),
        ("meetingroom", "book_room"),
        ("webpage", "scrape_page"),
    ],
)
def test_a_misspelt_or_joined_word_is_read_as_one_that_is_known(text, tool):
    assert found(text)[0] == tool
    assert not set(found(text, weights=Weights(corrected=0))) & {tool} or " " in text


@pytest.mark.parametrize(
    "text", ["a letter for Textar", "'wether'", "dog", "zzzzzz", "weather42x", "\ud800\ud800"]
)
def test_names_quotes_and_far_words_are_left_alone(text):
    assert ENGINE.corrected(text) == {}


def test_a_correction_is_told():
    assert ENGINE.corrected("wether and meetingroom") == {
        "wether": ("weather",),
        "meetingroom": ("meet", "room"),
    }


def test_a_word_is_known_once_a_tool_holds_it():
    engine = Engine.build([SearchDocument(id="1", name="weather")])
    assert engine.corrected("wether") == {"wether": ("weather",)}
    engine.put(SearchDocument(id="2", name="wether"))
    assert engine.corrected("wether") == {}
    engine.remove("2")
    assert engine.corrected("wether") == {"wether": ("weather",)}


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_corrected_or_left(text):
    ENGINE.corrected(text)
    ENGINE.rank(Need(text=text, recent=(text,), queries=(text,)))


def test_what_is_worked_on_counts_less_than_what_is_wanted():
    assert found("translate 'the weather'")[0] == "translate_text"
    assert found("translate ```the weather```")[0] == "translate_text"
    assert read("translate 'the weather' please").quoted == {"weather"}
    assert read("the weather's forecast isn't it").quoted == frozenset()


@pytest.mark.parametrize(
    ("limitation", "first"),
    [("No attachments, and no mail to many.", "b"), ("", "a"), ("At most 20 a day.", "a")],
)
def test_a_tool_that_says_it_cannot_comes_after_its_equal(limitation, first):
    text = "Sends a mail, with an attachment if wanted."
    engine = Engine.build(
        [
            SearchDocument(id="a", name="mail", description=text, limitations=limitation),
            SearchDocument(id="b", name="mail", description=text),
        ]
    )
    assert engine.rank(Need(text="send a mail with attachments"))[0].id == first
