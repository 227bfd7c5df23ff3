"""Find the tools of a document here, and say what of it is to be mended."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q

from config.lib.documents import MOST_PROBLEMS
from config.lib.errors import InvalidInput
from config.lib.types import JsonObject
from registry.models import Tool, ToolVersion
from registry.search.service import search
from registry.selectors import tools_usable_by
from sequences.definition import DefinitionInvalid, Problem, parse
from sequences.documents import (
    HIDDEN,
    DocumentRefused,
    SequenceDocument,
    ToolNamed,
)
from sequences.services import new_sequence, sequence_problems

MOST_LIKE = 5
"""Tools that are offered in place of one that is not here."""


@dataclass(frozen=True, kw_only=True)
class Match:
    """A tool of a document and what it is here.

    `tool` is what its steps will call. Without one, `candidates` may do: one of the same name from
    elsewhere (`is_ambiguous`), or such as are found by its name.
    """

    named: ToolNamed
    steps: tuple[int, ...]
    tool: Tool | None
    candidates: tuple[Tool, ...] = ()
    is_ambiguous: bool = False
    was_chosen: bool = False

    @property
    def state(self) -> str:
        """Return `found`, `chosen`, `ambiguous`, `inside` (it comes with the document) or
        `missing`."""
        if self.tool is not None:
            return "chosen" if self.was_chosen else "found"
        if self.is_ambiguous:
            return "ambiguous"
        return "inside" if self.named.document else "missing"


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A document with the tools that are here in the place of their names.

    A step whose tool is not here names it by its wire name, which is a problem that it is told.
    """

    document: SequenceDocument
    matches: tuple[Match, ...]
    definition: JsonObject
    notes: tuple[str, ...]
    problems: tuple[Problem, ...] = field(default=())

    @property
    def is_whole(self) -> bool:
        """Tell whether it could be published as it is."""
        return not self.problems


def resolved(
    document: SequenceDocument, *, user: User, choices: Mapping[str, str] | None = None
) -> Resolved:
    """Find the tools of a document among those that a person may use.

    `choices` are ids of tools by `ToolNamed.id`; they win over what is found. Raises InvalidInput
    where one of them is no tool of theirs, and DocumentRefused where the definition has not the
    form of one.
    """
    definition = _read(document.definition)
    steps: list[JsonObject] = definition["steps"]
    matches = tuple(
        _match(named, _steps_of(steps, named.id), user, (choices or {}).get(named.id, ""))
        for named in document.tools
    )
    notes = [
        f"{name} looked like a secret and was not exported; set it anew."
        for name in document.left_out
    ]
    by_id = {match.named.id: match for match in matches}
    for number, step in enumerate(steps, 1):
        match = by_id.get(str(step.get("toolToRunId")))
        if match is not None:
            step["toolToRunId"] = str(match.tool.pk) if match.tool else match.named.wire_name
            notes += _pin_here(step, number, match)
    return Resolved(
        document=document,
        matches=matches,
        definition=definition,
        notes=tuple(notes),
        problems=tuple(_problems(user, document, definition)),
    )


def _read(definition: JsonObject) -> JsonObject:
    """Return a copy of a definition that can be read; raise DocumentRefused with each place."""
    try:
        parse(definition)
    except DefinitionInvalid as error:
        problems = [
            {"path": f"$.definition{each.path.removeprefix('$')}", "message": each.message}
            for each in error.problems[:MOST_PROBLEMS]
        ]
        told = " ".join(f"{each['path']}: {each['message']}" for each in problems[:5])
        raise DocumentRefused(told, problems=problems) from None
    return deepcopy(definition)


def _problems(user: User, document: SequenceDocument, definition: JsonObject) -> list[Problem]:
    tool = new_sequence(user)
    return sequence_problems(
        tool,
        author=user,
        name=document.name,
        description=document.description,
        definition=definition,
        input_schema=document.input_schema,
        visibility=tool.visibility,
        team=None,
        required_scopes=document.required_scopes,
    )


def _steps_of(steps: Sequence[JsonObject], name: str) -> tuple[int, ...]:
    return tuple(n for n, step in enumerate(steps, 1) if step.get("toolToRunId") == name)


def _match(named: ToolNamed, steps: tuple[int, ...], user: User, choice: str) -> Match:
    if choice:
        chosen = _chosen(user, choice)
        return Match(named=named, steps=steps, tool=chosen, was_chosen=True)
    usable = tools_usable_by(user)
    same_name = usable.filter(wire_name=named.wire_name).first()
    if named.package is None:
        same = same_name if same_name and same_name.package_id is None else None
    else:
        theirs = Q(
            package__ecosystem=named.package.ecosystem,
            package__name=named.package.name,
            export_name=named.export or named.wire_name,
        )
        same = usable.filter(theirs).order_by("wire_name").first()
    if same is not None and (not named.kind or named.kind == same.kind):
        return Match(named=named, steps=steps, tool=same)
    like = [same_name] if same_name else _like(named, user)
    return Match(
        named=named,
        steps=steps,
        tool=None,
        candidates=tuple(like),
        is_ambiguous=same_name is not None,
    )


def _chosen(user: User, choice: str) -> Tool:
    try:
        tool = tools_usable_by(user).filter(pk=UUID(choice)).first()
    except ValueError:
        tool = None
    if tool is None:
        raise InvalidInput(
            "A tool that was chosen does not exist, or you may not use it.", "Choose another one."
        )
    return tool


def _like(named: ToolNamed, user: User) -> list[Tool]:
    words = re.sub(r"[_\-]+", " ", f"{named.title} {named.wire_name}").strip()
    if not words or named.wire_name == HIDDEN:
        return []
    ids = [hit.tool_id for hit in search(words[:300], user=user, limit=MOST_LIKE).found]
    found = tools_usable_by(user).in_bulk(ids[:MOST_LIKE])
    return [found[tool_id] for tool_id in ids if tool_id in found]


def _pin_here(step: JsonObject, number: int, match: Match) -> Iterator[str]:
    """Put the number that a pinned version has here; yield a note where it is not here."""
    pinned = step.get("toolVersion")
    if pinned is None:
        return
    digest = match.named.versions.get(str(pinned))
    same = (
        ToolVersion.objects.filter(tool=match.tool, digest=digest).order_by("-number").first()
        if match.tool and digest
        else None
    )
    step["toolVersion"] = same.number if same else None
    if same is None:
        yield (
            f"Step {number} was held to version {pinned} of {match.named.wire_name}, which is not "
            "here; it follows the live version."
        )
