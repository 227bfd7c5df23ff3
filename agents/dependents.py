"""What a change of tools does to the agents that carry them."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from django.db.models import Q
from django.urls import reverse

from agents.models import AgentTool
from agents.models.agent_tool import Approval
from agents.selectors import agents_visible_to
from config.lib.types import JsonSchema
from registry.history import governs_tools
from registry.impact.parts import MOST_LISTED, Change, Dependent, Found, Kind, Trouble, Use
from registry.schemas import property_problems

Through = Mapping[tuple[UUID, int | None], Dependent]
"""Sequences that are touched: by tool and version, and by tool and None for the live version."""


class AgentDependents:
    """Implements `registry.impact.parts.Dependents` for the links of agents."""

    def found(self, change: Change, through: Sequence[Dependent]) -> Found:
        """Return the agents that carry a tool of the change, or a sequence that it touches."""
        touched = _touched(through)
        wanted = Q(tool_id__in=change.asked)
        for (tool_id, version), item in touched.items():
            wanted |= Q(tool_id=tool_id, pinned_version=version)
            if item.state == "live":
                wanted |= Q(tool_id=tool_id, pinned_version=None)
        links = list(
            AgentTool.objects.filter(wanted)
            .select_related("agent__owner", "tool")
            .order_by("agent__name", "agent_id", "tool__wire_name", "pk")[: MOST_LISTED + 1]
        )
        by_agent: dict[UUID, list[AgentTool]] = {}
        for link in links[:MOST_LISTED]:
            by_agent.setdefault(link.agent_id, []).append(link)
        visible = set(
            agents_visible_to(change.reader).filter(pk__in=by_agent).values_list("pk", flat=True)
        )
        dependents = tuple(
            _dependent(change, touched, own, is_visible=agent_id in visible)
            for agent_id, own in by_agent.items()
        )
        return Found(dependents=dependents, more=len(links) > MOST_LISTED)


def _touched(through: Sequence[Dependent]) -> Through:
    """Return the sequences that may be linked; what only pins keep is not touched."""
    touched: dict[tuple[UUID, int | None], Dependent] = {}
    for item in through:
        if item.kind == Kind.SEQUENCE and not item.kept and item.state != "staged":
            touched[item.id, item.version] = item
    return touched


def _dependent(
    change: Change, touched: Through, links: list[AgentTool], *, is_visible: bool
) -> Dependent:
    agent = links[0].agent
    uses: list[Use] = []
    troubles: list[Trouble] = []
    path: tuple[str, ...] = ()
    for link in links:
        inner = _inner(touched, link)
        denied = link.approval == Approval.DENY
        goes = change.takes_away(link.tool_id)
        direct = link.tool_id in change.asked
        kept = denied or (direct and inner is None and link.pinned_version is not None and not goes)
        uses.append(
            Use(
                tool_id=link.tool_id,
                tool=link.tool.wire_name,
                how=_how(link),
                pinned=link.pinned_version,
                kept=kept,
            )
        )
        if denied or kept:
            continue
        if inner is not None and not direct:
            path = path or (*inner.path, inner.label)
            troubles += _inner_troubles(link, inner)
        elif goes:
            troubles.append(_gone(change, link))
        else:
            troubles += _link_troubles(change, link)
    return Dependent(
        kind=Kind.AGENT,
        id=agent.pk,
        name=agent.name,
        owner=agent.owner.username,
        url=reverse("agents:agent_detail", args=[agent.slug]) if is_visible else "",
        seen=is_visible or governs_tools(change.reader),
        uses=tuple(uses),
        path=path,
        troubles=tuple(troubles),
    )


def _inner(touched: Through, link: AgentTool) -> Dependent | None:
    """Return the touched sequence that a link leads to, at the version it leads to."""
    return touched.get((link.tool_id, link.pinned_version or link.tool.version))


def _how(link: AgentTool) -> str:
    if link.approval == Approval.DENY:
        return "denied"
    return f"linked, pinned to v{link.pinned_version}" if link.pinned_version else "linked"


def _gone(change: Change, link: AgentTool) -> Trouble:
    successor = change.tools[link.tool_id].successor
    instead = f"Link “{successor.wire_name}” in its place" if successor else "Link another tool"
    return Trouble(
        where=f"its link of {link.tool.wire_name}",
        message=f"It could no longer call “{link.tool.wire_name}”. {instead}, or unlink it.",
    )


def _inner_troubles(link: AgentTool, inner: Dependent) -> Iterator[Trouble]:
    first = next((trouble for trouble in inner.troubles if trouble.breaks), None)
    if first is not None:
        place = f" ({first.where})" if inner.seen else ""
        yield Trouble(
            where=f"its link of {link.tool.wire_name}",
            message=f"The sequence “{link.tool.title}” would break{place}. "
            f"{'Mend that first' if inner.seen else 'Ask its owner, or unlink it'}.",
        )


def _link_troubles(change: Change, link: AgentTool) -> Iterator[Trouble]:
    """Check what the link always sends, and the agent's scopes, against what is proposed."""
    after = change.proposed(link.tool_id)
    if after is None:
        return
    name = link.tool.wire_name
    missing = sorted(
        set(after.get("required_scopes", ()))
        - set(link.tool.required_scopes)
        - set(link.agent.scopes)
    )
    if missing:
        yield Trouble(
            where=f"its link of {name}",
            message=f"“{name}” would require the scope {', '.join(missing)}, which the agent is "
            "not granted. Grant it in the agent's settings.",
        )
    before = dict(_preset_problems(link.tool.input_schema, link))
    for field, message in _preset_problems(after["input_schema"], link):
        if before.get(field) != message:
            yield Trouble(where=f"its preset “{field}” of {name}", message=message, field=field)


def _preset_problems(schema: JsonSchema, link: AgentTool) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    for name, value in link.config.items():
        if closed and name not in properties:
            yield (
                name,
                f"“{link.tool.wire_name}” would have no input “{name}”. Take the preset out.",
            )
        for found in property_problems(schema, name, value)[:1]:
            place = found.path.removeprefix("$")
            yield (
                name,
                f"The preset value of “{name}{place}” {found.message}. Change it or take it out.",
            )
