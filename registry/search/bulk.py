"""Build an index of many documents at once: what putting them one by one does, in few steps.

Each word is tokenized once, and what many documents have in common (the description of a package)
is read once. Terms are told apart, counted and sorted as numbers of 64 bits:
term, slot and field in one.
"""

from array import array
from collections.abc import Sequence
from itertools import chain, count
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.search.arrays import Array, Ragged, starts_of
from registry.search.bm25 import Ints
from registry.search.document import SearchDocument
from registry.search.forward import Forward
from registry.search.postings import MOST_COUNTED
from registry.search.state import Base, State
from registry.search.tokens import as_one_word, tokenize
from registry.search.weights import FIELDS

_PUNCTUATION = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_BLANKS = bytes.maketrans(_PUNCTUATION, b" " * len(_PUNCTUATION))
"""What ends a word for `tokenize`, wherever it stands; it need not see more than one word."""

_END = "\0"
"""A word of its own after each text while many are read at once."""

_AT_ONCE = 5_000
"""Documents that are read at once: what is thrown away again stays small."""

_NAME, _EXAMPLES = FIELDS.index("name"), FIELDS.index("examples")
_NONE = np.zeros(0, np.int64)
_TITLE, _LIMITATIONS = len(FIELDS), len(FIELDS) + 1
_FIELD_BITS = 4
_LISTS = {"parameters", "parameter_descriptions", "examples"}


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

    def terms(self, words: Ints) -> tuple[Ints, Array]:
        """Return the terms of words, and how many each word has."""
        return Ragged(np.array(self._ends), np.array(self._terms, np.int32)).rows(words)

    def numbers(self, texts: Sequence[str]) -> Ints:
        """Return the number of each word of some texts, with that of `_END` after each text."""
        text = "".join([f"{each} {_END} " for each in texts])
        if text.count(_END) != len(texts):
            text = "".join([f"{each.replace(_END, ' ')} {_END} " for each in texts])
        # as bytes, whose table is quick whatever the script; surrogates may stand alone
        plain = as_one_word(text).encode(errors="surrogatepass").translate(_BLANKS)
        words = plain.decode(errors="surrogatepass").split()
        return np.fromiter(map(self.__getitem__, words), np.int32, len(words))


class _Numbers(dict[str, int]):
    """The number of each different text."""

    def of(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
        """Return the number of each text, and those texts that are new, in their order."""
        new = [text for text in dict.fromkeys(texts) if text not in self]
        self.update(zip(new, count(len(self)), strict=False))
        return np.fromiter(map(self.__getitem__, texts), np.int64, len(texts)), new


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
    """Return the texts of documents that have terms, sorted by slot."""
    numbers = _Numbers()
    read, owners, texts = [_NONE], [_NONE], [np.zeros(0, np.int32)]
    for first in range(0, len(documents), _AT_ONCE):
        some = documents[first : first + _AT_ONCE]
        for field, name in enumerate((*FIELDS, "title", "limitations")):
            column = list(map(attrgetter(name), some))
            slots = np.arange(first, first + len(some))
            if name in _LISTS:
                slots = np.repeat(slots, list(map(len, column)))
                column = list(chain.from_iterable(column))
            found, new = numbers.of(column)
            read.append(found)
            owners.append(slots << _FIELD_BITS | field)
            texts.append(words.numbers(new))
    terms = _by_text(np.concatenate(texts), words)
    owned, places = np.concatenate(owners), np.concatenate(read)
    filled = np.flatnonzero(np.diff(terms.arrays[0])[places])
    order = filled[np.argsort(owned[filled], kind="stable")]
    owned = owned[order]
    return _Texts(owned >> _FIELD_BITS, owned & ((1 << _FIELD_BITS) - 1), terms.kept(places[order]))


def _by_text(numbers: Ints, words: _Words) -> Ragged:
    """Return the terms of each text, of the numbers of all words and ends of texts."""
    values, counts = words.terms(numbers)
    ends = np.flatnonzero(numbers == words[_END])
    return Ragged(np.concatenate([[0], np.cumsum(counts)[ends]]), values)


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
