"""How a tool fares: what is stored of it, and the one state that is shown and asked for."""

from typing import ClassVar

from django.db import models
from django.db.models import Q


class Health(models.TextChoices):
    """Whether a tool loads."""

    HEALTHY = "healthy", "Healthy"
    BROKEN = "broken", "Broken"
    UNKNOWN = "unknown", "Unknown"


class ExecutionHealth(models.TextChoices):
    """Whether a tool answers when it is called."""

    HEALTHY = "healthy", "Healthy"
    BROKEN = "broken", "Broken"
    NEEDS_SIGN_IN = "needs_sign_in", "Needs sign-in"
    NEEDS_KEY = "needs_key", "Needs a key"
    UPSTREAM_DOWN = "upstream_down", "Upstream down"
    UNKNOWN = "unknown", "Unknown"


class HealthState(models.TextChoices):
    """The one state that `import_health` and `execution_health` come to."""

    IMPORT_BROKEN = "import_broken", "Import broken"
    EXECUTION_BROKEN = "execution_broken", "Execution broken"
    NEEDS_SIGN_IN = "needs_sign_in", "Needs sign-in"
    NEEDS_KEY = "needs_key", "Needs a key"
    UPSTREAM_DOWN = "upstream_down", "Upstream down"
    HEALTHY = "healthy", "Healthy"
    UNKNOWN = "unknown", "Not tried yet"


UNWELL = "unwell"
"""For filters: every state in which somebody has to look after the tool."""

BROKEN_STATES = (HealthState.IMPORT_BROKEN, HealthState.EXECUTION_BROKEN)

_LOADS = ~Q(import_health=Health.BROKEN)
_STATE_OF_EXECUTION = {
    ExecutionHealth.BROKEN: HealthState.EXECUTION_BROKEN,
    ExecutionHealth.NEEDS_SIGN_IN: HealthState.NEEDS_SIGN_IN,
    ExecutionHealth.NEEDS_KEY: HealthState.NEEDS_KEY,
    ExecutionHealth.UPSTREAM_DOWN: HealthState.UPSTREAM_DOWN,
}
_EXECUTION_OF_STATE = {state: stored.value for stored, state in _STATE_OF_EXECUTION.items()}


def state_of(import_health: str, execution_health: str) -> HealthState:
    """Return the state of a tool: that it loads comes before that it answers."""
    if import_health == Health.BROKEN:
        return HealthState.IMPORT_BROKEN
    state = _STATE_OF_EXECUTION.get(ExecutionHealth(execution_health))
    if state is not None:
        return state
    healthy = Health.HEALTHY in (import_health, execution_health)
    return HealthState.HEALTHY if healthy else HealthState.UNKNOWN


FINE = _LOADS & Q(execution_health__in=(ExecutionHealth.HEALTHY, ExecutionHealth.UNKNOWN))
"""The condition that nobody has to look after a tool; an index has those that are not so."""


def in_state(state: str) -> Q:
    """Return the condition that a tool is in a state; the counterpart of `state_of`.

    `broken` stands for both broken states, `unwell` for all but the last two. No tool is in a
    state that does not exist.
    """
    seen_well = Q(import_health=Health.HEALTHY) | Q(execution_health=ExecutionHealth.HEALTHY)
    match state:
        case "unwell":
            return ~FINE
        case Health.BROKEN:
            return in_state(HealthState.IMPORT_BROKEN) | in_state(HealthState.EXECUTION_BROKEN)
        case HealthState.IMPORT_BROKEN:
            return Q(import_health=Health.BROKEN)
        case HealthState.HEALTHY:
            return FINE & seen_well
        case HealthState.UNKNOWN:
            return FINE & ~seen_well
        case _ if state in _EXECUTION_OF_STATE:
            return _LOADS & Q(execution_health=_EXECUTION_OF_STATE[HealthState(state)])
    return Q(pk=None)


class Fares(models.Model):
    """What a tool's row keeps of how it fares. `health_error` is the error that set it."""

    import_health = models.CharField(max_length=16, choices=Health, default=Health.UNKNOWN)
    execution_health = models.CharField(
        max_length=16, choices=ExecutionHealth, default=ExecutionHealth.UNKNOWN
    )
    health_error = models.JSONField(null=True, blank=True)
    last_health_check_at = models.DateTimeField(null=True, blank=True)

    CONSTRAINTS: ClassVar[list[models.BaseConstraint]] = [
        models.CheckConstraint(
            condition=Q(import_health__in=Health.values), name="tool_import_health_known"
        ),
        models.CheckConstraint(
            condition=Q(execution_health__in=ExecutionHealth.values),
            name="tool_execution_health_known",
        ),
    ]

    class Meta:
        abstract = True

    @property
    def health_state(self) -> HealthState:
        """Return the state that the page, the API and the search go by."""
        return state_of(self.import_health, self.execution_health)
