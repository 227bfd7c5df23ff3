"""The page on which an owner says which tools an agent may call, after asking or not at all."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents import approval_rules, selectors, services
from agents.approval_patterns import ANNOTATIONS, PatternRefused, checked_pattern
from agents.forms import ids_of
from agents.models import Agent
from agents.models.agent import ApprovalDefault
from agents.models.agent_tool import Approval
from agents.models.approval_rule import RuleEffect
from config.lib.errors import InvalidInput
from config.lib.http import SignedInRequest


@login_required
@require_http_methods(["GET", "POST"])
def agent_approvals(request: SignedInRequest, slug: str) -> HttpResponse:
    """Show what the settings say of each linked tool; a POST sets what holds for all others."""
    agent = selectors.agent_owned_by(request.user, slug)
    if request.method == "POST":
        services.agent_update(agent, approval_default=request.POST.get("approval_default", ""))
        messages.success(request, f"{agent.get_approval_default_display()}: saved.")
        return redirect("agents:agent_approvals", slug)
    return render(request, "agents/approvals.html", _shown(agent))


@login_required
@require_POST
def rule_create(request: SignedInRequest, slug: str) -> HttpResponse:
    """Add a rule; a pattern that is none is shown again with what is wrong with it."""
    agent = selectors.agent_owned_by(request.user, slug)
    pattern, effect = request.POST.get("pattern", ""), request.POST.get("effect", "")
    try:
        rule = approval_rules.rule_set(agent, pattern, effect)
    except InvalidInput as error:
        shown = _shown(agent) | {"pattern": pattern, "effect": effect, "refused": error}
        return render(request, "agents/approvals.html", shown, status=400)
    messages.success(request, f"{rule.get_effect_display()}: {rule.pattern}.")
    return redirect("agents:agent_approvals", slug)


@login_required
@require_POST
def rule_delete(request: SignedInRequest, slug: str, rule_id: UUID) -> HttpResponse:
    """Take a rule away."""
    agent = selectors.agent_owned_by(request.user, slug)
    pattern = approval_rules.rule_delete(agent, rule_id)
    messages.success(request, f"The rule for {pattern} is gone.")
    return redirect("agents:agent_approvals", slug)


@login_required
@require_POST
def link_approvals(request: SignedInRequest, slug: str) -> HttpResponse:
    """Set what the links say of their tools, `approval-<tool id>` each."""
    agent = selectors.agent_owned_by(request.user, slug)
    sent = {
        name.removeprefix("approval-"): str(value)
        for name, value in request.POST.items()
        if name.startswith("approval-")
    }
    approvals = dict(zip(ids_of(list(sent)), sent.values(), strict=True))
    approval_rules.link_approvals_set(agent, approvals)
    messages.success(request, "What the links say is saved.")
    return redirect("agents:agent_approvals", slug)


@login_required
@require_safe
def rule_preview(request: SignedInRequest, slug: str) -> HttpResponse:
    """Say which linked tools a pattern would catch, while it is typed."""
    agent = selectors.agent_owned_by(request.user, slug)
    context: dict[str, object] = {"agent": agent}
    text = request.GET.get("pattern", "")
    if text.strip():
        try:
            pattern = checked_pattern(text)
        except PatternRefused as error:
            context["problem"] = error
        else:
            context["pattern"] = pattern
            context["caught"] = approval_rules.caught(pattern, approval_rules.linked_judged(agent))
    return render(request, "agents/_rule_preview.html", context)


def _shown(agent: Agent) -> dict[str, object]:
    judged = approval_rules.linked_judged(agent)
    return {
        "agent": agent,
        "judged": judged,
        "rules": [
            (rule, approval_rules.caught(rule.pattern, judged))
            for rule in approval_rules.rules_of(agent)
        ],
        "defaults": ApprovalDefault.choices,
        "approvals": Approval.choices,
        "effects": RuleEffect.choices,
        "annotations": [(name, told) for name, (told, _) in ANNOTATIONS.items()],
        "effect": RuleEffect.ASK.value,
    }
