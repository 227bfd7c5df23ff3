"""A tool becomes weighted terms, and plain requests find the right one of thirty."""

import pytest

from registry.search.document import SearchDocument, terms_of
from registry.search.engine import Engine
from registry.search.need import Need
from registry.search.weights import FIELDS, Weights

FLOOR = Weights().floor

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
def engine() -> Engine:
    return Engine.build(
        SearchDocument(id=name, name=name, description=description)
        for name, description in TOOLS.items()
    )


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
def test_a_plain_request_finds_its_tool_among_thirty(engine, message, tool):
    best = engine.rank(Need(text=message))[0]
    assert best.id == tool
    assert best.score > FLOOR


@pytest.mark.parametrize(
    "message", ["hello", "how are you?", "tell me a joke", "thanks!", "who won the football game?"]
)
def test_what_no_tool_can_do_finds_none(engine, message):
    assert not [hit for hit in engine.rank(Need(text=message)) if hit.score >= FLOOR]


def test_each_text_of_a_tool_has_a_column_of_its_own():
    document = SearchDocument(
        id="1",
        name="sendMail",
        title="Send mail quickly",
        description="Deliver post",
        category="office",
        package="@acme/postbox",
        package_description="letters",
        parameters=("recipient",),
        parameter_descriptions=("Who gets them",),
        returns="A receipt",
        use_case="When somebody wants to write",
        limitations="Carries no parcels",
        examples=("write to Bob",),
    )
    terms = dict(zip(FIELDS, terms_of(document), strict=True))
    assert terms == {
        "name": ["send", "mail", "quick"],
        "description": ["deliv", "post"],
        "package": ["acm", "postbox"],
        "category": ["offic"],
        "package_description": ["letter"],
        "parameters": ["recipi"],
        "parameter_descriptions": ["get"],
        "returns": ["receipt"],
        "use_case": ["somebodi", "write"],
        "examples": ["write", "bob"],
    }
