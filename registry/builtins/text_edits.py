"""Change a text: its case, its order, its white space, its words."""

from collections.abc import Callable

import regex

from config.lib.types import JsonObject
from registry.builtins import matching
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import choice, flag, produced, record, text
from registry.errors import ToolInputRejected

SEARCH_LIMIT = 1_000
REPLACEMENT_LIMIT = 10_000
RESULT_LIMIT = 500_000
"""Characters a text may have grown to after its replacements."""

SPOKEN_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}]+)*")
NAME_PART = regex.compile(r"[\p{L}\p{M}\p{N}]+")
HUMP = regex.compile(r"(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})")
SENTENCE_ENDS = ".!?…"
BLANKS = regex.compile(r"[^\S\r\n]+")


def _title(source: str) -> str:
    return SPOKEN_WORD.sub(lambda word: word[0].capitalize(), source)


def _sentence(source: str) -> str:
    """Return `source` in lower case, with a capital after each full stop and line break.

    One pass over the characters: a pattern that looks back from each letter takes quadratic time.
    """
    written: list[str] = []
    starts, ended = True, False
    for character in source.lower():
        if character.isalnum():
            written.append(character.title() if starts else character)
            starts = ended = False
            continue
        written.append(character)
        starts = starts or character == "\n" or (ended and character.isspace())
        ended = ended or character in SENTENCE_ENDS
    return "".join(written)


def _name_parts(line: str) -> list[str]:
    """Return the lower-case words of an identifier or a phrase: `parseHTTPReply` has three."""
    plain = line.replace("'", "").replace("’", "")
    return [part.lower() for part in NAME_PART.findall(HUMP.sub(" ", plain))]


def _camel(line: str) -> str:
    first, *rest = _name_parts(line) or [""]
    return first + "".join(part.capitalize() for part in rest)


def _by_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda source: "\n".join(change(line) for line in source.splitlines())


CASES: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "title": _title,
    "sentence": _sentence,
    "snake": _by_line(lambda line: "_".join(_name_parts(line))),
    "kebab": _by_line(lambda line: "-".join(_name_parts(line))),
    "camel": _by_line(_camel),
    "pascal": _by_line(lambda line: "".join(part.capitalize() for part in _name_parts(line))),
}
STRIPS: dict[str, Callable[[str], str]] = {
    "both": str.strip,
    "start": str.lstrip,
    "end": str.rstrip,
}


def change_case(arguments: JsonObject) -> JsonObject:
    """Return `text` in the wanted `case`."""
    return {"text": CASES[arguments["case"]](arguments["text"])}


def reverse_text(arguments: JsonObject) -> JsonObject:
    """Return `text` backwards by characters as people see them, by words or by lines."""
    source, unit = arguments["text"], arguments["unit"]
    if unit == "words":
        return {"text": " ".join(reversed(source.split()))}
    if unit == "lines":
        return {"text": "\n".join(reversed(source.splitlines()))}
    return {"text": "".join(reversed(matching.GRAPHEME.findall(source)))}


def trim_text(arguments: JsonObject) -> JsonObject:
    """Return `text` without the white space that was asked to go, and how much went."""
    source, strip = arguments["text"], STRIPS[arguments["side"]]
    trimmed = BLANKS.sub(" ", source) if arguments["collapse_spaces"] else source
    if arguments["each_line"]:
        trimmed = "\n".join(strip(line) for line in trimmed.splitlines())
    if arguments["remove_blank_lines"]:
        trimmed = "\n".join(line for line in trimmed.splitlines() if line.strip())
    trimmed = strip(trimmed)
    return {"text": trimmed, "removed": len(source) - len(trimmed)}


def replace_text(arguments: JsonObject) -> JsonObject:
    """Return `text` with every `find` replaced, and how many there were."""
    source, replacement = arguments["text"], arguments["replacement"]
    pattern = matching.literal(
        arguments["find"],
        case_sensitive=arguments["case_sensitive"],
        whole_words=arguments["whole_words"],
    )
    try:
        found = [match.span() for match in pattern.finditer(source, timeout=matching.SECONDS)]
    except TimeoutError:
        raise matching.too_slow() from None
    size = len(source) + sum(len(replacement) - (end - start) for start, end in found)
    if size > RESULT_LIMIT:
        raise ToolInputRejected(
            f"The text would grow to {size:,} characters.",
            f"At most {RESULT_LIMIT:,} are possible: use a shorter replacement or text.",
        )
    starts = [0, *(end for _, end in found)]
    ends = [*(start for start, _ in found), len(source)]
    kept = [source[start:end] for start, end in zip(starts, ends, strict=True)]
    return {"text": replacement.join(kept), "replacements": len(found)}


TOOLS = (
    Builtin(
        name="change_case",
        title="Change case",
        description=(
            "Rewrite a text in another letter case: UPPER CASE, lower case, Title Case, Sentence "
            "case, snake_case, kebab-case, camelCase or PascalCase."
        ),
        category="text",
        input_schema=record(
            {
                "text": text("The text to rewrite.", examples=["hello world"]),
                "case": choice(
                    "The wanted case; snake, kebab, camel and pascal make one name of each line.",
                    CASES,
                ),
            }
        ),
        output_schema=record({"text": produced("string", "The text in the wanted case.")}),
        ai_agent=guidance(
            "When the user wants a text in capitals (uppercase, all caps), in lowercase, as a "
            "title or headline, or as an identifier for code.",
            "Title case capitalises every word, small ones too; sentence case does not know names.",
            "Make this uppercase: hello world",
            "Convert 'user account id' to snake case",
            "Put the heading in title case",
            "Write this in all lowercase letters",
            "Turn get_user_name into camelCase",
        ),
        run=change_case,
    ),
    Builtin(
        name="reverse_text",
        title="Reverse text",
        description="Write a text backwards, letter by letter, word by word or line by line.",
        category="text",
        input_schema=record(
            {
                "text": text("The text to reverse.", examples=["stressed"]),
                "unit": choice(
                    "What to put in reverse order.", ("characters", "words", "lines"), "characters"
                ),
            },
            required=("text",),
        ),
        output_schema=record({"text": produced("string", "The reversed text.")}),
        ai_agent=guidance(
            "When the user wants a text, its words or its lines in the opposite order, or wants "
            "to check a palindrome.",
            "Does not sort. Reversing by words joins them with single spaces.",
            "Reverse the word 'stressed'",
            "Spell my name backwards",
            "Flip the order of these lines",
            "Is 'racecar' a palindrome?",
        ),
        run=reverse_text,
    ),
    Builtin(
        name="trim_text",
        title="Trim white space",
        description=(
            "Clean up white space: strip it from the ends of a text or of every line, squeeze "
            "repeated spaces into one and drop empty lines."
        ),
        category="text",
        input_schema=record(
            {
                "text": text("The text to clean up.", examples=["  hello   world  "]),
                "side": choice("Which end to strip.", STRIPS, "both"),
                "each_line": flag("Strip every line, not only the whole text.", False),
                "collapse_spaces": flag("Make one space of several spaces and tabs.", False),
                "remove_blank_lines": flag("Drop lines without any text.", False),
            },
            required=("text",),
        ),
        output_schema=record(
            {
                "text": produced("string", "The cleaned text."),
                "removed": produced("integer", "How many characters shorter it has become."),
            }
        ),
        ai_agent=guidance(
            "When the user wants extra spaces, indentation, tabs or blank lines gone.",
            "Touches white space only; it does not shorten a text to a length.",
            "Remove the extra spaces from this text",
            "Strip leading and trailing whitespace",
            "Get rid of the empty lines",
            "Clean up the double spaces in my paragraph",
        ),
        run=trim_text,
    ),
    Builtin(
        name="replace_text",
        title="Find and replace",
        description=(
            "Find every occurrence of a word or phrase in a text and put another in its place, "
            "and tell how many were replaced."
        ),
        category="text",
        input_schema=record(
            {
                "text": text("The text to change.", examples=["The cat saw a cat."]),
                "find": text(
                    "What to look for, exactly as written; not a pattern.",
                    limit=SEARCH_LIMIT,
                    at_least=1,
                    examples=["cat"],
                ),
                "replacement": text(
                    "What to put there; empty removes it.",
                    limit=REPLACEMENT_LIMIT,
                    examples=["dog"],
                ),
                "case_sensitive": flag("Tell capital from small letters.", True),
                "whole_words": flag("Leave longer words alone: cat, but not catalogue.", False),
            },
            required=("text", "find", "replacement"),
        ),
        output_schema=record(
            {
                "text": produced("string", "The changed text."),
                "replacements": produced("integer", "How many were replaced."),
            }
        ),
        ai_agent=guidance(
            "When the user wants a word or phrase substituted, swapped, renamed or deleted "
            "throughout a text.",
            "Literal text only, no patterns or wildcards; the case of a match is not carried over.",
            "Replace every 'cat' with 'dog' in this sentence",
            "Substitute commas with semicolons",
            "Swap the name Alice for Bob everywhere",
            "Delete all the dashes from this number",
        ),
        run=replace_text,
    ),
)
