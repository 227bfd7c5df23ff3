"""Text becomes the same few terms, however it is written."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.search.document import SearchDocument
from registry.search.engine import Engine
from registry.search.need import Need
from registry.search.tokens import MAX_TERM_LENGTH, query_terms, tokenize


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("getUserName", ["get", "name"]),
        ("HTMLParser parse_html web-scraper", ["html", "parser", "pars", "html", "web", "scraper"]),
        ("Café résumé naïve", ["cafe", "resum", "naiv"]),
        ("必应搜索", ["必应", "应搜", "搜索"]),
        ("天", ["天"]),
        ("search搜索now2", ["search", "搜索", "now2", "now"]),
        ("한국어", ["한국", "국어"]),
        ("please help me, I want to use it", []),
        ("a 1 42", []),
        ("R or C code", ["r", "c", "code"]),
        ("sha256 base64", ["sha256", "sha", "base64", "base"]),
        ("converting converts converted", ["convert"] * 3),
        ("Don't user's", ["don"]),
        ("Погода в Москве", ["погода", "москве"]),
        ("IPv4 h1 s3 md5 iOS", ["ipv4", "ipv", "h1", "s3", "md5", "io"]),
        ("ｆｕｌｌ ｗｉｄｔｈ ﬁle", ["full", "width", "file"]),
        ("don’t the server’s", ["don", "server"]),
        ("مُحَمَّد كـتاب", ["محمد", "كتاب"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("แปลภาษา", ["แป", "ปล", "ลภ", "ภา", "าษ", "ษา"]),
        ("Για Ελλάδα", ["για", "ελλαδα"]),
        ("Wie ist das Wetter für Köln?", ["wetter", "koln"]),
        ("todo list, OS version, comment", ["todo", "list", "os", "version", "comment"]),
        ("\0 😀 \ud800", []),
        ("", []),
    ],
)
def test_text_becomes_terms(text, terms):
    assert tokenize(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("GitHub", ["git", "hub", "github"]),
        ("PayPal for iPhone", ["pay", "pal", "paypal", "iphon"]),
        ("getUserName", ["get", "name"]),
        ("github", ["github"]),
    ],
)
def test_a_short_word_that_one_capital_splits_is_kept_whole_too(text, terms):
    assert tokenize(text) == terms


@pytest.mark.parametrize("written", ["github", "GitHub", "Github", "GITHUB"])
def test_a_name_is_found_however_it_is_written(written):
    texts = [SearchDocument(id="1", name="x", description=f"Lists issues on {written}.")]
    for asked in ("github", "GitHub", "Github", "GITHUB"):
        assert Engine.build(texts).rank(Need(text=asked))


@given(st.text(max_size=300))
def test_terms_are_short_and_the_same_each_time(text):
    terms = tokenize(text)
    assert terms == tokenize(text)
    assert all(0 < len(term) <= MAX_TERM_LENGTH for term in terms)
    assert all(weight > 0 for weight in query_terms(text).values())


@pytest.mark.parametrize(
    "text",
    [
        "a" * 10**5,
        "aB" * 50000,
        "\x00" * 10**5,
        "😀" * 10**5,
        "漢" * 10**5,
        "<" * 10**5,
        "<a" * 50000,
        "1 - " * 25000,
        "hi " * 33000,
        "a'" * 50000,
        "\u0301" * 10**5,
        "." * 10**5,
        "ก" * 10**5,
        "क" * 10**5,
        "a-" * 50000,
        "a b" * 33000,
        "".join(chr(0x4E00 + i % 20000) for i in range(10**5)),
        " ".join(f"word{i}" for i in range(12000)),
    ],
)
def test_long_text_takes_no_long_time(text):
    started = time.process_time()
    query_terms(text)
    assert time.process_time() - started < 3


def test_a_query_term_weighs_the_root_of_its_count():
    terms = query_terms("weather weather weather weather forecast")
    assert terms["weather"] == 2
    assert terms["forecast"] == 1


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("What is 17 * 23?", {"calcul", "arithmet"}),
        ("what is 17 - 23", {"calcul", "arithmet"}),
        ("Convert `<h1>Hi</h1>` to markdown", {"convert", "markdown", "html"}),
        ("days from 2024-01-01 on", {"day"}),
    ],
)
def test_a_payload_without_words_says_what_it_is(query, terms):
    assert set(query_terms(query)) == terms


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        "Hi there!",
        "How are you?",
        "thanks a lot",
        "What's your name?",
        "who are you?",
        "Nice to meet you.",
        "I'm feeling sad today",
        "that was great",
        "bye, see you tomorrow",
    ],
)
def test_small_talk_asks_for_nothing(message):
    assert query_terms(message) == {}


@pytest.mark.parametrize(
    ("message", "term"),
    [
        ("Hello, what's the weather?", "weather"),
        ("what is the name of the file", "file"),
        ("how are stocks doing", "stock"),
        ("thank you, now convert the text", "convert"),
    ],
)
def test_a_need_beside_small_talk_is_kept(message, term):
    assert term in query_terms(message)


@settings(deadline=None)
@given(st.text(alphabet="hi how areyou .!?", max_size=100))
def test_any_mix_of_small_words_is_taken(text):
    query_terms(text)


@pytest.mark.parametrize("text", ["e-mail", "E-Mail", "email", "eMail"])
def test_an_e_mail_is_one_word_however_it_is_written(text):
    assert "email" in tokenize(text)
    assert "e" not in tokenize(text)
