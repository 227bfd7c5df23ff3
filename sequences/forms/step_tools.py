"""The tools that the builder offers and that its steps have chosen."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from config.lib.ids import uuid_in
from config.lib.types import JsonObject, JsonSchema
from registry.deprecated import day_in_words, deprecation_notice, retired
from registry.models import Tool, ToolVersion
from registry.models.tool import Visibility
from registry.pins import numbers_to_pin
from registry.schema_forms import FormField, form_fields
from registry.selectors import tools_usable_by
from registry.step_troubles import step_troubles, tool_trouble
from sequences.forms.drafts import Draft

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
    trouble: str = ""
    """Why a step cannot call it at present, as `that …`."""
    input_schema: JsonSchema = field(default_factory=dict)
    output_schema: JsonSchema | None = None


def tools_offered(user: User, besides: UUID | None) -> list[tuple[str, str]]:
    """Return the wire name and title of the tools that a step may call, by name."""
    tools = tools_usable_by(user).exclude(retired()).order_by("wire_name", "pk")
    if besides is not None:
        tools = tools.exclude(pk=besides)
    return list(tools.values_list("wire_name", "title")[:MOST_OFFERED])


Pin = tuple[str, str]
"""A tool's wire name or id, and the version that a step holds it to; "" for none."""


def tools_chosen(user: User, pins: Iterable[Pin]) -> dict[str, StepTool]:
    """Return the tools that are named, by wire name and by id; what does not exist is not in it.

    One that is pinned to another version than the live one is there as it was then, too; see
    `tool_at`.
    """
    pins = [(name.strip(), version.strip()) for name, version in pins]
    chosen = _by_name(user, [name for name, _ in pins])
    return {**chosen, **_as_pinned(chosen, pins)}


def tools_of(user: User, draft: Draft) -> dict[str, StepTool]:
    """Return the tools that the steps of a draft name."""
    return tools_chosen(user, [(step.tool, step.version) for step in draft.steps])


def tools_in(user: User, definition: JsonObject) -> dict[str, StepTool]:
    """Return the tools that the steps of a definition name."""
    steps = definition.get("steps", ())
    pins = [(step.get("toolToRunId") or "", str(step.get("toolVersion") or "")) for step in steps]
    return tools_chosen(user, pins)


def tool_at(chosen: Mapping[str, StepTool], name: str, version: str) -> StepTool | None:
    """Return a chosen tool as it is in the version that a step is pinned to, else as it is now."""
    name = name.strip()
    return chosen.get(f"{name}@{version.strip()}") or chosen.get(name)


def _as_pinned(chosen: Mapping[str, StepTool], pins: Iterable[Pin]) -> dict[str, StepTool]:
    held = {
        (name, version): tool
        for name, version in pins
        if (tool := chosen.get(name)) and version in tool.numbers and version != str(tool.live)
    }
    wanted = Q(pk=None)
    for (_, version), tool in held.items():
        wanted |= Q(tool_id=tool.id, number=int(version))
    rows = ToolVersion.objects.filter(wanted) if held else ()
    said = {(str(row.tool_id), str(row.number)): row.snapshot for row in rows}
    return {
        f"{name}@{version}": _then(tool, snapshot)
        for (name, version), tool in held.items()
        if (snapshot := said.get((tool.id, version)))
    }


def _then(tool: StepTool, snapshot: JsonObject) -> StepTool:
    schema = snapshot["input_schema"]
    return replace(
        tool,
        description=snapshot["description"],
        open_to_more=schema.get("additionalProperties") is not False,
        fields=_fields(schema),
        input_schema=schema,
        output_schema=snapshot.get("output_schema"),
    )


def _fields(schema: JsonSchema) -> dict[str, FormField]:
    fields = sorted(form_fields(schema), key=lambda field: not field.required)
    return {field.name: field for field in fields}


def _by_name(user: User, names: Iterable[str]) -> dict[str, StepTool]:
    wanted = {name.strip() for name in names if name.strip()}
    found = tools_usable_by(user).filter(
        Q(wire_name__in=wanted) | Q(pk__in=[name for name in wanted if uuid_in(name)])
    )
    within = step_troubles(found)
    tools = [_step_tool(tool, user, within) for tool in found]
    return {key: tool for tool in tools for key in (tool.name, tool.id)}


def tools_lost(
    user: User, names: Iterable[str], chosen: Mapping[str, StepTool]
) -> list[tuple[str, str]]:
    """Return the id and what is told of each tool that steps name by its id and that was deleted.

    Only of those that the person could once see, as their own, their team's or everybody's.
    """
    ids = {name.strip() for name in names if name.strip() not in chosen and uuid_in(name.strip())}
    if not ids:
        return []
    tools = tools_once_seen(user).filter(pk__in=ids)
    return [(str(tool.pk), _loss(tool)) for tool in tools]


def tools_once_seen(user: User) -> QuerySet[Tool]:
    """Return the deleted tools that a person could once see, as their own, their team's or
    everybody's."""
    theirs = (
        Q(owner=user)
        | Q(package__added_by=user)
        | Q(team__in=user.groups.values("pk"), visibility=Visibility.TEAM)
        | Q(visibility=Visibility.PUBLIC)
    )
    return Tool.objects.filter(theirs, deleted_at__isnull=False).select_related("successor")


def _loss(tool: Tool) -> str:
    successor = tool.successor
    lives = successor is not None and successor.deleted_at is None
    use = f"“{successor.wire_name}”" if successor and lives else "another tool"
    when = f" on {day_in_words(tool.deleted_at.date())}" if tool.deleted_at else ""
    return (
        f"“{tool.wire_name}” was deleted{when}, so this step can no longer run. "
        f"Choose {use} for it, or take the step out."
    )


def _step_tool(tool: Tool, user: User, within: Collection[UUID]) -> StepTool:
    return StepTool(
        id=str(tool.pk),
        name=tool.wire_name,
        title=tool.title,
        description=tool.description,
        open_to_more=tool.input_schema.get("additionalProperties") is not False,
        fields=_fields(tool.input_schema),
        live=tool.version,
        numbers=tuple(map(str, numbers_to_pin(tool, user))),
        notice=deprecation_notice(tool),
        trouble=tool_trouble(tool) or ("that cannot run now" if tool.pk in within else ""),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
    )
