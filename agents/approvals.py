"""What an agent's settings say of calls: its links, its rules and its default."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from agents.approval_patterns import catches, catches_because
from agents.models import Agent, AgentTool
from agents.models.agent import ApprovalDefault
from agents.models.agent_tool import Approval
from registry.annotations import Annotations
from registry.approval import Effect, Policy, Verdict
from registry.effects import annotations_now
from registry.specs import ToolSpec

DENY_WINS = (Effect.DENY, Effect.ASK, Effect.ALLOW)
"""The order in which settings that differ are followed."""

_DEFAULTS = {
    ApprovalDefault.ASK_WRITES: "This agent asks before a tool that does more than read.",
    ApprovalDefault.ASK: "This agent asks before every tool.",
}
_LINKED = {
    Effect.DENY: "This agent's link denies {name}.",
    Effect.ASK: "This agent's link asks before {name}.",
    Effect.ALLOW: "This agent's link allows {name}.",
}
_RULED = {
    Effect.DENY: "The rule “deny {pattern}” of this agent catches {name}{because}.",
    Effect.ASK: "The rule “ask before {pattern}” of this agent catches {name}{because}.",
    Effect.ALLOW: "The rule “allow {pattern}” of this agent catches {name}{because}.",
}


@dataclass(frozen=True, kw_only=True)
class LinkSays:
    """What one link says of its tool; `pinned` is the version it keeps to, None the current."""

    approval: str = Approval.RULES
    name: str = ""
    description: str = ""
    pinned: int | None = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that decides on an agent's calls, as it was read. `rules` are `(effect, pattern)`."""

    default: str
    rules: tuple[tuple[str, str], ...]
    links: Mapping[UUID, LinkSays]

    @property
    def has_denials(self) -> bool:
        """Say whether some rule denies."""
        return any(effect == Effect.DENY for effect, _ in self.rules)

    def denies_link(self, tool_id: UUID) -> bool:
        """Say whether the link of a tool denies it, whatever the rules say."""
        return self.links.get(tool_id, LinkSays()).approval == Approval.DENY

    def verdict(self, spec: ToolSpec) -> Verdict:
        """Say what becomes of calls to a tool: deny wins over ask, ask over allow."""
        case = _Case(spec, self.links.get(spec.tool_id, LinkSays()))
        for effect in DENY_WINS:
            if case.link.approval == effect:
                return Verdict(effect=effect, reason=_LINKED[effect].format(name=spec.wire_name))
            for pattern in (pattern for said, pattern in self.rules if said == effect):
                if case.is_caught_by(pattern):
                    reason = _RULED[effect].format(
                        pattern=pattern, name=spec.wire_name, because=catches_because(pattern)
                    )
                    return Verdict(effect=effect, reason=reason)
        if self.default == ApprovalDefault.ASK or (
            self.default == ApprovalDefault.ASK_WRITES and not case.known.read_only
        ):
            return Verdict(effect=Effect.ASK, reason=_DEFAULTS[ApprovalDefault(self.default)])
        return Verdict(effect=Effect.ALLOW)


class _Case:
    """One tool under judgement; what it does is looked up only when a rule asks for it."""

    def __init__(self, spec: ToolSpec, link: LinkSays) -> None:
        self.spec = spec
        self.link = link

    @cached_property
    def known(self) -> Annotations:
        return annotations_now(self.spec)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return names_in_rules(self.spec, self.link.name)

    def is_caught_by(self, pattern: str) -> bool:
        return catches(pattern, self.names, lambda: self.known)


def names_in_rules(spec: ToolSpec, override: str = "") -> tuple[str, ...]:
    """Return what a rule may call a tool by: its own name, the link's, and its package's path."""
    names = (spec.own_name, override, package_path(spec))
    return tuple(name for name in names if name)


def package_path(spec: ToolSpec) -> str:
    """Return `<ecosystem>:<package>/<tool>`, or nothing for a tool that somebody made here."""
    package = spec.package
    return f"{package['ecosystem']}:{package['name']}/{spec.export_name}" if package else ""


def settings_of(agent_id: UUID, tool_ids: Collection[UUID] | None = None) -> Settings | None:
    """Read an agent's settings, of its links those of `tool_ids`; None when the agent is gone."""
    said = list(
        Agent.objects.filter(pk=agent_id)
        .order_by("approval_rules__created_at", "approval_rules__pk")
        .values_list("approval_default", "approval_rules__effect", "approval_rules__pattern")
    )
    if not said:
        return None
    links = AgentTool.objects.filter(agent=agent_id)
    if tool_ids is not None:
        links = links.filter(tool_id__in=tool_ids)
    read = links.values_list(
        "tool_id", "approval", "name_override", "description_override", "pinned_version"
    )
    return Settings(
        default=said[0][0],
        rules=tuple((effect, pattern) for _, effect, pattern in said if effect is not None),
        links={
            tool_id: LinkSays(approval=approval, name=name, description=told, pinned=pinned)
            for tool_id, approval, name, told, pinned in read
        },
    )


def policy_of(agent: Agent) -> Policy:
    """Return the policy of an agent, which reads its settings at every call."""
    agent_id = agent.pk

    def policy(spec: ToolSpec) -> Verdict:
        return verdict_of(settings_of(agent_id, [spec.tool_id]), spec)

    return policy


def verdict_of(settings: Settings | None, spec: ToolSpec) -> Verdict:
    """Say what becomes of calls to a tool; without settings the agent is gone, and may nothing."""
    if settings is None:
        return Verdict(effect=Effect.DENY, reason="The agent of this call was deleted.")
    return settings.verdict(spec)
