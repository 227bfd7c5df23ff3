"""Keep a tool's health in step with how its calls end."""

from django.utils import timezone

from config.lib.types import JsonObject
from registry.errors import ImportBroken, ToolError, ToolFailed
from registry.models import Invocation, Tool
from registry.models.invocation import Outcome
from registry.models.tool import Health
from registry.selectors import Standing
from registry.specs import ToolSpec

FAILURES_IN_A_ROW = 3
"""A tool may well fail on odd input; this many failures in a row call it broken."""


def record_success(spec: ToolSpec, standing: Standing | None) -> None:
    """Heal a tool that just answered; ask nothing when it was healthy before the call."""
    if standing and standing.is_healthy:
        return
    Tool.objects.filter(pk=spec.tool_id).exclude(
        execution_health=Health.HEALTHY, import_health=Health.HEALTHY
    ).update(
        import_health=Health.HEALTHY,
        execution_health=Health.HEALTHY,
        health_error=None,
        last_health_check_at=timezone.now(),
    )


def record_failure(spec: ToolSpec, error: ToolError) -> None:
    """Mark a tool as broken where its failure shows the tool itself to be at fault."""
    if isinstance(error, ImportBroken):
        _mark(spec, error.as_dict(), import_health=Health.BROKEN)
    elif error.counts_against_health or (isinstance(error, ToolFailed) and _keeps_failing(spec)):
        _mark(spec, error.as_dict(), execution_health=Health.BROKEN)


def _mark(spec: ToolSpec, error: JsonObject, **health: Health) -> None:
    Tool.objects.filter(pk=spec.tool_id).update(
        **health, health_error=error, last_health_check_at=timezone.now()
    )


def _keeps_failing(spec: ToolSpec) -> bool:
    last = Invocation.objects.filter(tool_id=spec.tool_id).order_by("-created_at", "pk")
    endings = list(last.values_list("outcome", "error_code")[:FAILURES_IN_A_ROW])
    return len(endings) == FAILURES_IN_A_ROW and all(
        ending == (Outcome.FAILED, ToolFailed.code) for ending in endings
    )
