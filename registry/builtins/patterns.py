"""Regular expressions, with a time limit."""

import regex

from config.lib.types import JsonObject
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import flag, integer, produced, record, text
from registry.errors import ToolInputRejected

SECONDS = 0.5
"""A pattern that needs longer on 100,000 characters is taken for catastrophic."""


def regex_extract(arguments: JsonObject) -> JsonObject:
    """Return the first `limit` matches of `pattern`, with their groups and places."""
    flags = regex.IGNORECASE if arguments["ignore_case"] else 0
    flags |= regex.MULTILINE if arguments["multiline"] else 0
    try:
        pattern = regex.compile(arguments["pattern"], flags)
    except (regex.error, OverflowError, RecursionError, ValueError) as problem:
        raise ToolInputRejected(
            f"The pattern is not a regular expression: {problem}.",
            "Escape special characters such as ( [ . * with a backslash.",
        ) from None
    found: list[JsonObject] = []
    total = 0
    try:
        for match in pattern.finditer(arguments["text"], timeout=SECONDS):
            total += 1
            if len(found) < arguments["limit"]:
                found.append(_told(match))
    except TimeoutError:
        raise ToolInputRejected(
            "The pattern takes too long on this text.",
            "Avoid nested repetition such as (a+)+ and be more specific.",
        ) from None
    return {"matches": found, "total": total}


def _told(match: "regex.Match[str]") -> JsonObject:
    return {
        "match": match[0],
        "start": match.start(),
        "end": match.end(),
        "groups": list(match.groups()),
        "named": match.groupdict(),
    }


TOOLS = (
    Builtin(
        name="regex_extract",
        title="Extract by pattern",
        description=(
            "Find and extract every part of a text that matches a regular expression, such as "
            "e-mail addresses, numbers, dates or codes."
        ),
        category="text",
        input_schema=record(
            {
                "text": text("The text to search."),
                "pattern": text("A regular expression (Python syntax).", limit=1_000, at_least=1),
                "ignore_case": flag("Do not tell capitals and small letters apart.", False),
                "multiline": flag("^ and $ match at every line.", False),
                "limit": integer("How many matches to return.", 1, 1_000, 100),
            },
            required=("text", "pattern"),
        ),
        output_schema=record(
            {
                "matches": produced("array", "[{match, start, end, groups, named}]."),
                "total": produced("integer", "How many matches there are in all."),
            }
        ),
        ai_agent=guidance(
            "When the user wants e-mail addresses, numbers, links or other patterns pulled out of "
            "a text.",
            "Needs a regular expression; it does not replace.",
            "Extract all e-mail addresses from this text",
            "Find every number in this message",
            "Pull out the order codes like AB-1234",
        ),
        run=regex_extract,
    ),
)
