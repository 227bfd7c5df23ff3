"""Give different tools: copies of one take one place, and a package no more than its own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User

from registry.models import Tool
from registry.models.health import HealthState
from registry.search.explain import Explanation
from registry.search.folding import Described
from registry.search.selection import COPY_AT_HAND, Choice, Fitting, copies_of, select

READ = (
    *("export_name", "description", "input_schema", "quality", "owner_id"),
    *("package__ecosystem", "package__name", "package__downloads", "package__added_by_id"),
)
"""What tells copies apart, and the better one of them."""


class Duplicate(NamedTuple):
    """A tool that is the same as one that is given."""

    tool_id: UUID
    wire_name: str


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One candidate; `parts` says how `score` (0–1) came about, `reason` why it is left out.

    `duplicates` are the copies of it that it stands for, of those that the person may use.
    """

    tool_id: UUID
    wire_name: str
    title: str
    score: float
    parts: Mapping[str, float]
    injected: bool
    reason: str = ""
    kind: str = ""
    why: str = ""
    """What of the tool fits, where it was not ranked by its words."""

    explanation: Explanation | None = None
    duplicates: tuple[Duplicate, ...] = field(default=())


def various(
    hits: Sequence[Hit],
    tools: Mapping[UUID, Tool],
    *,
    user: User,
    limit: int,
    per_package: int | None,
    text: str,
    fold: bool,
    at_hand: frozenset[UUID] = frozenset(),
) -> list[Hit]:
    """Return the same hits, of those that fit no more than `limit` without a reason.

    Copies of tools `at_hand` are not given: the model has that tool already.

    What is broken or does not fit well enough hides no copy of itself: only those that have no
    other reason are compared. Such a hit stays in its place; the others may change theirs, so
    that the best copy stands where the first of them was.
    """
    if fold and at_hand:
        hits = _without_copies(hits, tools, user, at_hand)
    fitting = [_fitting(tools[hit.tool_id], user) for hit in hits if not hit.reason]
    choices = iter(select(fitting, limit=limit, per_package=per_package, text=text, fold=fold))
    of = {str(hit.tool_id): hit for hit in hits}
    return [hit if hit.reason else _chosen(next(choices), of) for hit in hits]


def without(hits: Iterable[Hit], tool_ids: frozenset[UUID]) -> tuple[Hit, ...]:
    """Return hits without some tools, which are no longer told of as copies either."""
    return tuple(
        replace(hit, duplicates=tuple(d for d in hit.duplicates if d.tool_id not in tool_ids))
        for hit in hits
        if hit.tool_id not in tool_ids
    )


def _without_copies(
    hits: Sequence[Hit], tools: Mapping[UUID, Tool], user: User, at_hand: frozenset[UUID]
) -> list[Hit]:
    """Return hits with the reason of those that are copies of a tool at hand."""
    standing = [_fitting(tools[hit.tool_id], user) for hit in hits if hit.tool_id in at_hand]
    others = [_fitting(tools[hit.tool_id], user) for hit in hits if not hit.reason]
    copies = copies_of(standing, others)
    return [
        replace(hit, injected=False, reason=COPY_AT_HAND) if str(hit.tool_id) in copies else hit
        for hit in hits
    ]


def _chosen(choice: Choice, of: Mapping[str, Hit]) -> Hit:
    copies = tuple(Duplicate(of[each].tool_id, of[each].wire_name) for each in choice.duplicates)
    return replace(
        of[choice.id], reason=choice.reason, injected=not choice.reason, duplicates=copies
    )


def _fitting(tool: Tool, user: User) -> Fitting:
    package = tool.package
    inputs = tool.input_schema.get("properties")
    return Fitting(
        id=str(tool.pk),
        described=Described(
            name=tool.export_name or tool.wire_name,
            description=tool.description,
            package=package.name if package and package.ecosystem != "builtin" else "",
            parameters=tuple(inputs) if isinstance(inputs, dict) else (),
        ),
        is_own=user.pk in (tool.owner_id, package and package.added_by_id),
        merit=(
            float(tool.quality),
            float(tool.health_state == HealthState.HEALTHY),
            float((package.downloads or 0) if package else 0),
        ),
    )
