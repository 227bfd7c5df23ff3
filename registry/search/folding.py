"""Find the same tool among others: copies, re-exports, forks and other versions of one package.

Two tools are twins when they have the same name, the same inputs and nearly the same description.
A name is the same as written (`get_user` and `get_users` are not), but for words that say nothing:
those of its own package, and `tool` or `api`. So what a tool does to what stays what tells.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

ALIKE = 0.7
"""Share of the words of two descriptions that both hold, from which they say the same."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_IDLE = frozenset(("tool", "tools", "function", "api", "mcp", "server", "plugin"))


@dataclass(frozen=True, kw_only=True)
class Described:
    """What is compared of a tool; `parameters` are the names of its inputs."""

    name: str
    description: str
    package: str = ""
    parameters: tuple[str, ...] = ()


def folded(tools: Sequence[Described]) -> list[int]:
    """Return for each tool the place of the first one that it is a twin of: its own where none.

    Twins of the same tool count as twins of each other.
    """
    places: list[int] = []
    firsts: dict[tuple[object, ...], list[int]] = {}
    for place, tool in enumerate(tools):
        alike = firsts.setdefault(_key(tool), [])
        same = (each for each in alike if _say_the_same(tools[each], tool))
        first = next(same, place)
        if first == place:
            alike.append(place)
        places.append(first)
    return places


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of an identifier or a text as written, in lower case."""
    parts = _CAMEL.sub(" ", unicodedata.normalize("NFKC", text))
    return tuple(_WORD.findall(parts.lower()))


def words_either_way(text: str) -> frozenset[str]:
    """Return the words of a text, those split at their capitals whole as well (`GitHub`)."""
    return frozenset((*words_of(text), *_WORD.findall(text.lower())))


@lru_cache(maxsize=4096)
def name_of(name: str, package: str) -> tuple[str, ...]:
    """Return the words of a name that tell: without idle ones and those of its package."""
    words = words_of(name)
    own = _IDLE | words_either_way(package)
    return tuple(word for word in words if word not in own) or words


def _key(tool: Described) -> tuple[object, ...]:
    return name_of(tool.name, tool.package), frozenset(map(words_of, tool.parameters))


def _say_the_same(one: Described, other: Described) -> bool:
    if one.description == other.description:
        return True
    return _alike(words_of(one.description), words_of(other.description)) >= ALIKE


def _alike(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the share of common words among all (Jaccard index); of nothing with nothing, 1."""
    a, b = set(one), set(other)
    return len(a & b) / len(a | b) if a or b else 1.0
