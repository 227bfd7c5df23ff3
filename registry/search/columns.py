"""What filters know of each tool, a column a fact, so that who may find what is a mask.

Row n of every column is the tool in slot n of the index.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.search.facts import BROKEN, Audience, Circumstances, Facts, Narrowing, states_named

Mask = NDArray[np.bool_]

DTYPES: Mapping[str, str] = {
    "is_open": "?",
    "owner": "i4",
    "adder": "i4",
    "team": "i4",
    "kind": "i4",
    "category": "i4",
    "package": "i4",
    "state": "i4",
    "scopes": "i4",
    "retired_on": "i4",
    "down_at": "f8",
    "text": "u8",
}
INTERNED = ("kind", "category", "package", "state", "scopes")
"""Columns of which each value is the number of a text; that of scopes has one to a line."""

MOST_MASKS = 32
"""Masks that are kept: as many audiences search without a mask being made anew."""


@dataclass(frozen=True)
class Masks:
    """`visible`: what is told of. `fit`: what of it would help."""

    visible: Mask
    fit: Mask


@dataclass
class _Texts:
    """Numbers for texts, given once."""

    values: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        number = self.numbers.setdefault(text, len(self.values))
        if number == len(self.values):
            self.values.append(text)
        return number

    def those(self, holds: Callable[[str], bool], column: NDArray[Any]) -> Mask:
        """Return for each row whether its text is one of those."""
        held = np.fromiter(map(holds, self.values), np.bool_, count=len(self.values))
        those: Mask = held[column]
        return those


class Columns:
    """The facts of all tools. Not safe for concurrent use with writes."""

    def __init__(self) -> None:
        self._columns = {name: np.zeros(16, dtype) for name, dtype in DTYPES.items()}
        self._texts = {name: _Texts() for name in INTERNED}
        for texts in self._texts.values():
            texts.number("")  # what a row has that was never written
        self._masks: OrderedDict[object, Masks] = OrderedDict()
        self._size = 0

    def put(self, slot: int, facts: Facts) -> None:
        """Write the facts of the tool in a slot."""
        if slot >= len(self._columns["text"]):
            for name, column in self._columns.items():
                more = np.zeros(max(slot + 1, 2 * len(column)) - len(column), column.dtype)
                self._columns[name] = np.concatenate([column, more])
        columns, texts = self._columns, self._texts
        columns["is_open"][slot] = facts.is_open
        columns["owner"][slot] = facts.owner
        columns["adder"][slot] = facts.adder
        columns["team"][slot] = facts.team
        columns["kind"][slot] = texts["kind"].number(facts.kind)
        columns["category"][slot] = texts["category"].number(facts.category)
        columns["package"][slot] = texts["package"].number(facts.package)
        columns["state"][slot] = texts["state"].number(facts.state)
        columns["scopes"][slot] = texts["scopes"].number("\n".join(sorted(facts.scopes)))
        columns["retired_on"][slot] = facts.retired_on.toordinal() if facts.retired_on else 0
        columns["down_at"][slot] = facts.down_at
        columns["text"][slot] = facts.text
        self._size = max(self._size, slot + 1)
        self._masks.clear()

    def text_of(self, slot: int) -> int:
        """Return the digest of the words that a slot was filled with."""
        return int(self._columns["text"][slot])

    def masks(
        self,
        audience: Audience,
        narrowing: Narrowing,
        now: Circumstances,
        *,
        down_since: float,
    ) -> Masks:
        """Return what is searched, with what would help now.

        A tool whose service was seen not to answer after `down_since` does not. The masks are
        the caller's to read, not to change.
        """
        key = (audience, narrowing, now)
        masks = self._masks.get(key)
        if masks is None:
            visible = self._visible(audience) & self._narrowed(narrowing)
            masks = Masks(visible, visible & self._fit(now))
            self._masks[key] = masks
            if len(self._masks) > MOST_MASKS:
                self._masks.popitem(last=False)
        else:
            self._masks.move_to_end(key)
        resting = self._rows("down_at") > down_since
        return Masks(masks.visible, masks.fit & ~resting) if resting.any() else masks

    def _rows(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self._size]

    def _visible(self, audience: Audience) -> Mask:
        """Return what `registry.selectors.tools_usable_by` lets a person find."""
        visible: Mask = self._rows("is_open") | (self._rows("owner") == audience.person)
        visible |= self._rows("adder") == audience.person
        for team in audience.teams:
            visible |= self._rows("team") == team
        return visible

    def _narrowed(self, narrowing: Narrowing) -> Mask:
        mask = np.ones(self._size, dtype=np.bool_)
        for name in ("kind", "category", "package"):
            if wanted := getattr(narrowing, name):
                number = self._texts[name].numbers.get(wanted, -1)
                mask &= self._rows(name) == number
        if narrowing.health:
            mask &= self._in_state(lambda state: state in states_named(narrowing.health))
        return mask

    def _fit(self, now: Circumstances) -> Mask:
        fit = self._in_state(lambda state: state not in BROKEN)
        retired_on = self._rows("retired_on")
        fit &= (retired_on == 0) | (retired_on > now.today.toordinal())
        scopes = now.scopes
        if scopes is not None:
            texts = self._texts["scopes"]
            fit &= texts.those(lambda text: scopes >= set(text.split()), self._rows("scopes"))
        return fit

    def _in_state(self, holds: Callable[[str], bool]) -> Mask:
        return self._texts["state"].those(holds, self._rows("state"))

    def moved(self, slots: NDArray[np.int32], size: int) -> "Columns":
        """Return the same facts with those of slot n in `slots[n]`; below 0 they are dropped."""
        moved = Columns()
        moved._texts = self._texts
        moved._size = size
        stays = slots >= 0
        for name in DTYPES:
            column = np.zeros(size, DTYPES[name])
            column[slots[stays]] = self._rows(name)[stays]
            moved._columns[name] = column
        return moved

    def arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, list[str]]]:
        """Return the columns, and the texts behind the numbers, to be stored."""
        return (
            {name: self._rows(name) for name in DTYPES},
            {name: list(texts.values) for name, texts in self._texts.items()},
        )

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, Iterable[str]]
    ) -> "Columns":
        """Return what was stored."""
        columns = cls()
        columns._columns = {
            name: np.array(arrays[name], dtype=dtype) for name, dtype in DTYPES.items()
        }
        columns._size = len(columns._columns["text"])
        for name, interned in columns._texts.items():
            for text in texts[name]:
                interned.number(text)
        return columns
