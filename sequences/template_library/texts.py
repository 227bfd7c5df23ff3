"""Templates that work on texts."""

from sequences.template_library.writing import (
    beside,
    call,
    document,
    each,
    fields,
    fixed,
    given,
    item,
    long_text,
    out,
    text,
    worked_out,
)

CLEAN_AND_COUNT = document(
    "Clean up and count a text",
    "Strips needless white space from a text, then tells how many words and lines it has, how "
    "long it takes to read and which words are most frequent.",
    fields(text=text("The text as it was pasted.")),
    [
        call(
            "trim_text",
            "clean",
            {
                "text": given("text"),
                "each_line": fixed(value=True),
                "collapse_spaces": fixed(value=True),
                "remove_blank_lines": fixed(value=True),
            },
            outputDisplaySuccess="Took out {{ result.removed }} characters of white space.",
        ),
        call(
            "text_statistics",
            "measured",
            {"text": out("clean", "text"), "top": fixed(3)},
            parallel=beside("words"),
        ),
        call(
            "count_text",
            "lines",
            {"text": out("clean", "text"), "what": fixed("lines")},
            parallel=beside("lines"),
        ),
    ],
    {
        "text": out("clean", "text"),
        "words": out("measured", "words"),
        "lines": out("lines", "count"),
        "readingSeconds": out("measured", "reading_time_seconds"),
        "mostFrequent": out("measured", "most_frequent_words[].word"),
    },
    {"text": "  The   ferry leaves at nine.\n\n\nThe next   ferry leaves at noon.  "},
)

LINKS_AND_DATES = document(
    "Find links, addresses and dates in a page",
    "Reads the HTML of a page and lists the links, the e-mail addresses and the dates in it. "
    "The three searches run at the same time.",
    fields(html=text("The HTML of the page, or any other text.")),
    [
        call("decode_text", "page", {"text": given("html"), "source": fixed("html")}),
        call(
            "regex_extract",
            "links",
            {
                "text": out("page", "text"),
                "pattern": fixed("href=[\"']?([^\"'\\s>]+)"),
                "ignore_case": fixed(value=True),
            },
            parallel=beside("links"),
        ),
        call(
            "regex_extract",
            "addresses",
            {
                "text": out("page", "text"),
                "pattern": fixed("[\\w.+-]+@[\\w-]+(?:\\.[\\w-]+)+"),
            },
            parallel=beside("addresses"),
        ),
        call(
            "regex_extract",
            "dates",
            {"text": out("page", "text"), "pattern": fixed("\\b\\d{4}-\\d{2}-\\d{2}\\b")},
            parallel=beside("dates"),
        ),
        call(
            "format_date",
            "written",
            {"date": item("match"), "style": fixed("long")},
            forEach=each(out("dates", "matches")),
        ),
    ],
    {
        "links": out("links", "matches[].groups[0]"),
        "addresses": out("addresses", "matches[].match"),
        "dates": out("written", "[].text"),
    },
    {
        "html": '<p>Moved on 2026-03-04: see <a href="https://docs.example/start">the guide</a> or '
        "write to help&#64;docs.example before 2026-04-01.</p>"
    },
)

TIDY_NAMES = document(
    "Tidy a list of names",
    "Takes names, one a line and written in any way, and gives them back as Title Case without "
    "stray spaces, sorted.",
    fields(names=long_text("One name a line.")),
    [
        call(
            "trim_text",
            "clean",
            {
                "text": given("names"),
                "each_line": fixed(value=True),
                "collapse_spaces": fixed(value=True),
                "remove_blank_lines": fixed(value=True),
            },
        ),
        call(
            "regex_extract",
            "lines",
            {"text": out("clean", "text"), "pattern": fixed("[^\\n]+"), "limit": fixed(500)},
        ),
        call(
            "change_case",
            "titled",
            {"text": item("match"), "case": fixed("title")},
            forEach={**each(out("lines", "matches"), 8), "maxItems": 500},
        ),
    ],
    {
        "names": worked_out("sort(steps.titled[].text)"),
        "count": worked_out("length(steps.titled)"),
        "text": worked_out("join('\n', sort(steps.titled[].text))"),
    },
    {"names": "grace hopper\n  ADA   LOVELACE\n\nalan turing "},
)

LONG_OR_SHORT = document(
    "Show the beginning of a long text",
    "Measures a text. A long one is cut to its first sentences, a short one is only cleaned: one "
    "of two ways is taken, by a condition.",
    fields(
        "words",
        text=text("Any text."),
        words={
            "type": "integer",
            "minimum": 1,
            "default": 40,
            "description": "From how many words on a text counts as long.",
        },
    ),
    [
        call("text_statistics", "measured", {"text": given("text")}),
        call(
            "regex_extract",
            "beginning",
            {
                "text": given("text"),
                "pattern": fixed("[^.!?]+[.!?]+"),
                "limit": fixed(2),
            },
            title="Take the first two sentences",
            when="steps.measured.words >= initial.words",
        ),
        call(
            "trim_text",
            "whole",
            {"text": given("text"), "collapse_spaces": fixed(value=True)},
            title="Keep all of it",
            when="steps.measured.words < initial.words",
        ),
    ],
    {
        "text": worked_out(
            "not_null(steps.whole.text, join('', not_null(steps.beginning.matches[].match, `[]`)))"
        ),
        "words": out("measured", "words"),
        "wasCut": worked_out("contains(keys(steps), 'beginning')"),
    },
    {
        "text": "Tools do one thing. Sequences put them together. Each step says where its input "
        "comes from. What a step gives can be used by all that follow it.",
        "words": 15,
    },
)

READ_A_CODE = document(
    "Read a text that may be encoded",
    "Tries to read a text as Base64. Where that fails it goes on with a fallback, and reads it "
    "as part of a web address instead, so that the run never stops at it.",
    fields(code=text("What was received.")),
    [
        call(
            "decode_text",
            "base64",
            {"text": given("code"), "source": fixed("base64")},
            title="Try Base64",
            fallback={"value": {"text": ""}},
        ),
        call(
            "decode_text",
            "address",
            {"text": given("code"), "source": fixed("url")},
            title="Else as part of a web address",
            when="steps.base64.text == ''",
        ),
    ],
    {
        "text": worked_out("not_null(steps.address.text, steps.base64.text)"),
        "wasBase64": worked_out("steps.base64.text != ''"),
    },
    {"code": "caf%C3%A9%20menu"},
)
