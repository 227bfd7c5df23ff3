"""Choose the tools that a message asks for, by the words they share."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from chat.demo.payload import in_signs
from chat.tool_schemas import EXAMPLES
from config.lib.types import JsonObject
from registry.search.tokens import query_terms, tokenize

NAME_WEIGHT = 2.0
EXAMPLE_WEIGHT = 0.6
"""A word of the name says more than one of the description, and one that only an example has says
less: it may be what the example works on."""

FIT = 0.34
"""Share of the message's words, weighted by rarity, that a tool must have in common with it."""

WHOLE_FIT = 0.9
"""A tool that fits the whole message so well is wanted alone, whatever its clauses are."""

_QUOTED = re.compile(r"```.*?```|`[^`]*`|\"[^\"]*\"|“[^”]*”|(?<!\w)'[^'\n]+'(?!\w)", re.DOTALL)
_KINDS = (
    (re.compile(r"\d\s*%\s+of\s+\d|\bsqrt\("), "calculate arithmetic"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}\b"), "date"),
    (re.compile(r"https?://"), "url"),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), "html"),
    (re.compile(r"[\[{]\s*\""), "json"),
)
_SEPARATOR = re.compile(
    r"\s*;\s*|\n+|(?<=[.!?])\s+|,?\s+and\s+then\s+|,?\s+then\s+|,?\s+and\s+(?:also\s+)?|,\s+also\s+",
    re.IGNORECASE,
)

Chosen = tuple[JsonObject, str]
"""A tool and the part of the message that is meant for it."""


def chosen(said: str, tools: Sequence[JsonObject]) -> list[Chosen]:
    """Return the tools a message asks for: those it names, else the best fit of each clause."""
    if named := [tool for tool in tools if _names(said, tool["name"])]:
        longest = _most_specific(named)
        return [(tool, said) for tool in longest]
    lexicon = Lexicon(tools)
    whole, fit = lexicon.best(said)
    if whole is None:
        return []
    parts: list[Chosen] = []
    if fit < WHOLE_FIT:
        for clause in clauses(said):
            tool, clause_fit = lexicon.best(clause)
            if tool and clause_fit >= FIT and all(tool is not other for other, _ in parts):
                parts.append((tool, clause))
    if len(parts) > 1:
        return parts
    return [(whole, said)] if fit >= FIT else parts


def _names(said: str, name: str) -> bool:
    """Tell whether a message names a tool outright; a plain English word must be marked as one."""
    outright = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    if re.search(r"[_\-\d]", name):
        spaced = re.sub(r"[_-]", r"[ _-]", re.escape(name).replace(r"\-", "-"))
        return bool(re.search(rf"(?<![\w-]){spaced}(?![\w-])", said, re.IGNORECASE))
    return bool(
        re.search(rf"`{outright}`|\b(?:use|call|run|with)\s+(?:the\s+)?{outright}", said, re.I)
    )


def _most_specific(tools: Iterable[JsonObject]) -> list[JsonObject]:
    """Drop a tool whose name is part of another one that was named too."""
    named = list(tools)
    return [
        tool
        for tool in named
        if not any(tool is not other and tool["name"] in other["name"] for other in named)
    ]


def clauses(said: str, *, at_commas: bool = False) -> list[str]:
    """Split a message where another need may start, but never inside quotes or code."""
    kept: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\x00{len(kept) - 1}\x00"

    masked = _QUOTED.sub(put_aside, said)
    parts = _SEPARATOR.split(masked)
    if at_commas:
        parts = [part for each in parts if each for part in re.split(r",\s+", each)]
    whole = [part for part in parts if part and part.strip()]
    return [re.sub("\x00(\\d+)\x00", lambda m: kept[int(m[1])], part) for part in whole]


def _need_in(said: str) -> str:
    """Return the words that say what is wanted: payload gives way to the name of its kind."""
    text = in_signs(said)
    kinds = " ".join(word for pattern, word in _KINDS if pattern.search(text))
    return f"{_QUOTED.sub(' ', text)} . {kinds}"


class Lexicon:
    """The words of the tools at hand, each weighted by how few tools have it."""

    def __init__(self, tools: Sequence[JsonObject]) -> None:
        self._tools = tools
        self._words = [_weighted_words(tool) for tool in tools]
        self._frequency = Counter(word for words in self._words for word in words)

    def best(self, said: str) -> tuple[JsonObject | None, float]:
        """Return the tool that shares most with a text, and the share it covers, in 0–1."""
        terms = query_terms(_need_in(said))
        total = sum(self._rarity(term) * weight for term, weight in terms.items())
        scores = [
            sum(
                self._rarity(term) * weight * words.get(term, 0.0) for term, weight in terms.items()
            )
            for words in self._words
        ]
        if not any(scores):
            return None, 0.0
        place = scores.index(max(scores))
        covered = sum(
            self._rarity(term) * weight * min(1.0, self._words[place].get(term, 0.0))
            for term, weight in terms.items()
        )
        return self._tools[place], covered / total

    def _rarity(self, term: str) -> float:
        """Return a word's weight; one that no tool has counts half: it is mostly the payload."""
        count = self._frequency[term]
        return math.log(1 + (len(self._tools) + 1) / (count or 1)) * (1.0 if count else 0.5)


def _weighted_words(tool: JsonObject) -> dict[str, float]:
    """Return the words of one tool, each with the weight of the best place it stands in."""
    parameters = tool["parameters"].get("properties") or {}
    options = [
        str(option)
        for spec in parameters.values()
        if isinstance(spec, dict)
        for option in spec.get("enum") or ()
    ]
    description, _, examples = tool.get("description", "").partition(EXAMPLES)
    words = dict.fromkeys(tokenize(examples), EXAMPLE_WEIGHT)
    words |= dict.fromkeys(tokenize(" ".join([description, *parameters, *options])), 1.0)
    return words | dict.fromkeys(tokenize(tool["name"]), NAME_WEIGHT)
