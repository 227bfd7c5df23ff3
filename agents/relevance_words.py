"""Say in words why the best tool is as relevant as it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import expm1

from registry.search.explain import Reason, Relevance


def _words(value: float) -> str:
    count = f"{expm1(value):.2g}"
    return f"says {count} word{'' if count == '1' else 's'} of the need"


SENTENCES: Mapping[str, Callable[[float], str]] = {
    "words": _words,
    "name": lambda value: f"{value:.0%} of the tool's name is said",
    "fit": lambda _: "how much these words tell, by where the tool says them",
    "density": lambda value: f"they are {value:.0%} of the message",
    "size": lambda _: "among many tools something fits by chance",
    "personal": lambda value: f"{value:.0%} of the message speaks of people",
    "asks": lambda _: "asks for something to be done",
    "payload": lambda _: "has something to work on: a number, an address, a quotation",
    "named": lambda _: "names somebody or something",
    "talk": lambda _: "opens like a question of opinion or explanation",
    "plain": lambda _: "is a plain request, all of which the tool says",
    "meaning": lambda value: f"means much the same: {value:.2f} of 1 in likeness",
    "base": lambda _: "most messages need no tool",
}
"""What each feature of `registry.search.relevance.COEFFICIENTS` means, told its value."""

SPEAKS: Mapping[str, str] = {
    "message": "It is told by the message",
    "query": "It is told by what was asked for beside the message",
    "earlier": "It is told by the earlier messages, which the message goes on from",
}

FULL = 4.0
"""Log-odds that fill a bar."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """One reason; `width` is its bar in percent."""

    sentence: str
    gain: float
    width: float

    @property
    def is_for(self) -> bool:
        """Tell whether it speaks for the tool."""
        return self.gain > 0


@dataclass(frozen=True, kw_only=True)
class Why:
    """Why the best tool is relevant, the weightiest reason first."""

    value: float
    by: str
    tool: str
    reasons: Sequence[Said]


def why(relevance: Relevance, titles: Mapping[str, str]) -> Why | None:
    """Return the words for a relevance; `titles` are of the tools that may be told of."""
    if relevance.speaks == "nothing":
        return None
    return Why(
        value=relevance.value,
        by=SPEAKS[relevance.speaks],
        tool=titles.get(relevance.tool, ""),
        reasons=[_said(reason) for reason in relevance.reasons],
    )


def _said(reason: Reason) -> Said:
    return Said(
        sentence=SENTENCES[reason.name](reason.value),
        gain=reason.gain,
        width=round(min(100.0, 100 * abs(reason.gain) / FULL), 1),
    )
