"""One thing that is wrong with a sequence, and where."""

import re
from dataclasses import dataclass

IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"

Place = tuple[str | int, ...]
"""A place in a definition, such as `("steps", 0, "retry")`."""


@dataclass(frozen=True)
class Problem:
    """One thing to mend: its JSON path, the number of its step and its field, if it has them."""

    path: str
    step: int | None
    field: str | None
    message: str


def problem_at(location: Place, message: str) -> Problem:
    """Return a problem at a place in the definition, such as `("steps", 0, "retry")`."""
    path = "$" + "".join(
        f"[{part}]"
        if isinstance(part, int)
        else (f".{part}" if re.match(IDENTIFIER, part) else f"['{part}']")
        for part in location
    )
    match location:
        case ("steps", int(index), *rest):
            return Problem(path, index + 1, ".".join(map(str, rest)) or None, message)
        case _:
            return Problem(path, None, ".".join(map(str, location)) or None, message)
