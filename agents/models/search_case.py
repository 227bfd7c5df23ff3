"""What an agent's owner wants the tool search to find, and how well it does."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5

from agents.models.agent import Agent

LONGEST_QUERY = 2_000
MOST_RECENT = 5
"""Earlier messages that one case may have."""


class SearchCase(models.Model):
    """A labelled query: what was said, and the tools that it should have found.

    Without expected tools it says that nothing should be found. Values of credentials are masked
    before it is saved.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="search_cases")
    query = models.TextField(help_text="What the person said.")
    recent = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        help_text="What they had said before, the oldest first.",
    )
    expected = models.ManyToManyField(
        "registry.Tool", through="agents.ExpectedTool", related_name="+"
    )
    turn_id = models.UUIDField(
        null=True, blank=True, help_text="The turn that it was taken from; it may be gone."
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            # by its digest, because a long text does not fit into an index
            models.UniqueConstraint("agent", MD5("query"), name="search_case_unique"),
            models.CheckConstraint(condition=~Q(query=""), name="search_case_says_something"),
        ]
        indexes = [models.Index(fields=["agent", "-created_at"], name="search_case_agent_time")]

    def __str__(self) -> str:
        return self.query[:80]


class ExpectedTool(models.Model):
    """A tool that a labelled query should find."""

    case = models.ForeignKey(SearchCase, on_delete=models.CASCADE, related_name="links")
    tool = models.ForeignKey("registry.Tool", on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["case", "tool"], name="expected_tool_unique")
        ]

    def __str__(self) -> str:
        return f"{self.case} → {self.tool_id}"


class MeasureState(models.TextChoices):
    QUEUED = "queued", "Waiting"
    RUNNING = "running", "Measuring"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"


MEASURING = (MeasureState.QUEUED, MeasureState.RUNNING)


class SearchEvaluation(models.Model):
    """The labelled queries of an agent, or of all agents, ranked at one time."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(
        Agent,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="search_evaluations",
        help_text="Empty: all agents.",
    )
    state = models.CharField(max_length=16, choices=MeasureState, default=MeasureState.QUEUED)
    weights_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Of the saved weights; empty: those that it came with."
    )
    total = models.PositiveIntegerField(default=0, help_text="Queries to rank.")
    done = models.PositiveIntegerField(default=0, help_text="Queries ranked so far.")
    metrics = models.JSONField(
        default=dict, blank=True, help_text='`{"nDCG@5", "recall@5", "MRR@10", …}`.'
    )
    ranks = models.JSONField(
        default=dict, blank=True, help_text="Case id → `{place, score, passed, reason}`."
    )
    error = models.JSONField(null=True, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Empty: nobody, it was the nightly one.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=MeasureState.values), name="search_evaluation_state_known"
            ),
            models.UniqueConstraint(
                fields=["agent"],
                name="search_evaluation_one_open",
                condition=Q(state__in=MEASURING),
                nulls_distinct=False,
            ),
        ]
        indexes = [
            models.Index(fields=["agent", "-created_at"], name="search_evaluation_agent_time")
        ]

    def __str__(self) -> str:
        return f"{self.agent or 'all agents'}, {self.created_at:%Y-%m-%d}"

    @property
    def is_open(self) -> bool:
        """Tell whether it has yet to end."""
        return self.state in MEASURING
