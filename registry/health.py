"""Keep a tool's health in step with how its calls end.

The class of an error decides (`ToolError.fault`), never its words. What is stored is true for
everybody: that one caller has no key, or a wrong one, is told to that caller and not held against
the tool. What a tool or a service said of a call may repeat what the call was given, so it stays
with the call, and the tool keeps only what kind of failure it was.
"""

from datetime import timedelta

from django.db.models import F, Q, Value
from django.db.models.functions import Least
from django.utils import timezone

from registry.errors import ExportDrift, Fault, ToolError, ToolFailed, UpstreamAuth
from registry.models import CheckSchedule, Invocation, Tool
from registry.models.invocation import Outcome
from registry.models.tool import ExecutionHealth, Health
from registry.specs import ToolSpec
from registry.standing import Standing

FAILURES_IN_A_ROW = 3
"""A tool may well fail on odd input; this many failures in a row call it broken."""

PEOPLE_WHO_AGREE = 2
"""One refused key may be a wrong key; refused keys of this many people are the tool's trouble."""

CHECK_AGAIN_IN = timedelta(minutes=15)
"""How soon a tool that has just failed is looked at, at the latest."""

_STORED = {
    Fault.EXECUTION: ExecutionHealth.BROKEN,
    Fault.REPEATED: ExecutionHealth.BROKEN,
    Fault.NEEDS_KEY: ExecutionHealth.NEEDS_KEY,
    Fault.SIGN_IN: ExecutionHealth.NEEDS_SIGN_IN,
    Fault.UPSTREAM: ExecutionHealth.UPSTREAM_DOWN,
}

_WORDS = {
    Fault.EXECUTION: "It could not answer a call. Whoever made the call reads why among theirs.",
    Fault.REPEATED: "Its last three calls failed. Whoever made them reads why among theirs.",
    Fault.SIGN_IN: "The service behind it refused the keys that it was called with.",
    Fault.UPSTREAM: "The service behind it did not answer as it should.",
}
"""What is told to everybody of a failed call."""

_CRASHES = {
    "tool_crashed": "Its process ended before it answered.",
    "tool_timeout": "It did not answer in time.",
    "output_rejected": "It answered what cannot be used.",
}
"""The same, for failures that can be told more closely."""


def record_success(spec: ToolSpec, standing: Standing | None) -> None:
    """Heal a tool that just answered; ask nothing when it was healthy before the call."""
    if standing and standing.is_healthy:
        return
    Tool.objects.filter(pk=spec.tool_id).exclude(
        execution_health=Health.HEALTHY, import_health=Health.HEALTHY
    ).update(
        import_health=Health.HEALTHY,
        execution_health=ExecutionHealth.HEALTHY,
        health_error=None,
        last_health_check_at=timezone.now(),
    )


def record_failure(spec: ToolSpec, error: ToolError) -> None:
    """Store what a failure says of the tool itself, if anything."""
    match error.fault:
        case Fault.NONE:
            return
        case Fault.IMPORT:
            _mark(spec, error, import_health=Health.BROKEN)
        case fault if _is_the_tools(fault, spec):
            _mark(spec, error, in_words=_WORDS.get(fault, ""), execution_health=_STORED[fault])


def _is_the_tools(fault: Fault, spec: ToolSpec) -> bool:
    if fault is Fault.REPEATED:
        return _ended_alike(spec, ToolFailed.code)
    if fault is Fault.SIGN_IN:  # without a variable of its own it has no key that could be wrong
        return not spec.env or _ended_alike(spec, UpstreamAuth.code, people=PEOPLE_WHO_AGREE)
    return True


def _mark(spec: ToolSpec, error: ToolError, *, in_words: str = "", **health: str) -> None:
    told = error.as_dict()
    if in_words:
        extra = {name: told["extra"][name] for name in ("tool", "phase")}
        told |= {"message": _CRASHES.get(error.code, in_words), "extra": extra}
        told["hint"] = type(error).default_hint
    # A drift is the cause of the missing export that a call finds, and says how to mend it.
    drifted = Q(health_error__code=ExportDrift.code, import_health=Health.BROKEN)
    now = timezone.now()
    marked = (
        Tool.objects.filter(pk=spec.tool_id)
        .exclude(drifted & Q(health_error__isnull=False))
        .update(**health, health_error=told, last_health_check_at=now)
    )
    if marked:
        CheckSchedule.objects.filter(package__tools=spec.tool_id).update(
            next_at=Least(F("next_at"), Value(now + CHECK_AGAIN_IN))
        )


def _ended_alike(spec: ToolSpec, code: str, *, people: int = 1) -> bool:
    """Tell whether the latest calls, of so many people, all ended with this error."""
    last = Invocation.objects.filter(tool_id=spec.tool_id).order_by("-created_at", "pk")
    endings = list(last.values_list("outcome", "error_code", "user_id")[:FAILURES_IN_A_ROW])
    return (
        len(endings) == FAILURES_IN_A_ROW
        and all(ending[:2] == (Outcome.FAILED, code) for ending in endings)
        and len({ending[2] for ending in endings}) >= people
    )
