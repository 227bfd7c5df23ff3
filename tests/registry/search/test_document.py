"""A tool becomes weighted terms, and plain requests find the right one of thirty."""

import pytest

from registry.search.bm25 import Index
from registry.search.document import SearchDocument, weighted_terms
from registry.search.tokens import query_terms

FLOOR = 0.2

TOOLS = {
    "current_time": "Return the current date and time in a time zone.",
    "calculator": "Evaluate an arithmetic expression and return the number.",
    "unit_convert": "Convert a value between units of measure such as miles and kilometres.",
    "html_to_markdown": "Turn an HTML page or fragment into Markdown.",
    "text_statistics": "Count the words, characters, sentences and lines of a text.",
    "change_case": "Change the case of a text: upper, lower, title, camel or snake.",
    "slugify": "Make a URL slug from a text.",
    "json_query": "Query a JSON document with a JMESPath expression.",
    "json_format": "Pretty-print or minify JSON.",
    "csv_to_json": "Convert CSV to JSON records.",
    "yaml_to_json": "Convert YAML to JSON.",
    "base64_encode": "Encode text as Base64.",
    "base64_decode": "Decode Base64 to text.",
    "hash_text": "Compute the SHA-256 or MD5 digest of a text.",
    "uuid_generate": "Generate random UUIDs.",
    "password_generate": "Generate a strong random password.",
    "regex_extract": "Extract all matches of a regular expression from a text.",
    "text_diff": "Compare two texts and show the differences.",
    "date_difference": "Return the days between two dates.",
    "date_add": "Add days, weeks or months to a date.",
    "url_parse": "Split a URL into its parts.",
    "fetch_url": "Fetch a web page and return its text.",
    "qr_code": "Make a QR code image of a text.",
    "color_convert": "Convert colours between hex, RGB and HSL.",
    "random_number": "Draw a random number in a range.",
    "statistics": "Compute mean, median and standard deviation of numbers.",
    "sort_lines": "Sort the lines of a text.",
    "morse_code": "Translate text to Morse code and back.",
    "word_frequency": "List how often each word occurs in a text.",
    "roman_numerals": "Convert a number to Roman numerals.",
}


@pytest.fixture(scope="module")
def index() -> Index:
    built = Index()
    for name, description in TOOLS.items():
        document = SearchDocument(id=name, name=name, description=description)
        built.put(name, weighted_terms(document))
    return built


@pytest.mark.parametrize(
    ("message", "tool"),
    [
        ("Convert `<h1>Hi</h1>` to markdown", "html_to_markdown"),
        ("What time is it in Tokyo?", "current_time"),
        ("What is 17 * 23?", "calculator"),
        ("can you please convert this CSV to JSON: a,b\n1,2", "csv_to_json"),
        ("how many kilometres are 26 miles?", "unit_convert"),
        ("make me a strong password", "password_generate"),
        ("days between 2024-01-01 and 2024-03-01", "date_difference"),
        ("sha256 of hello", "hash_text"),
        ("roll a random number between 1 and 6", "random_number"),
    ],
)
def test_a_plain_request_finds_its_tool_among_thirty(index, message, tool):
    hits = index.search(query_terms(message), limit=3)
    assert hits[0].id == tool
    assert hits[0].relevance > FLOOR


@pytest.mark.parametrize(
    "message", ["hello", "how are you?", "tell me a joke", "thanks!", "who won the football game?"]
)
def test_what_no_tool_can_do_finds_none(index, message):
    hits = index.search(query_terms(message), limit=5)
    assert not [hit for hit in hits if hit.relevance >= FLOOR]


def test_each_text_of_a_tool_has_its_weight():
    document = SearchDocument(
        id="1",
        name="sendMail",
        title="Send mail quickly",
        description="Deliver post",
        category="office",
        package="@acme/postbox",
        package_description="letters",
        parameters=("recipient", "Who gets it"),
        ai_agent=("write to Bob",),
    )
    terms = weighted_terms(document)
    assert terms["mail"] == 1.0
    assert terms["quick"] == 1.0
    assert terms["post"] == 1.0
    assert terms["postbox"] == 1.5
    assert terms["offic"] == 0.6
    assert terms["letter"] == 0.2
    assert terms["recipi"] == 0.5
    assert terms["bob"] == 0.25
