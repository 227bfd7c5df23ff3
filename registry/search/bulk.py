"""Build an index of many documents at once: what putting them one by one does, in few steps.

Each word is tokenized once, and what many documents have in common (the description of a package)
is read once. Terms are told apart, counted and sorted as numbers of 64 bits:
term, slot and field in one.
"""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.arrays import Array, Ragged, starts_of
from registry.search.bm25 import Ints
from registry.search.document import SearchDocument, texts_of
from registry.search.forward import Forward
from registry.search.postings import MOST_COUNTED, Base, State
from registry.search.tokens import tokenize
from registry.search.weights import FIELDS

_BLANKS = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", " "))
"""What ends a word for `tokenize`, wherever it stands; it need not see more than one word."""

_NAME, _EXAMPLES = FIELDS.index("name"), FIELDS.index("examples")
_TITLE, _LIMITATIONS = len(FIELDS), len(FIELDS) + 1
_FIELD_BITS = 4
_SHARED = {
    FIELDS.index(name)
    for name in (
        "package",
        "category",
        "package_description",
        "parameters",
        "parameter_descriptions",
    )
}
"""Fields whose texts many documents have in common."""


class _Words(dict[str, int]):
    """Each word's number; a word that is new is tokenized then."""

    def __init__(self) -> None:
        self.vocabulary: dict[str, int] = {}
        self._terms = array("i")
        self._ends = array("q", [0])

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        known = self.vocabulary
        self._terms.extend([known.setdefault(term, len(known)) for term in tokenize(word)])
        self._ends.append(len(self._terms))
        return number

    def read(self, text: str) -> "array[int]":
        """Return the number of each word of a text."""
        return array("i", map(self.__getitem__, text.translate(_BLANKS).split()))

    def terms(self, words: Ints) -> tuple[Ints, Array]:
        """Return the terms of some words, and how many each word has."""
        return Ragged(np.array(self._ends), np.array(self._terms, np.int32)).rows(words)


class _Texts(NamedTuple):
    """All texts of all documents: the slot and field of each, and its terms."""

    slots: NDArray[np.int64]
    fields: NDArray[np.int64]
    terms: Ragged

    def of(self, field: int) -> "_Texts":
        """Return the texts of one field."""
        numbers = np.flatnonzero(self.fields == field)
        return _Texts(self.slots[numbers], self.fields[numbers], self.terms.kept(numbers))


def indexed(documents: Sequence[SearchDocument]) -> tuple[State, Forward]:
    """Return an index of documents, by slots in their order."""
    words = _Words()
    texts = _without_repeated_titles(_read(documents, words))
    return (
        _postings(texts, words.vocabulary, len(documents)),
        _forward(texts, len(documents)),
    )


def _read(documents: Sequence[SearchDocument], words: _Words) -> _Texts:
    flat, ends, owners = array("i"), array("q", [0]), array("q")
    read, shared = words.read, dict[str, "array[int]"]()
    for slot, document in enumerate(documents):
        first = slot << _FIELD_BITS
        for field, texts in enumerate(
            (*texts_of(document), (document.title,), (document.limitations,))
        ):
            for text in texts:
                if not text:
                    continue
                if field in _SHARED:
                    found = shared.get(text)
                    if found is None:
                        found = shared[text] = read(text)
                else:
                    found = read(text)
                flat.extend(found)
                ends.append(len(flat))
                owners.append(first | field)
    terms, counts = words.terms(np.array(flat, np.int32))
    owned = np.array(owners, np.int64)
    return _Texts(
        owned >> _FIELD_BITS,
        owned & ((1 << _FIELD_BITS) - 1),
        Ragged(starts_of(counts)[np.array(ends)], terms),
    )


def _without_repeated_titles(texts: _Texts) -> _Texts:
    """Return texts where titles are names, with those terms alone that the name has not."""
    slots, fields, terms = texts
    if not (fields == _TITLE).any():
        return texts
    starts, values = terms.arrays
    lengths = np.diff(starts)
    keys = np.repeat(slots << 32, lengths) | values
    of = np.repeat(fields, lengths)
    titles = np.flatnonzero(of == _TITLE)
    kept = np.ones(len(values), np.bool_)
    kept[titles] = ~np.isin(keys[titles], keys[of == _NAME])
    lengths = np.diff(starts_of(kept)[starts])
    return _Texts(
        slots, np.where(fields == _TITLE, _NAME, fields), Ragged.of(lengths, values[kept])
    )


def _postings(texts: _Texts, vocabulary: dict[str, int], documents: int) -> State:
    starts, values = texts.terms.arrays
    lengths = np.diff(starts)
    owners = np.repeat(texts.slots << _FIELD_BITS | texts.fields, lengths)
    is_field = np.repeat(texts.fields < len(FIELDS), lengths)
    owners, values = owners[is_field], values[is_field]
    by_field = np.bincount(owners, minlength=documents << _FIELD_BITS)
    by_field = by_field.reshape(documents, 1 << _FIELD_BITS)[:, : len(FIELDS)]
    bits = _FIELD_BITS + documents.bit_length()
    keys, counts = _counted(values.astype(np.int64) << bits | owners)
    pairs = keys >> _FIELD_BITS
    is_first = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    rows = np.zeros((int(is_first.sum()), len(FIELDS)), np.uint8)
    fields = keys & ((1 << _FIELD_BITS) - 1)
    rows[np.cumsum(is_first) - 1, fields] = np.minimum(counts, MOST_COUNTED)
    pairs = pairs[is_first]
    bits -= _FIELD_BITS
    holders = np.bincount(pairs >> bits, minlength=len(vocabulary))
    slots = (pairs & ((1 << bits) - 1)).astype(np.int32)
    return State(
        vocabulary,
        Base(starts_of(holders), slots, rows),
        holders.astype(np.int32),
        np.ones(documents, np.bool_),
        by_field.astype(np.int32),
        Ragged.of(by_field.sum(axis=1), values),
    )


def _forward(texts: _Texts, documents: int) -> Forward:
    names, limitations = texts.of(_NAME), texts.of(_LIMITATIONS)
    examples = texts.of(_EXAMPLES)
    return Forward(
        _distinct(names.slots, names.terms, documents),
        _distinct(limitations.slots, limitations.terms, documents),
        _distinct(np.arange(len(examples.terms)), examples.terms, len(examples.terms)),
        starts_of(np.bincount(examples.slots, minlength=documents)),
    )


def _distinct(owners: Array, terms: Ragged, size: int) -> Ragged:
    """Return the different terms of each owner of some rows."""
    starts, values = terms.arrays
    keys, _ = _counted(np.repeat(owners << 32, np.diff(starts)) | values)
    return Ragged.of(np.bincount(keys >> 32, minlength=size), (keys & 0xFFFFFFFF).astype(np.int32))


def _counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
    """Return the different keys in order, and how often each stands there."""
    keys.sort()
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    places = np.flatnonzero(is_first)
    return keys[places], np.diff(places, append=len(keys))
