"""The tools that the builder's palette offers for what was typed."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from uuid import UUID

from django.contrib.auth.models import User

from registry.annotations import annotations_of
from registry.deprecated import retired
from registry.effects import HOSTED, annotations_now
from registry.loading import load_specs
from registry.models import Tool
from registry.models.tool import ToolKind
from registry.search.lookup import look_up
from registry.search.service import Mode, search
from registry.search.words import words_of
from registry.selectors import tools_usable_by
from registry.specs import ToolSpec

LONGEST = 200
"""Characters of what was typed that are read."""
MOST = 20
ASKING = words_of("ask a person approval question human confirm form")


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One tool of the palette; `effects` say what its calls do."""

    tool: Tool
    effects: tuple[str, ...]


def asks_a_person(text: str) -> bool:
    """Tell whether the step that asks a person fits what was typed."""
    return all(any(word.startswith(begun) for word in ASKING) for begun in words_of(text))


def tools_for_steps(user: User, text: str, *, besides: str = "") -> list[Offer]:
    """Return the tools that fit what was typed: those called so, then those that do so.

    Without any words the first ones by name. The sequence `besides`, an id, is left out.
    """
    usable = tools_usable_by(user).exclude(retired())
    if words_of(text):
        found = list(islice(_found(user, text, besides), MOST))
        rows = usable.in_bulk(found)
        tools = [rows[pk] for pk in found if pk in rows]
    else:
        ordered = usable.order_by("wire_name", "pk")[: MOST + 1]
        tools = [tool for tool in ordered if str(tool.pk) != besides][:MOST]
    return _offers(tools)


def _found(user: User, text: str, besides: str) -> Iterator[UUID]:
    seen: set[UUID] = set()
    called = look_up([text], mode=Mode.PREFIX, user=user, limit=MOST, most=MOST).hits
    for hit in chain(called, search(text, user=user, limit=MOST, floor=0.0).hits):
        if hit.tool_id not in seen and str(hit.tool_id) != besides:
            seen.add(hit.tool_id)
            yield hit.tool_id


def _offers(tools: list[Tool]) -> list[Offer]:
    specs = {spec.tool_id: spec for spec in load_specs(tools)}
    return [Offer(tool=tool, effects=_effects(tool, specs[tool.pk])) for tool in tools]


def _effects(tool: Tool, spec: ToolSpec) -> tuple[str, ...]:
    """Return what its calls do; of a sequence what holds of its steps together."""
    if tool.kind == ToolKind.SEQUENCE:
        return tuple(annotations_now(spec).words)
    hosted = tool.package is not None and tool.kind in HOSTED
    hosts = tool.package.allowed_hosts if tool.package and hosted else None
    return tuple(annotations_of(spec, hosts).words)
