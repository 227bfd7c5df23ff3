"""What an agent says of a tool that it carries: presets, version, approval, name, description."""

import re
from typing import TypedDict

from agents.models import AgentTool
from agents.models.agent_tool import Approval
from config.lib.errors import Conflict, InvalidInput
from config.lib.jsontext import size_of, storable
from config.lib.types import JsonObject, JsonValue
from registry.loading import load_spec
from registry.pins import pinned_spec
from registry.schemas import property_problems
from registry.specs import ToolSpec
from registry.wire_names import META_TOOLS

LARGEST_PRESETS = 32_000
"""Bytes of JSON that a link's presets may take."""

LONGEST_DESCRIPTION = 4_000

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class LinkSettings(TypedDict, total=False):
    """Settings of a link by their fields; what is left out stays as it is."""

    config: JsonObject
    pinned_version: int | None
    approval: str
    name: str
    description: str


class LinkNameTaken(Conflict):
    """Another tool of this agent has this name."""

    code = "link_name_taken"
    default_hint = "Choose another name, or rename or unlink the other tool."


def link_saved(link: AgentTool, settings: LinkSettings) -> AgentTool:
    """Check settings, put them on a link and save it.

    Raises InvalidInput with `problems`, LinkNameTaken, ToolUnavailable and PinRefused. The caller
    holds the agent's row, so that no other link takes the name meanwhile.
    """
    if "pinned_version" in settings:
        link.pinned_version = settings["pinned_version"]
    spec = _spec(link, is_new_pin="pinned_version" in settings)
    if "approval" in settings:
        link.approval = _approval(settings["approval"])
    if "config" in settings:
        link.config = checked_presets(spec, settings["config"])
    if "name" in settings:
        link.name_override = _name(settings["name"], link.tool.wire_name)
    if "description" in settings:
        link.description_override = _description(settings["description"])
    _require_free_name(link)
    link.save()
    return link


def checked_presets(spec: ToolSpec, presets: JsonValue) -> JsonObject:
    """Return presets that the tool takes; raise InvalidInput with a problem for each that is not.

    Only what is preset is checked: what else the tool needs comes with each call.
    """
    if not isinstance(presets, dict):
        raise _refused("config", 'Presets are a JSON object, such as {"language": "en"}.')
    kept: JsonObject = storable(presets)
    if (size := size_of(kept)) > LARGEST_PRESETS:
        raise _refused(
            "config", f"The presets have {size:,} bytes; at most {LARGEST_PRESETS:,} are kept."
        )
    known = spec.input_schema.get("properties", {})
    problems = []
    for name, value in kept.items():
        if name not in known and spec.input_schema.get("additionalProperties") is False:
            told = ", ".join(known) or "none"
            problems.append(f"{spec.own_name} has no argument “{name[:60]}”; it has: {told}.")
        else:
            problems += [
                f"{name[:60]}{problem.path.removeprefix('$')}: {problem.message}."
                for problem in property_problems(spec.input_schema, name, value)
            ]
    if problems:
        raise _refused("config", *problems)
    return kept


def _spec(link: AgentTool, *, is_new_pin: bool) -> ToolSpec:
    """Return the tool as this link calls it; a version that is pinned now must be one to pin."""
    if link.pinned_version is not None and is_new_pin:
        return pinned_spec(link.tool, link.pinned_version, user=link.agent.owner)
    return load_spec(link.tool, link.pinned_version)


def _approval(approval: str) -> str:
    if approval not in Approval.values:
        raise _refused("approval", f"Choose one of {', '.join(Approval.values)}.")
    return approval


def _name(name: str, own: str) -> str:
    name = name.strip()
    if not name or name == own:
        return ""
    if not _NAME.fullmatch(name):
        raise _refused("name", "A name has 1 to 64 letters, digits, “_” and “-”, and no others.")
    if name in META_TOOLS:
        raise _refused("name", f"“{name}” is what models call a part of Outfitter itself.")
    return name


def _description(description: str) -> str:
    text: str = storable(description).strip()
    if len(text) > LONGEST_DESCRIPTION:
        raise _refused(
            "description",
            f"The description has {len(text):,} signs; at most {LONGEST_DESCRIPTION:,} are told.",
        )
    return text


def _require_free_name(link: AgentTool) -> None:
    """Raise LinkNameTaken, naming both tools, when another link's tool goes by this name."""
    name = link.name_override or link.tool.wire_name
    others = AgentTool.objects.filter(agent=link.agent, tool__deleted_at=None)
    rows = others.exclude(tool=link.tool).values_list("name_override", "tool__wire_name")
    for override, own in rows.order_by("tool__wire_name"):
        if name == (override or own):
            raise LinkNameTaken(
                f"“{name}” cannot name {link.tool.wire_name}: this agent calls {own} by it.",
                problems=[{"path": "name", "message": f"This agent calls {own} so."}],
            )


def _refused(field: str, *messages: str) -> InvalidInput:
    return InvalidInput(
        " ".join(messages),
        "Correct the named setting.",
        problems=[{"path": field, "message": message} for message in messages],
    )
