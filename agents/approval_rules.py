"""Write the rules of an agent, and look at what they catch."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from agents.access import as_linked
from agents.approval_patterns import catches, checked_pattern
from agents.approvals import names_in_rules, settings_of
from agents.models import Agent, AgentTool, ApprovalRule
from agents.models.approval_rule import RuleEffect
from agents.selectors import links_of
from config.lib.errors import InvalidInput, NotFound
from registry.annotations import Annotations
from registry.approval import Verdict
from registry.effects import annotations_now
from registry.errors import ToolUnavailable
from registry.loading import load_spec
from registry.specs import ToolSpec

MOST_RULES = 100
"""Rules that one agent may have; all of them are read at each of its calls."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A linked tool, what it is known to do, and what the settings say of calls to it now."""

    link: AgentTool
    spec: ToolSpec
    known: Annotations
    verdict: Verdict

    def is_caught_by(self, pattern: str) -> bool:
        """Say whether a pattern catches this tool."""
        names = names_in_rules(self.spec, self.link.name_override)
        return catches(pattern, names, lambda: self.known)


def rule_set(agent: Agent, pattern: object, effect: str) -> ApprovalRule:
    """Make a rule, or change what the rule of this pattern says.

    Raises PatternRefused, and InvalidInput for an unknown effect or too many rules.
    """
    checked = checked_pattern(pattern)
    if effect not in RuleEffect.values:
        raise InvalidInput(
            f"“{effect[:40]}” is nothing that a rule can say.",
            f"Choose one of {', '.join(RuleEffect.values)}.",
        )
    with transaction.atomic():
        Agent.objects.select_for_update().get(pk=agent.pk)
        rules = ApprovalRule.objects.filter(agent=agent)
        if rules.exclude(pattern=checked).count() >= MOST_RULES:
            raise InvalidInput(
                f"This agent has {MOST_RULES} rules, which is as many as it may have.",
                "Remove one, or catch several tools with one pattern.",
            )
        rule, _ = ApprovalRule.objects.update_or_create(
            agent=agent, pattern=checked, defaults={"effect": effect}
        )
    return rule


def rule_delete(agent: Agent, rule_id: UUID) -> str:
    """Take a rule away and return its pattern; raise NotFound when the agent has none such."""
    rule = ApprovalRule.objects.filter(agent=agent, pk=rule_id).first()
    if rule is None:
        raise NotFound(f"{agent.name} has no such rule.", "Reload the page to see its rules.")
    rule.delete()
    return rule.pattern


@transaction.atomic
def link_approvals_set(agent: Agent, approvals: Mapping[UUID, str]) -> None:
    """Set what links say, by the ids of their tools; links that are not named stay as they are."""
    known = AgentTool._meta.get_field("approval").choices or ()
    if bad := sorted(set(approvals.values()) - {str(value) for value, _ in known}):
        raise InvalidInput(
            f"“{bad[0][:40]}” is nothing that a link can say.", "Choose from the list."
        )
    for link in AgentTool.objects.filter(agent=agent, tool_id__in=approvals):
        if link.approval != approvals[link.tool_id]:
            link.approval = approvals[link.tool_id]
            link.save(update_fields=["approval"])


def linked_judged(agent: Agent) -> list[Judged]:
    """Return the linked tools with what is said of them; those that cannot be loaded are left out.

    What waits for approval inside a sequence is asked about when the sequence is called.
    """
    settings = settings_of(agent.pk)
    judged: list[Judged] = []
    if settings is None:
        return judged
    named = as_linked(settings)
    for link in links_of(agent):
        try:
            spec = named(load_spec(link.tool, link.pinned_version))
        except ToolUnavailable:
            continue
        verdict = settings.verdict(spec)
        judged.append(Judged(link=link, spec=spec, known=annotations_now(spec), verdict=verdict))
    return judged


def rules_of(agent: Agent) -> list[ApprovalRule]:
    """Return the rules of an agent, those that win first."""
    order = list(reversed(RuleEffect.values))
    rules = ApprovalRule.objects.filter(agent=agent).order_by("pattern")
    return sorted(rules, key=lambda rule: order.index(rule.effect))


def caught(pattern: str, judged: list[Judged]) -> list[str]:
    """Return the names of those tools that a pattern catches, as the agent's model knows them."""
    return [tool.spec.wire_name for tool in judged if tool.is_caught_by(pattern)]
