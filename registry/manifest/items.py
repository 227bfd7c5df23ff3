"""Read the lists of a manifest, which many packages write as maps."""

from typing import Any

from config.lib.types import JsonObject
from registry.manifest.findings import Findings, inside, kind_of

Item = tuple[JsonObject, str]
"""An object of a list, and its path."""


def items_of(
    declared: list[Any] | dict[str, Any],
    path: str,
    findings: Findings,
    *,
    text_is: str,
    write: str,
) -> list[Item]:
    """Return the objects of a list, or of a map from their name, each with its path.

    A text in a list is a name; in a map it is the field `text_is`. `write` says what else to write.
    """
    if isinstance(declared, dict):
        named = [(name, item, inside(path, name)) for name, item in declared.items()]
    else:
        named = [("", item, inside(path, index)) for index, item in enumerate(declared)]
    found: list[Item] = []
    for name, item, where in named:
        if isinstance(item, dict):
            found.append(({"name": name, **item} if name else item, where))
        elif isinstance(item, str):
            found.append(({"name": name, text_is: item} if name else {"name": item}, where))
        else:
            findings.add(where, f"It is {kind_of(item)}. Write {write}.")
    return found


def texts_of(values: list[Any], path: str, findings: Findings, *, write: str) -> list[str]:
    """Return the texts of a list; anything else in it is told."""
    found = []
    for index, value in enumerate(values):
        if isinstance(value, str) and value.strip():
            found.append(value.strip())
        else:
            told = "an empty text" if isinstance(value, str) else kind_of(value)
            findings.add(inside(path, index), f"It is {told}. Write {write}.")
    return found
