"""Find tools that take the name of another."""

import re
from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.builtins import BUILTINS
from registry.review.cues import BLOCK, INFO
from registry.review.letters import plain
from registry.review.texts import finding

_SEPARATORS = re.compile(r"[^\w]|_")


def bare(name: str) -> str:
    """Return a name without what does not tell two names apart: case, separators, look-alikes."""
    return _SEPARATORS.sub("", plain(name))


_BUILTINS = {bare(name): name for name in BUILTINS}


def name_findings(
    before: Mapping[str, JsonValue], after: Mapping[str, JsonValue], taken: Mapping[str, str]
) -> Iterator[JsonObject]:
    """Yield a finding for each new tool whose name is a built-in's or, by `taken`, another's.

    `taken` maps bare names to who has them, such as `{"sendmail": "mailer::send_mail"}`. Of two
    packages with a tool of one name neither is wrong, so that is only told.
    """
    known = before.get("tools") or {}
    for export, snapshot in (after.get("tools") or {}).items():
        if export in known or snapshot.get("kind") == "builtin":
            continue
        name = bare(export)
        if name in _BUILTINS:
            told = f"It has the name of the built-in tool {_BUILTINS[name]}."
            yield finding("shadows_builtin", f"tools.{export}", BLOCK, told)
        elif name in taken:
            told = f"{taken[name]} has the same name."
            yield finding("same_name", f"tools.{export}", INFO, told)
