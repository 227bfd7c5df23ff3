"""What programs can be told of, by name."""

from django.db import models

from registry.models.health import HealthState


class EventType(models.TextChoices):
    """A kind of event; docs/reference/events.md says what each carries."""

    RUN_SUCCEEDED = "run.succeeded", "A run succeeded"
    RUN_FAILED = "run.failed", "A run failed"
    RUN_CANCELLED = "run.cancelled", "A run was cancelled"
    RUN_WAITING = "run.waiting", "A run waits for a person"
    REVIEW_OPENED = "review.opened", "A change waits for review"
    REVIEW_DECIDED = "review.decided", "A change of yours was decided on"
    TOOL_BROKEN = "tool.broken", "A tool is broken"
    TOOL_HEALTHY = "tool.healthy", "A tool that was broken works again"


TEST_EVENT = "test"
"""The type of an event that is sent to try a subscription; nobody subscribes to it."""

BROKEN = (
    HealthState.IMPORT_BROKEN,
    HealthState.EXECUTION_BROKEN,
    HealthState.UPSTREAM_DOWN,
)
"""States of a tool that count as broken: whoever calls it gets nothing, with whatever key."""
