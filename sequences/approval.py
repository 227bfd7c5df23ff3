"""Ask about the steps of a sequence before it starts: in the worker there is nobody to ask."""

from registry.approval import Effect, everything_allowed
from registry.context import CallContext
from registry.effects import tools_within
from registry.errors import ApprovalRequired
from registry.specs import ToolSpec


def require_steps_approved(spec: ToolSpec, context: CallContext) -> None:
    """Raise ApprovalRequired, naming the tools, when steps call what the settings ask about.

    Who approves the sequence approves them; what is denied stays denied, at its step.
    """
    if context.approved or context.policy is everything_allowed:
        return
    verdicts = {tool.wire_name: context.policy(tool) for tool in tools_within(spec)}
    asked = {name: said.reason for name, said in verdicts.items() if said.effect == Effect.ASK}
    if asked:
        names = ", ".join(sorted(asked))
        raise ApprovalRequired(
            f"A person has to approve {spec.wire_name} first: it calls {names}.",
            reason=" ".join(dict.fromkeys(asked.values())),
            tools=sorted(asked),
        )
