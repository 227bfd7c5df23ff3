"""Regular expressions, with a time limit."""

import regex

from config.lib.types import JsonObject
from registry.builtins import matching
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import flag, integer, produced, record, text
from registry.errors import ToolInputRejected

RESULT_LIMIT = 500_000
"""Characters all matches and groups may have together: groups may overlap, so they can grow."""


def regex_extract(arguments: JsonObject) -> JsonObject:
    """Return the first `limit` matches of `pattern`, with their groups and places."""
    flags = regex.IGNORECASE if arguments["ignore_case"] else 0
    flags |= regex.MULTILINE if arguments["multiline"] else 0
    pattern = matching.compiled(arguments["pattern"], flags)
    found: list[JsonObject] = []
    total = size = 0
    try:
        for match in pattern.finditer(arguments["text"], timeout=matching.SECONDS):
            total += 1
            if len(found) < arguments["limit"]:
                size += sum(len(part or "") for part in (match[0], *match.groups()))
                _refuse_over_limit(size)
                found.append(_told(match))
    except (TimeoutError, MemoryError):
        raise matching.too_slow() from None
    return {"matches": found, "total": total}


def _refuse_over_limit(size: int) -> None:
    if size > RESULT_LIMIT:
        raise ToolInputRejected(
            f"The matches have more than {RESULT_LIMIT:,} characters together.",
            "Ask for fewer with limit, or capture less in the groups.",
        )


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
            "Needs a regular expression, without recursion or verbose mode; it does not replace.",
            "Extract all e-mail addresses from this text",
            "Find every number in this message",
            "Pull out the order codes like AB-1234",
        ),
        run=regex_extract,
    ),
)
