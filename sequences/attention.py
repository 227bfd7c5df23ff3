"""Let a person say what became of a step that is in doubt."""

from typing import Literal

from django.contrib.auth.models import User
from django.db import transaction

from config.lib.errors import Conflict, InvalidInput
from config.lib.jsontext import size_of, storable
from config.lib.types import JsonValue
from registry.execution import LARGEST_OUTPUT
from registry.loading import load_spec
from registry.schemas import value_problems
from sequences.models import RunStep
from sequences.models.run import RunStatus
from sequences.models.run_step import StepStatus
from sequences.states import run_lock, run_wake

Action = Literal["retry", "done", "skip"]


@transaction.atomic
def step_resolve(step: RunStep, *, user: User, action: Action, output: JsonValue = None) -> None:
    """Retry a step in doubt, mark it as done with its `output`, or skip it.

    Once no step of its run is in doubt any more the run goes on. Raises Conflict when the step is
    not in doubt (any more), InvalidInput when `output` is not what the tool's schema allows.
    """
    run_lock(step.run)
    row = RunStep.objects.select_related("tool", "run").get(pk=step.pk)
    if row.status != StepStatus.IN_DOUBT or row.run.status != RunStatus.ATTENTION:
        raise Conflict("This step is not in doubt.", "Load the page again to see how it stands.")
    name = user.get_full_name() or user.get_username()
    row.error, row.lease = None, None
    match action:
        case "retry":
            row.status, row.attempts = StepStatus.RUNNING, row.attempts + 1
            row.message = f"{name} had it tried again."
        case "done":
            row.status, row.output = StepStatus.SUCCEEDED, _checked(row, output)
            row.message = f"{name} marked it as done."
        case "skip":
            row.status, row.output = StepStatus.SKIPPED, None
            row.message = f"{name} skipped it."
    row.save(update_fields=["status", "output", "error", "message", "attempts", "lease"])
    if not row.run.steps.filter(status=StepStatus.IN_DOUBT).exists():
        run_wake(row.run)
    step.refresh_from_db()


def _checked(row: RunStep, output: JsonValue) -> JsonValue:
    """Return the output that a person wrote, as it is kept."""
    output = storable(output)
    if (size := size_of(output)) > LARGEST_OUTPUT:
        raise InvalidInput(
            f"The output has {size:,} bytes; at most {LARGEST_OUTPUT:,} are accepted.",
            "Give only what later steps use.",
        )
    schema = load_spec(row.tool, row.tool_version).output_schema if row.tool else None
    problems = value_problems(schema, output) if schema else []
    if problems:
        told = "; ".join(f"{problem.path} {problem.message}" for problem in problems[:5])
        raise InvalidInput(
            f"The output does not fit the tool's schema: {told}.",
            "Give it as the tool would have given it.",
            problems=[problem._asdict() for problem in problems],
        )
    return output
