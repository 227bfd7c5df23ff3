"""What a change of tools does to the sequences that call them, and to those that call these."""

from collections.abc import Sequence
from uuid import UUID

from registry.impact.parts import Change, Dependent, Found
from registry.selectors import tools_visible_to
from sequences.callers import callers_of
from sequences.consequences import Consequences
from sequences.models import Run
from sequences.models.run import RunStatus

MOST_RUNS = 1_000
WAITING = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING, RunStatus.ATTENTION)


class SequenceDependents:
    """Implements `registry.impact.parts.Dependents` for the steps of sequences."""

    def found(self, change: Change, through: Sequence[Dependent]) -> Found:
        """Return the sequences that call a tool of the change, directly or through others."""
        callers = callers_of(change.asked)
        ids = {tool_id for tool_id, _ in callers.nodes}
        visible = set(
            tools_visible_to(change.reader).filter(pk__in=ids).values_list("pk", flat=True)
        )
        dependents = Consequences(change, callers, visible).all()
        touched = {item.id for item in dependents if not item.kept}
        return Found(
            dependents=dependents,
            more=callers.more,
            runs_waiting=_waiting(touched | change.asked),
        )


def _waiting(tool_ids: set[UUID]) -> int:
    """Count the runs that have not ended, up to a limit."""
    runs = Run.objects.filter(status__in=WAITING, tool_id__in=tool_ids)
    return runs.order_by()[:MOST_RUNS].count() if tool_ids else 0
