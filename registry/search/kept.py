"""All that an index keeps, as plain arrays and lists of texts: to be stored, or made smaller."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from registry.search.arrays import Array, Ragged, starts_of
from registry.search.bm25 import Floats, Ints
from registry.search.bulk import indexed
from registry.search.document import SearchDocument
from registry.search.forward import Forward
from registry.search.state import Base, State


class Kept(NamedTuple):
    """Documents by slot. The id of one that is gone may be that of another."""

    ids: list[str]
    postings: State
    forward: Forward
    merit: Floats

    @classmethod
    def of(cls, documents: Sequence[SearchDocument]) -> "Kept":
        """Read documents, each of an id of its own."""
        state, forward = indexed(documents)
        merit = np.array([merit_of(document) for document in documents]).reshape(-1, 3)
        return cls([document.id for document in documents], state, forward, merit)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays by name. They may come back mapped from a file."""
        state, forward = self.postings, self.forward
        rows = {
            "terms": state.terms,
            "names": forward.names,
            "limitations": forward.limitations,
            "passages": forward.passages,
        }
        ragged = {
            f"{name}_{part}": values
            for name, each in rows.items()
            for part, values in zip(("starts", "values"), each.arrays, strict=True)
        }
        return ragged | {
            "starts": state.base.starts,
            "slots": state.base.slots,
            "rows": state.base.rows,
            "holders": state.holders,
            "alive": state.alive,
            "lengths": state.lengths,
            "first_passages": forward.first_passages.values,
            "merit": self.merit,
        }

    def texts(self) -> dict[str, list[str]]:
        """Return what is kept beside the arrays: terms by number and ids by slot."""
        return {"vocabulary": list(self.postings.vocabulary), "ids": self.ids}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], texts: Mapping[str, Sequence[str]]) -> "Kept":
        """Return what `arrays` and `texts` told. Raises KeyError where a part is missing."""

        def ragged(name: str) -> Ragged:
            return Ragged(arrays[f"{name}_starts"], arrays[f"{name}_values"])

        state = State(
            {term: number for number, term in enumerate(texts["vocabulary"])},
            Base(arrays["starts"], arrays["slots"], arrays["rows"]),
            arrays["holders"],
            arrays["alive"],
            arrays["lengths"],
            ragged("terms"),
        )
        forward = Forward(
            ragged("names"), ragged("limitations"), ragged("passages"), arrays["first_passages"]
        )
        return cls(list(texts["ids"]), state, forward, arrays["merit"])

    def compacted(self) -> "tuple[Kept, Ints]":
        """Return it without documents that are gone and terms that nothing says any more.

        Also return the new slot of each old one, -1 for those that are gone.
        """
        state, forward = self.postings, self.forward
        living = np.flatnonzero(state.alive)
        slots = _numbered(state.alive)
        limitations = forward.limitations.kept(living)
        used = state.holders > 0
        used[limitations.arrays[1]] = True
        terms = _numbered(used)
        first = forward.first_passages.values
        passages = np.diff(first)
        is_kept = np.repeat(state.alive, passages)
        smaller = State(
            {
                term: number
                for number, term in enumerate(
                    term for term, old in state.vocabulary.items() if used[old]
                )
            },
            Base(
                starts_of(np.diff(state.base.starts)[used]),
                slots[state.base.slots],
                state.base.rows,
            ),
            state.holders[used],
            np.ones(len(living), np.bool_),
            state.lengths[living],
            _renumbered(state.terms.kept(living), terms),
        )
        return (
            Kept(
                [self.ids[slot] for slot in living],
                smaller,
                Forward(
                    _renumbered(forward.names.kept(living), terms),
                    _renumbered(limitations, terms),
                    _renumbered(forward.passages.kept(np.flatnonzero(is_kept)), terms),
                    starts_of(passages[living]),
                ),
                self.merit[living],
            ),
            slots,
        )


def merit_of(document: SearchDocument) -> tuple[float, float, float]:
    """Return what orders equals: quality, health, and the number of digits of the downloads."""
    return document.quality, document.health, math.log10(document.downloads + 1)


def _numbered(is_kept: Array) -> Ints:
    """Return a new number for each old one that is kept, -1 for the others."""
    return np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype(np.int32)


def _renumbered(rows: Ragged, numbers: Ints) -> Ragged:
    starts, values = rows.arrays
    return Ragged(starts, numbers[values])
