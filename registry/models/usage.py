"""How tools were used: counts by hour and by day, summed up from the calls.

Every call but those of health checks leaves a row in `UsagePending`, written by a trigger in the
same transaction. `registry.usage.rolling` takes such rows away and adds them to the sums, in one
statement: a call is either waiting or summed up, never both and never neither, however late its
transaction commits.
"""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from registry.models.invocation import Caller
from registry.models.tool import Tool


class UsagePending(models.Model):
    """What matters of a call that is not in the sums yet; no references, for it lives a minute."""

    created_at = models.DateTimeField()
    tool_id = models.UUIDField()
    agent_id = models.UUIDField(null=True)
    user_id = models.IntegerField(null=True)
    caller = models.CharField(max_length=16)
    outcome = models.CharField(max_length=16)
    phase = models.CharField(max_length=16)
    error_code = models.CharField(max_length=64, blank=True)
    decision = models.CharField(max_length=16)
    duration_ms = models.PositiveIntegerField()
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    undeclared = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.tool_id} at {self.created_at}"


class Measures(models.Model):
    """What is counted of calls: `calls` = `succeeded` + `failed` + `refused`.

    `refused` calls were stopped at the door (permission, approval, limits); `faults` are those of
    the `failed` that speak against the tool itself, as the error's class decides. `durations` is a
    histogram over `registry.usage.histogram.BOUNDS` of the calls that ran, `total_ms` their sum.
    `cost` is in US dollars, null where no call had a price.
    """

    calls = models.PositiveIntegerField()
    succeeded = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    refused = models.PositiveIntegerField()
    faults = models.PositiveIntegerField()
    durations = ArrayField(models.PositiveIntegerField())
    total_ms = models.PositiveBigIntegerField()
    cost = models.DecimalField(max_digits=16, decimal_places=6, null=True)
    last_at = models.DateTimeField()

    class Meta:
        abstract = True


class ToolUsage(Measures):
    """The calls of one hour, of one tool by one agent (or none) through one kind of caller."""

    hour = models.DateTimeField()
    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="+", db_index=False)
    agent_id = models.UUIDField(null=True)
    caller = models.CharField(max_length=16, choices=Caller)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tool", "hour", "agent_id", "caller"],
                name="tool_usage_unique",
                nulls_distinct=False,
            )
        ]
        indexes = [
            models.Index(
                fields=["agent_id", "hour"],
                name="tool_usage_agent",
                condition=models.Q(agent_id__isnull=False),
            ),
            models.Index(fields=["hour"], name="tool_usage_hour"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} at {self.hour}"


class ToolUsageDay(Measures):
    """The same of one day (UTC), for periods of many days."""

    day = models.DateField()
    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="+", db_index=False)
    agent_id = models.UUIDField(null=True)
    caller = models.CharField(max_length=16, choices=Caller)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tool", "day", "agent_id", "caller"],
                name="tool_usage_day_unique",
                nulls_distinct=False,
            )
        ]
        indexes = [
            models.Index(
                fields=["agent_id", "day"],
                include=["tool", "calls", "succeeded", "failed", "faults", "total_ms"],
                name="tool_usage_day_of_agent",
                condition=models.Q(agent_id__isnull=False),
            ),
            models.Index(
                fields=["day"],
                include=["tool", "calls", "succeeded", "failed", "faults", "total_ms"],
                name="tool_usage_day_ranking",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} on {self.day}"


class PersonUsageDay(Measures):
    """The calls of a tool by one person (or nobody in particular) on one day."""

    day = models.DateField()
    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tool", "day", "user"], name="person_usage_unique", nulls_distinct=False
            )
        ]
        indexes = [models.Index(fields=["user", "tool", "day"], name="person_usage_user")]

    def __str__(self) -> str:
        return f"{self.tool_id} on {self.day}"


class SiteUsage(Measures):
    """The calls of all tools in one hour."""

    hour = models.DateTimeField(unique=True)

    def __str__(self) -> str:
        return f"{self.hour}"


class ErrorUsage(models.Model):
    """How often calls ended with one error in one hour; `tool` empty: of all tools together."""

    hour = models.DateTimeField()
    tool = models.ForeignKey(
        Tool, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    agent_id = models.UUIDField(null=True)
    code = models.CharField(max_length=64)
    calls = models.PositiveIntegerField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tool", "hour", "agent_id", "code"],
                name="error_usage_unique",
                nulls_distinct=False,
            )
        ]
        indexes = [
            models.Index(
                fields=["agent_id", "hour"],
                name="error_usage_agent",
                condition=models.Q(agent_id__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.code} of {self.tool_id} at {self.hour}"
