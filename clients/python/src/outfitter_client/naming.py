"""Names that a framework takes, and the tools that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

LONGEST = 64
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")
_MARK = 8


def fitting_names(names: Iterable[str]) -> dict[str, str]:
    """Return a name that every framework takes → the tool's own, no two alike.

    They take `^[a-zA-Z0-9_-]{1,64}$`. A name that fits stays; another has a mark of its own behind
    it, so that it is the same in every process and whatever tools stand beside it.
    """
    return {_fitting(name): name for name in names}


def _fitting(name: str) -> str:
    plain = _UNFIT.sub("_", name)
    if plain == name and 0 < len(name) <= LONGEST:
        return name
    mark = sha256(name.encode()).hexdigest()[:_MARK]
    return f"{plain[: LONGEST - _MARK - 1]}_{mark}"
