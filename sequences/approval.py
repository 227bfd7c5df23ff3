"""Ask about the steps of a sequence before it starts: in the worker there is nobody to ask, and
what its first steps have done is not to be done again because a later one had to wait."""

from registry.approval import Effect, everything_allowed
from registry.context import CallContext
from registry.effects import scopes_within, tools_within
from registry.errors import ApprovalRequired, MissingCredential, PermissionRefused
from registry.specs import ToolSpec


def require_steps_permitted(spec: ToolSpec, context: CallContext) -> None:
    """Raise PermissionRefused, naming the scopes, when a step would lack one of its tool's.

    Inside a run everything was looked at when the outermost sequence started.
    """
    if context.depth or not (required := scopes_within(spec.definition)):
        return
    scopes = context.granted(context.scopes)
    missing = sorted(required.keys() - scopes) if scopes is not None else []
    if missing:
        told = ", ".join(f"{scope} (for {', '.join(required[scope])})" for scope in missing)
        raise PermissionRefused(
            f"{spec.wire_name} calls tools that require the scope {told}. No step was run.",
            "Grant the scope to the agent or the token, or take the step out.",
            missing_scopes=missing,
        )


def require_steps_approved(spec: ToolSpec, context: CallContext) -> None:
    """Raise ApprovalRequired, naming the tools, when steps call what the settings ask about.

    Who approves the sequence approves them; what is denied stays denied, at its step.
    """
    policy = context.policy
    if context.approved or policy is everything_allowed or policy(spec).approved:
        return
    verdicts = {tool.wire_name: policy(tool) for tool in tools_within(spec)}
    asked = {name: said.reason for name, said in verdicts.items() if said.effect == Effect.ASK}
    if asked:
        names = ", ".join(sorted(asked))
        why = " ".join(dict.fromkeys(reason for reason in asked.values() if reason))
        raise ApprovalRequired(
            f"A person has to approve {spec.wire_name} first: it calls {names}.",
            reason=f"It calls {names}. {why}".strip(),
            tools=sorted(asked),
        )


def require_steps_credentials(spec: ToolSpec, context: CallContext) -> None:
    """Raise MissingCredential for what steps lack, where a person can be asked for it."""
    if not context.call_id:
        return
    within = tools_within(spec)
    wanted = {v.name: tool.wire_name for tool in within for v in tool.env if v.required}
    values = context.env(list(wanted))
    if missing := sorted(name for name in wanted if not values.get(name)):
        needs = ", ".join(f"{name} (for {wanted[name]})" for name in missing)
        raise MissingCredential(
            f"{spec.wire_name} calls tools that need {needs}, which is not set. No step was run.",
            missing=missing,
        )
