"""Whether a call may be made, needs a person's approval, or is denied."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from registry.specs import ToolSpec


class Effect(StrEnum):
    """What an agent's settings say of a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the settings say of a tool, and which of them, in words for a person.

    `approved`: a person approved it for good, with all that it calls.
    """

    effect: Effect
    reason: str = ""
    approved: bool = False


Policy = Callable[[ToolSpec], Verdict]
"""Says what becomes of calls to a tool; read anew at every call."""


def everything_allowed(spec: ToolSpec) -> Verdict:
    """Allow every call."""
    return Verdict(effect=Effect.ALLOW)
