"""Which registries are looked through for new packages and versions, and what came of it."""

import uuid

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from registry.models.audit_triggers import audited
from registry.models.job import ImportJob
from registry.models.package import Ecosystem


class SyncKind(models.TextChoices):
    KEYWORD = "keyword", "Packages with a keyword"
    KNOWN = "known", "New versions of packages that are here"


class EntryState(models.TextChoices):
    WAITING = "waiting", "Waits"
    IMPORTING = "importing", "Imported by a job"
    SKIPPED = "skipped", "Left out"
    NOTED = "noted", "Noted"
    FAILED = "failed", "Not looked at"


MOST_MINUTES = 7 * 24 * 60

GOVERNED = ("kind", "keyword", "enabled", "every_minutes", "most_per_run")
"""The fields of a feed whose change is audited: what people decide of it."""


class SyncFeed(models.Model):
    """One thing that is looked through again and again: a keyword of npm's, or what is here.

    `checkpoint` says how far the run that is under way has come; a worker that takes the feed up
    after a crash goes on from there.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=16, choices=SyncKind)
    keyword = models.CharField(max_length=100, blank=True, help_text="Of npm; such as tpmjs.")
    enabled = models.BooleanField(default=False, help_text="Whether beat looks by itself.")
    every_minutes = models.PositiveIntegerField(
        default=60, validators=[MinValueValidator(5), MaxValueValidator(MOST_MINUTES)]
    )
    most_per_run = models.PositiveIntegerField(
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Packages imported for one run; what is left over comes with the next.",
    )
    asked = models.BooleanField(default=False, help_text="Whether somebody wants a look now.")
    checkpoint = models.JSONField(default=dict, blank=True)
    next_at = models.DateTimeField(null=True, blank=True, help_text="Empty: as soon as may be.")
    leased_until = models.DateTimeField(
        null=True, blank=True, help_text="Until when it is a worker's; empty: nobody's."
    )
    last_at = models.DateTimeField(null=True, blank=True)
    last_error = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "keyword"], name="sync_feed_once"),
            models.CheckConstraint(
                condition=(Q(kind=SyncKind.KEYWORD) & ~Q(keyword=""))
                | Q(kind=SyncKind.KNOWN, keyword=""),
                name="sync_feed_keyword_where_asked",
            ),
            models.CheckConstraint(
                condition=Q(every_minutes__gte=5, most_per_run__gte=1), name="sync_feed_bounded"
            ),
        ]
        indexes = [models.Index(F("next_at").asc(nulls_first=True), name="sync_feed_due")]
        triggers = audited("sync_feed", *GOVERNED, label="item.kind || ' ' || item.keyword")

    def __str__(self) -> str:
        return f"npm keyword “{self.keyword}”" if self.keyword else self.get_kind_display()


class SyncRun(models.Model):
    """One look of a feed from its first page to its last."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    feed = models.ForeignKey(SyncFeed, on_delete=models.CASCADE, related_name="runs")
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    found = models.PositiveIntegerField(default=0)
    new = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    left_over = models.PositiveIntegerField(default=0)
    error = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["feed"], name="sync_run_one_open", condition=Q(finished_at=None)
            )
        ]
        indexes = [models.Index(fields=["feed", "-started_at"], name="sync_run_time")]

    def __str__(self) -> str:
        return f"{self.feed} at {self.started_at:%Y-%m-%d %H:%M}"


class SyncEntry(models.Model):
    """What a run noticed of one package that is new, changed or could not be looked at."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey(SyncRun, on_delete=models.CASCADE, related_name="entries")
    ecosystem = models.CharField(max_length=16, choices=Ecosystem)
    name = models.CharField(max_length=214)
    version = models.CharField(max_length=64, blank=True)
    previous = models.CharField(max_length=64, blank=True, help_text="In use then; empty: new.")
    integrity = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=16, choices=EntryState)
    message = models.CharField(max_length=600, blank=True)
    job = models.ForeignKey(
        ImportJob, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "ecosystem", "name"], name="sync_entry_once_a_run"
            ),
            models.CheckConstraint(
                condition=Q(state__in=EntryState.values), name="sync_entry_state_known"
            ),
        ]
        indexes = [
            models.Index(fields=["ecosystem", "name", "version"], name="sync_entry_package"),
            models.Index(
                fields=["created_at"], name="sync_entry_waiting", condition=Q(state="waiting")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name
