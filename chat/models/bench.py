"""An agent's test bench: which tool each prompt should call, and what it called, run by run."""

import json
import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5

LONGEST_PROMPT = 4_000
LONGEST_TOOL = 128


class BenchCase(models.Model):
    """A prompt and the tool that the agent should call first. Credentials' values are masked."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="bench_cases")
    prompt = models.TextField()
    tool = models.CharField(
        max_length=LONGEST_TOOL, blank=True, help_text="The name that the model calls; empty: none."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            # by its digest, because a long text does not fit into an index
            models.UniqueConstraint("agent", MD5("prompt"), name="bench_case_unique"),
            models.CheckConstraint(condition=~Q(prompt=""), name="bench_case_says_something"),
        ]
        indexes = [models.Index(fields=["agent", "created_at"], name="bench_case_order")]

    def __str__(self) -> str:
        return self.prompt[:80]


class BenchState(models.TextChoices):
    QUEUED = "queued", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    STOPPED = "stopped", "Stopped"
    FAILED = "failed", "Failed"


BENCH_OPEN = (BenchState.QUEUED, BenchState.RUNNING)


class BenchRun(models.Model):
    """All cases of an agent, tried with one model.

    A worker claims it by raising `attempt`, and goes on only while that is still its own number:
    of two workers, the one that lost it writes nothing more.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey("agents.Agent", on_delete=models.CASCADE, related_name="bench_runs")
    model = models.CharField(max_length=120)
    state = models.CharField(max_length=16, choices=BenchState, default=BenchState.QUEUED)
    attempt = models.PositiveIntegerField(default=0, help_text="How many workers have taken it.")
    error = models.JSONField(null=True, blank=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=BenchState.values), name="bench_run_state_known"
            ),
            models.UniqueConstraint(
                fields=["agent"], name="bench_run_one_open", condition=Q(state__in=BENCH_OPEN)
            ),
        ]
        indexes = [models.Index(fields=["agent", "-created_at"], name="bench_run_agent_time")]

    def __str__(self) -> str:
        return f"{self.model}, {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def is_open(self) -> bool:
        """Tell whether it has not ended."""
        return self.state in BENCH_OPEN


class BenchResult(models.Model):
    """What came of one case in one run; without `finished_at` it was not tried yet.

    It has the prompt as it was when the run began: the case may change or go.
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(BenchRun, on_delete=models.CASCADE, related_name="results")
    place = models.PositiveIntegerField()
    prompt = models.TextField()
    expected = models.CharField(max_length=LONGEST_TOOL, blank=True)
    called = models.CharField(max_length=LONGEST_TOOL, blank=True)
    arguments = models.JSONField(null=True, blank=True)
    problem = models.TextField(blank=True, help_text="Why the arguments do not fit the schema.")
    offered = models.BooleanField(
        null=True, help_text="Was the model told of the expected tool? Empty: none was expected."
    )
    searches = models.PositiveIntegerField(default=0)
    answer = models.TextField(blank=True, help_text="What it said instead of a call, shortened.")
    passed = models.BooleanField(default=False)
    error = models.JSONField(null=True, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "place"], name="bench_result_unique")]

    def __str__(self) -> str:
        return self.prompt[:80]

    @property
    def arguments_text(self) -> str:
        """Return the arguments as JSON."""
        return "" if self.arguments is None else json.dumps(self.arguments, ensure_ascii=False)
