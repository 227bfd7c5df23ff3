"""Bring together what a package declares and what it exports.

The two drift apart: the real `@tpmjs/tools-recipe-hash@0.2.0` declares `recipeHash` and exports
`recipeHashTool`. What may be meant is found by name and told as a finding; it is bound only when a
person says so (`bindings`), for what is declared of a tool must not be put on other code unseen.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from registry.manifest import DeclaredTool
from registry.sandbox.contract import ToolDescription

CLOSE_ENOUGH = 0.75
"""Similarity (difflib's ratio of the bare names) from which two names are near each other."""

_WORDS_WITHOUT_MEANING = re.compile(r"tool$|^default$")


@dataclass(frozen=True, kw_only=True)
class Match:
    """One tool to be: what is declared of it, what is exported, or both.

    `drift` says in words how the two differ, and `candidates` names the exports that may be meant;
    both are empty when the two agree. An only candidate is held back: it is no tool of its own.
    """

    declared: DeclaredTool | None
    exported: ToolDescription | None
    drift: str = ""
    candidates: tuple[str, ...] = ()

    @property
    def export(self) -> str:
        """Return the name the tool goes by: the export's, else the declared one."""
        if self.exported is not None:
            return self.exported.export
        return self.declared.export if self.declared else ""


def match_tools(
    declared: Sequence[DeclaredTool],
    exported: Sequence[ToolDescription],
    bindings: Mapping[str, str] | None = None,
) -> list[Match]:
    """Return every declared tool with its export, then the exports that nobody declared.

    `bindings` maps declared names to exports, as a person decided; the export's own name wins.
    """
    by_name = {name: tool for tool in reversed(exported) for name in (*tool.aliases, tool.export)}
    meant = {name: export for name, export in (bindings or {}).items() if name not in by_name}
    names = {tool.export: meant.get(tool.export, tool.export) for tool in declared}
    bound = {name: by_name[export] for name, export in names.items() if export in by_name}
    free = [tool for tool in exported if tool not in bound.values()]
    matches = []
    for wanted in declared:
        if wanted.export in bound:
            matches.append(Match(declared=wanted, exported=bound[wanted.export]))
            continue
        near = _nearest(wanted.export, free, alone=len(declared) == len(exported) == 1)
        matches.append(_drifted(wanted, near))
        if len(near) == 1:
            free.remove(near[0])
    return [*matches, *(Match(declared=None, exported=tool) for tool in free)]


def _drifted(declared: DeclaredTool, near: list[ToolDescription]) -> Match:
    names = tuple(tool.export for tool in near)
    said = f"“{declared.export}” is declared but not exported."
    if len(near) == 1:
        said = f"It is declared as “{declared.export}”, but exported as “{names[0]}”."
    elif near:
        told = ", ".join(f"“{name}”" for name in names)
        said = f"{said} Several exports have a similar name: {told}."
    return Match(declared=declared, exported=None, drift=said, candidates=names)


def _nearest(
    name: str, candidates: Iterable[ToolDescription], *, alone: bool
) -> list[ToolDescription]:
    """Return the candidates whose bare names equal `name`'s, else those that are close to it.

    `alone` says that one tool is declared and one exported, so they can only mean each other.
    """
    candidates = list(candidates)
    if alone:
        return candidates
    wanted = _bare(name)
    same = [tool for tool in candidates if _bare(tool.export) == wanted]
    return same or [tool for tool in candidates if _similarity(wanted, tool) >= CLOSE_ENOUGH]


def _similarity(wanted: str, tool: ToolDescription) -> float:
    return SequenceMatcher(None, wanted, _bare(tool.export), autojunk=False).ratio()


def _bare(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return _WORDS_WITHOUT_MEANING.sub("", plain)
