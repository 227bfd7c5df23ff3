"""The tools that the builder offers and that its steps have chosen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q

from registry.deprecated import deprecation_notice, retired
from registry.models import Tool
from registry.pins import numbers_to_pin
from registry.schema_forms import FormField, form_fields
from registry.selectors import tools_usable_by

MOST_OFFERED = 2_000
"""Tools in the builder's list; any other can be typed by its name."""


@dataclass(frozen=True, kw_only=True)
class StepTool:
    """What the builder has to know of a tool that a step calls; required inputs come first.

    `numbers` are the versions that a step may pin, `notice` says that the tool is deprecated.
    """

    id: str
    name: str
    title: str
    description: str
    open_to_more: bool
    fields: Mapping[str, FormField]
    live: int
    numbers: tuple[str, ...]
    notice: str


def tools_offered(user: User, besides: UUID | None) -> list[tuple[str, str]]:
    """Return the wire name and title of the tools that a step may call, by name."""
    tools = tools_usable_by(user).exclude(retired()).order_by("wire_name", "pk")
    if besides is not None:
        tools = tools.exclude(pk=besides)
    return list(tools.values_list("wire_name", "title")[:MOST_OFFERED])


def tools_chosen(user: User, names: Iterable[str]) -> dict[str, StepTool]:
    """Return the tools that are named, by wire name and by id; what does not exist is not in it."""
    wanted = {name.strip() for name in names if name.strip()}
    found = tools_usable_by(user).filter(
        Q(wire_name__in=wanted) | Q(pk__in=[name for name in wanted if _is_id(name)])
    )
    tools = [_step_tool(tool, user) for tool in found]
    return {key: tool for tool in tools for key in (tool.name, tool.id)}


def _step_tool(tool: Tool, user: User) -> StepTool:
    fields = sorted(form_fields(tool.input_schema), key=lambda field: not field.required)
    return StepTool(
        id=str(tool.pk),
        name=tool.wire_name,
        title=tool.title,
        description=tool.description,
        open_to_more=tool.input_schema.get("additionalProperties") is not False,
        fields={field.name: field for field in fields},
        live=tool.version,
        numbers=tuple(map(str, numbers_to_pin(tool, user))),
        notice=deprecation_notice(tool),
    )


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
