"""Which texts are turned into vectors: of a tool one, of a need several."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from registry.search.dense.encoder import Floats, normalised
from registry.search.document import SearchDocument
from registry.search.need import Need

LONGEST = 2_000
"""Characters that are given to an encoder; the local one reads about the first 600."""

MOST_CLAUSES = 6
MOST_EARLIER = 4
LEAST_WORDS = 2
HISTORY_SHARE = 0.3
"""What the messages before add to the direction of the last. Measured: .56 → .70 where turns
cannot stand alone, .77 → .75 where they can."""

_PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./:\s]+")
_CLAUSE_END = re.compile(r"[.!?;:\n]+")
_BLANK = re.compile(r"\s+")


def text_of(document: SearchDocument) -> str:
    """Return the text of a tool that its vector stands for, what says most before the rest."""
    described = [
        f"{_apart(name)} {text}".strip()
        for name, text in _described(document.parameters, document.parameter_descriptions)
    ]
    texts = (
        _apart(document.name),
        _apart(document.package),
        document.category,
        document.description,
        document.use_case,
        *document.examples,
        "; ".join(described),
    )
    return _cut(". ".join(text.strip(" .") for text in texts if text.strip(" .")))


def digest_of(text: str) -> bytes:
    """Return what tells a text from another."""
    return hashlib.sha256(text.encode()).digest()[:16]


@dataclass(frozen=True)
class Asked:
    """The texts of a need: the whole message, its clauses and sub-queries, the messages before."""

    whole: str
    parts: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Return every text once, the message first."""
        return tuple(dict.fromkeys((self.whole, *self.parts, *self.earlier)))

    def vector(self, of: Mapping[str, Floats]) -> Floats:
        """Return one vector for the need, of those of its texts.

        A sum of vectors compares like the sum of their cosines: half the whole message, half the
        mean of its parts, and a share of what came before.
        """
        vector = of[self.whole]
        if self.parts:
            vector = vector + _mean([of[text] for text in self.parts])
        if self.earlier:
            vector = _unit(vector) + HISTORY_SHARE * _mean([of[text] for text in self.earlier])
        return _unit(vector)


def asked(need: Need) -> Asked | None:
    """Return the texts of a need; None where it says nothing."""
    whole = _cut(need.text)
    queries = [cut for query in need.queries if (cut := _cut(query))]
    if not whole:
        return None if not queries else Asked(queries[0], tuple(queries[1:]))
    clauses = [text for part in _CLAUSE_END.split(whole) if _says_something(text := part.strip())]
    parts = (clauses if len(clauses) > 1 else []) + queries
    earlier = [cut for text in need.recent[-MOST_EARLIER:] if (cut := _cut(text))]
    return Asked(whole, tuple(parts[: MOST_CLAUSES + len(queries)]), tuple(earlier))


def _says_something(text: str) -> bool:
    return len(text.split()) >= LEAST_WORDS


def _described(names: Sequence[str], texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the parameters with their descriptions, which are told apart only if all have one."""
    if len(names) == len(texts):
        return list(zip(names, texts, strict=True))
    return [*((name, "") for name in names), *(("", text) for text in texts)]


def _apart(name: str) -> str:
    return _BLANK.sub(" ", _PARTS.sub(" ", name)).strip()


def _cut(text: str) -> str:
    return _BLANK.sub(" ", text[: 2 * LONGEST].replace("\0", " ")).strip()[:LONGEST]


def _mean(vectors: Sequence[Floats]) -> Floats:
    return _unit(np.mean(vectors, axis=0))


def _unit(vector: Floats) -> Floats:
    unit: Floats = normalised(vector[None])[0]
    return unit
