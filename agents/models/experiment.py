"""Two toolsets of one agent, compared on its own conversations."""

import uuid

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.models.agent import Agent, DiscoveryMode
from registry.models.audit_triggers import audited

FIXED_TOOLS = "agents.ArmTool:arm_tool_fixed_once_started"
"""The trigger that is passed by when an experiment is deleted as a whole."""


_OF_ARM = (
    "(SELECT {what} FROM agents_arm a JOIN agents_experiment e ON e.id = a.experiment_id"
    " WHERE a.id = item.arm_id)"
)
_TOOL = "(SELECT wire_name FROM registry_tool WHERE id = item.tool_id)"


class ExperimentState(models.TextChoices):
    DRAFT = "draft", "Draft"
    RUNNING = "running", "Running"
    ENDED = "ended", "Ended"


class Letter(models.TextChoices):
    A = "A", "A"
    B = "B", "B"


class Experiment(models.Model):
    """While it runs, each new conversation of the agent gets one of two toolsets, by lot.

    What is compared cannot be changed once it has started; see `Arm` and `ArmTool`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="experiments")
    name = models.CharField(max_length=120)
    state = models.CharField(
        max_length=16, choices=ExperimentState, default=ExperimentState.DRAFT, editable=False
    )
    share_b = models.PositiveSmallIntegerField(
        default=50, help_text="Percent of new conversations that get toolset B."
    )
    planned = models.PositiveIntegerField(
        default=50,
        help_text="Conversations in each arm before anything is concluded. Fixed beforehand, "
        "because looking until a difference shows finds one where there is none.",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", editable=False
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=ExperimentState.values), name="experiment_state_known"
            ),
            models.CheckConstraint(
                condition=Q(share_b__gte=1, share_b__lte=99), name="experiment_share_range"
            ),
            models.CheckConstraint(
                condition=Q(planned__gte=10, planned__lte=100_000),
                name="experiment_planned_range",
            ),
            models.CheckConstraint(
                condition=Q(state=ExperimentState.DRAFT, started_at=None, ended_at=None)
                | Q(state=ExperimentState.RUNNING, started_at__isnull=False, ended_at=None)
                | Q(state=ExperimentState.ENDED, started_at__isnull=False, ended_at__isnull=False),
                name="experiment_times_match_state",
            ),
            models.UniqueConstraint(
                fields=["agent"],
                name="experiment_one_running",
                condition=Q(state=ExperimentState.RUNNING),
            ),
        ]
        triggers = [
            pgtrigger.FSM(
                name="experiment_moves_forward",
                field="state",
                transitions=[
                    (ExperimentState.DRAFT, ExperimentState.RUNNING),
                    (ExperimentState.RUNNING, ExperimentState.ENDED),
                ],
            ),
            pgtrigger.Protect(
                name="experiment_fixed_once_started",
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(
                    "OLD.started_at IS NOT NULL AND (OLD.share_b, OLD.planned, OLD.started_at)"
                    " IS DISTINCT FROM (NEW.share_b, NEW.planned, NEW.started_at)"
                ),
            ),
            *audited(
                "experiment",
                *("agent", "name", "state", "share_b", "planned", "created_by"),
                *("started_at", "ended_at"),
                label="item.name",
                subject=("'agents.agent'", "item.agent_id"),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_draft(self) -> bool:
        """Tell whether it may still be changed."""
        return self.state == ExperimentState.DRAFT

    @property
    def is_running(self) -> bool:
        """Tell whether it takes conversations now."""
        return self.state == ExperimentState.RUNNING


class Arm(models.Model):
    """One of the two toolsets: which tools are carried, and whether others may be found."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="arms")
    letter = models.CharField(max_length=1, choices=Letter)
    discovery_mode = models.CharField(max_length=16, choices=DiscoveryMode)
    tools = models.ManyToManyField("registry.Tool", through="agents.ArmTool", related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["experiment", "letter"], name="arm_unique"),
            models.CheckConstraint(condition=Q(letter__in=Letter.values), name="arm_letter_known"),
            models.CheckConstraint(
                condition=Q(discovery_mode__in=DiscoveryMode.values), name="arm_discovery_known"
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="arm_fixed_once_started",
                when=pgtrigger.Before,
                operation=pgtrigger.Update | pgtrigger.Insert,
                func="""
                    IF (SELECT state FROM agents_experiment WHERE id = NEW.experiment_id)
                        <> 'draft' THEN
                        RAISE EXCEPTION 'an experiment that has started keeps its toolsets';
                    END IF;
                    RETURN NEW;
                    """,
            ),
            *audited(
                "arm",
                *("experiment", "letter", "discovery_mode"),
                label="(SELECT name FROM agents_experiment WHERE id = item.experiment_id)"
                " || ' ' || item.letter",
                subject=(
                    "'agents.agent'",
                    "coalesce((SELECT agent_id::text FROM agents_experiment"
                    " WHERE id = item.experiment_id), '')",
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.experiment} {self.letter}"


class ArmTool(models.Model):
    """A tool of a toolset."""

    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="links")
    tool = models.ForeignKey("registry.Tool", on_delete=models.PROTECT, related_name="+")
    pinned_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty: always the current version."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["arm", "tool"], name="arm_tool_unique")]
        triggers = [
            pgtrigger.Trigger(
                name="arm_tool_fixed_once_started",
                when=pgtrigger.Before,
                operation=pgtrigger.Update | pgtrigger.Insert | pgtrigger.Delete,
                # A row whose arm is gone goes with it.
                func="""
                    IF EXISTS (
                        SELECT 1 FROM agents_arm a
                        JOIN agents_experiment e ON e.id = a.experiment_id
                        WHERE a.id = COALESCE(NEW.arm_id, OLD.arm_id) AND e.state <> 'draft'
                    ) THEN
                        RAISE EXCEPTION 'an experiment that has started keeps its toolsets';
                    END IF;
                    RETURN COALESCE(NEW, OLD);
                    """,
            ),
            *audited(
                "arm_tool",
                *("arm", "tool", "pinned_version"),
                label=_OF_ARM.format(what="e.name || ' ' || a.letter") + " || ' → ' || " + _TOOL,
                subject=(
                    "'agents.agent'",
                    "coalesce(" + _OF_ARM.format(what="e.agent_id::text") + ", '')",
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.arm} → {self.tool_id}"
