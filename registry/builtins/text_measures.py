"""Tools that measure a text."""

import math
from collections import Counter

import regex

from config.lib.types import JsonObject
from registry.builtins.definition import Builtin, guidance
from registry.builtins.matching import GRAPHEME
from registry.builtins.shapes import choice, flag, integer, produced, record, text

WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*")
SENTENCE_END = regex.compile(r"[.!?…]+[\"'”’)\]]*(?:\s+|$)|\n\s*\n")
"""A full stop inside 3.14 or example.com ends no sentence."""
ABBREVIATION = regex.compile(
    r"\b(?:(?:\p{L}\.)+\p{L}|Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|vs|etc|approx|Fig|Inc|Ltd)\.(?=[ \t])",
    regex.IGNORECASE,
)
"""Taken to be inside a sentence, as in “Dr. Smith” and “the U.S. Army”."""
PARAGRAPH_BREAK = regex.compile(r"\n\s*\n")
WORDS_A_MINUTE = 238
"""Silent reading of English prose (Brysbaert 2019, https://doi.org/10.1016/j.jml.2019.104047)."""


def count_text(arguments: JsonObject) -> JsonObject:
    """Return how often `what` (or `find`, when it is given) occurs in `text`."""
    value = arguments["text"]
    if find := arguments["find"]:
        if not arguments["match_case"]:
            value, find = value.casefold(), find.casefold()
        return {"count": value.count(find), "counted": f"occurrences of “{arguments['find']}”"}
    what = arguments["what"]
    counts = {
        "words": lambda: len(WORD.findall(value)),
        "characters": lambda: len(GRAPHEME.findall(value)),
        "lines": lambda: len(value.splitlines()),
        "sentences": lambda: _sentences(value),
    }
    return {"count": counts[what](), "counted": what}


def text_statistics(arguments: JsonObject) -> JsonObject:
    """Return the measures of `text` and its `top` most frequent words."""
    value = arguments["text"]
    words = WORD.findall(value)
    sentences = _sentences(value)
    frequent = Counter(word.casefold() for word in words)
    ranked = sorted(frequent.items(), key=lambda item: (-item[1], item[0]))
    return {
        "characters": len(value),
        "characters_without_spaces": sum(not letter.isspace() for letter in value),
        "words": len(words),
        "unique_words": len(frequent),
        "sentences": sentences,
        "paragraphs": sum(bool(part.strip()) for part in PARAGRAPH_BREAK.split(value)),
        "lines": len(value.splitlines()),
        "average_word_length": round(sum(map(len, words)) / len(words), 2) if words else 0,
        "average_sentence_length": round(len(words) / sentences, 2) if sentences else 0,
        "reading_time_seconds": math.ceil(len(words) / WORDS_A_MINUTE * 60),
        "most_frequent_words": [
            {"word": word, "count": count} for word, count in ranked[: int(arguments["top"])]
        ],
    }


def _sentences(value: str) -> int:
    joined = ABBREVIATION.sub("x", value)
    return sum(WORD.search(part) is not None for part in SENTENCE_END.split(joined))


TOOLS = (
    Builtin(
        name="count_text",
        title="Count in text",
        description=(
            "Count the words, characters, lines or sentences of a text, or how many times a "
            "given phrase occurs in it."
        ),
        category="text",
        input_schema=record(
            {
                "text": text("The text to count in."),
                "what": choice(
                    "What to count.", ["words", "characters", "lines", "sentences"], "words"
                ),
                "find": text("Count this phrase instead.", limit=1_000, default=""),
                "match_case": flag("Tell capitals and small letters apart.", True),
            },
            required=("text",),
        ),
        output_schema=record(
            {
                "count": produced("integer", "How many there are."),
                "counted": produced("string", "What was counted."),
            }
        ),
        ai_agent=guidance(
            "When the user asks how many words, characters, letters, lines or sentences a text "
            "has, or how often something occurs in it.",
            "One number; text_statistics gives all measures at once.",
            "How many words are in this paragraph?",
            "Count the letters in 'strawberry'",
            "How often does 'the' appear in this text?",
        ),
        run=count_text,
    ),
    Builtin(
        name="text_statistics",
        title="Text statistics",
        description=(
            "Analyse a text: words, sentences, paragraphs, average word and sentence length, "
            "reading time and the most frequent words."
        ),
        category="text",
        input_schema=record(
            {
                "text": text("The text to analyse."),
                "top": integer("How many frequent words to list.", 0, 50, 5),
            },
            required=("text",),
        ),
        output_schema=record(
            {
                "characters": produced("integer", "All characters."),
                "characters_without_spaces": produced("integer", "Characters but white space."),
                "words": produced("integer", "Words."),
                "unique_words": produced("integer", "Different words, whatever their case."),
                "sentences": produced("integer", "Sentences."),
                "paragraphs": produced("integer", "Paragraphs."),
                "lines": produced("integer", "Lines."),
                "average_word_length": produced("number", "Characters a word."),
                "average_sentence_length": produced("number", "Words a sentence."),
                "reading_time_seconds": produced("integer", "Seconds of silent reading."),
                "most_frequent_words": produced("array", "[{word, count}], most first."),
            }
        ),
        ai_agent=guidance(
            "When the user wants a text analysed: length, averages, reading time, common words.",
            "Counts only; it does not judge style, tone or meaning.",
            "Give me statistics about this text",
            "What is the average word length of this article?",
            "How long does it take to read this?",
            "Which words are used most often here?",
        ),
        run=text_statistics,
    ),
)
