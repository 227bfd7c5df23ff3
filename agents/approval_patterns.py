"""The patterns of approval rules: globs over names, and annotations."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from config.lib.errors import InvalidInput
from registry.annotations import Annotations

LONGEST_PATTERN = 200

ANNOTATIONS: dict[str, tuple[str, Callable[[Annotations], bool]]] = {
    "@read_only": ("it only reads", lambda known: known.read_only),
    "@writes": ("it is not known to only read", lambda known: not known.read_only),
    "@destructive": ("it may change or delete things for good", lambda known: known.destructive),
    "@open_world": ("it reaches beyond this server", lambda known: known.open_world),
}
"""Pattern → what it says of a tool that it catches, and the test of it."""

_BLANK = re.compile(r"\s")


class PatternRefused(InvalidInput):
    """This is not a pattern of tools."""

    code = "bad_approval_pattern"
    default_hint = (
        "Write a tool's name, with * for any signs (github_*), its package and name "
        f"(npm:@acme/mail/*), or one of {', '.join(ANNOTATIONS)}."
    )


def checked_pattern(text: object) -> str:
    """Return a pattern as it is kept; raise PatternRefused with what is wrong."""
    if not isinstance(text, str):
        raise PatternRefused("A pattern is a text.")
    pattern = text.strip()
    if not pattern:
        raise PatternRefused("The pattern is empty.")
    if len(pattern) > LONGEST_PATTERN:
        raise PatternRefused(
            f"The pattern has {len(pattern)} signs; at most {LONGEST_PATTERN} are taken."
        )
    if _BLANK.search(pattern) or any(unicodedata.category(sign) in _UNSEEN for sign in pattern):
        raise PatternRefused("A pattern has no blanks and no unseen signs; no tool's name has.")
    if pattern.startswith("@") and pattern not in ANNOTATIONS:
        raise PatternRefused(f"There is no annotation “{pattern[:60]}”.")
    return pattern


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def catches(pattern: str, names: Sequence[str], known: Callable[[], Annotations]) -> bool:
    """Say whether a pattern catches a tool of these names; `known` is asked only if it must be."""
    if pattern in ANNOTATIONS:
        return ANNOTATIONS[pattern][1](known())
    return any(fnmatchcase(name, pattern) for name in names)


def catches_because(pattern: str) -> str:
    """Return why a rule of this pattern catches a tool, as the end of a sentence."""
    return f": {ANNOTATIONS[pattern][0]}" if pattern in ANNOTATIONS else ""
