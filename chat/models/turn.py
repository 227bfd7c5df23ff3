"""One user message and everything up to the final answer."""

import uuid

import pgtrigger
from django.db import models

from chat.models.conversation import Conversation


class TurnStatus(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    STOPPED = "stopped", "Stopped"
    WAITING = "waiting", "Waiting for an answer"


OPEN = (TurnStatus.QUEUED, TurnStatus.RUNNING, TurnStatus.WAITING)
"""The agent is not done: it is at work, or it waits for a person."""

AT_WORK = (TurnStatus.QUEUED, TurnStatus.RUNNING)
"""A process has it, or is about to take it."""


_COUNTED = """
    IF NEW.finished_at IS NULL THEN
        UPDATE agents_modelusage SET
            turns = turns - 1,
            completed = completed - (OLD.status = 'completed')::int,
            failed = failed - (OLD.status = 'failed')::int,
            stopped = stopped - (OLD.status = 'stopped')::int,
            input_tokens = input_tokens - coalesce((OLD.usage ->> 'input_tokens')::bigint, 0),
            output_tokens = output_tokens - coalesce((OLD.usage ->> 'output_tokens')::bigint, 0),
            cached_tokens = cached_tokens - coalesce((OLD.usage ->> 'cached_tokens')::bigint, 0),
            cost = coalesce(cost - OLD.cost, cost),
            unpriced = unpriced - (OLD.cost IS NULL AND OLD.usage ? 'input_tokens')::int
        WHERE hour = date_trunc('hour', OLD.finished_at, 'UTC') AND model = OLD.model
            AND (agent_id IS NULL OR agent_id = (
                SELECT agent_id FROM chat_conversation WHERE id = OLD.conversation_id));
        RETURN NULL;
    END IF;
    INSERT INTO agents_modelusage (hour, agent_id, model, turns, completed, failed, stopped,
        input_tokens, output_tokens, cached_tokens, cost, unpriced)
    SELECT date_trunc('hour', NEW.finished_at, 'UTC'), told.agent_id, NEW.model, 1,
        (NEW.status = 'completed')::int, (NEW.status = 'failed')::int,
        (NEW.status = 'stopped')::int,
        coalesce((NEW.usage ->> 'input_tokens')::bigint, 0),
        coalesce((NEW.usage ->> 'output_tokens')::bigint, 0),
        coalesce((NEW.usage ->> 'cached_tokens')::bigint, 0),
        NEW.cost, (NEW.cost IS NULL AND NEW.usage ? 'input_tokens')::int
    FROM (
        SELECT agent_id, 1 AS place FROM chat_conversation WHERE id = NEW.conversation_id
        UNION ALL SELECT NULL, 2 ORDER BY place
    ) AS told
    ON CONFLICT (agent_id, hour, model) DO UPDATE SET
        turns = agents_modelusage.turns + 1,
        completed = agents_modelusage.completed + excluded.completed,
        failed = agents_modelusage.failed + excluded.failed,
        stopped = agents_modelusage.stopped + excluded.stopped,
        input_tokens = agents_modelusage.input_tokens + excluded.input_tokens,
        output_tokens = agents_modelusage.output_tokens + excluded.output_tokens,
        cached_tokens = agents_modelusage.cached_tokens + excluded.cached_tokens,
        cost = coalesce(
            agents_modelusage.cost + excluded.cost, agents_modelusage.cost, excluded.cost),
        unpriced = agents_modelusage.unpriced + excluded.unpriced;
    RETURN NULL;
"""
"""Adds a turn that has just ended to what its agent, and all agents together, have used; takes it
out again where it is taken up once more.

Always in this order, the row that all share last: it is locked for a moment only.
"""


class Turn(models.Model):
    """The state of a turn; a process claims it by `status` and tells by `heartbeat_at` it lives."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField(
        help_text="Counts the turns of a conversation as they come."
    )
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="branches",
        help_text="The turn that it follows; several that follow the same are branches.",
    )
    status = models.CharField(max_length=16, choices=TurnStatus, default=TurnStatus.QUEUED)
    model = models.CharField(max_length=120)
    found = models.JSONField(
        null=True, blank=True, help_text="What the search found: {query, tools: [...]}."
    )
    usage = models.JSONField(default=dict, blank=True)
    cost = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        help_text="US dollars for the model; empty: not known.",
    )
    error = models.JSONField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "number"], name="turn_unique"),
            models.UniqueConstraint(
                fields=["conversation"],
                name="turn_one_open",
                condition=models.Q(status__in=OPEN),
                violation_error_message="The agent is still answering the last message.",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=TurnStatus.values), name="turn_status_known"
            ),
        ]
        indexes = [
            models.Index(fields=["-created_at"], name="turn_time"),
            models.Index(fields=["status", "-created_at"], name="turn_status_time"),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="turn_usage",
                when=pgtrigger.After,
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__finished_at=None, new__finished_at__isnull=False)
                | pgtrigger.Q(old__finished_at__isnull=False, new__finished_at=None),
                func=_COUNTED,
            ),
            pgtrigger.FSM(
                name="turn_status_moves_forward",
                field="status",
                transitions=[
                    (TurnStatus.QUEUED, TurnStatus.RUNNING),
                    (TurnStatus.QUEUED, TurnStatus.STOPPED),
                    (TurnStatus.QUEUED, TurnStatus.FAILED),
                    (TurnStatus.RUNNING, TurnStatus.COMPLETED),
                    (TurnStatus.RUNNING, TurnStatus.FAILED),
                    (TurnStatus.RUNNING, TurnStatus.STOPPED),
                    # it waits for a person; once answered, any process takes it up again
                    (TurnStatus.RUNNING, TurnStatus.WAITING),
                    (TurnStatus.WAITING, TurnStatus.QUEUED),
                    (TurnStatus.WAITING, TurnStatus.STOPPED),
                    # what broke off or was stopped goes on where it was
                    (TurnStatus.FAILED, TurnStatus.QUEUED),
                    (TurnStatus.STOPPED, TurnStatus.QUEUED),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"turn {self.number} of {self.conversation_id}"
