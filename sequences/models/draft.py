"""A sequence as it is being made: saved with every change, published when it is ready."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q


class SequenceDraft(models.Model):
    """What the builder holds of one sequence, however unfinished.

    `revision` grows with every change, undo and redo among them; who saves names the revision it
    began from, so that two editors never overwrite one another. `position` is the number of the
    `DraftRevision` that is shown: undo goes back in them, redo forward.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sequence_drafts"
    )
    tool = models.OneToOneField(
        "registry.Tool",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="draft",
        help_text="Empty until it is published for the first time.",
    )
    base_version = models.PositiveIntegerField(
        default=0, help_text="The version of the tool that it was begun from; 0: none."
    )
    document = models.JSONField(help_text="The builder's form: sequences.forms.drafts.Draft.")
    revision = models.PositiveIntegerField(default=1)
    position = models.PositiveIntegerField(default=1)
    published_position = models.PositiveIntegerField(
        default=0, help_text="The DraftRevision that `base_version` says; 0: none."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        indexes = [models.Index(fields=["owner", "-updated_at"], name="draft_owner_time")]

    def __str__(self) -> str:
        return f"draft {self.id}"

    @property
    def has_changes(self) -> bool:
        """Tell whether it says anything else than the version that it was begun from."""
        return self.position != self.published_position


class DraftRevision(models.Model):
    """One state of a draft, to go back to; `label` says what was done."""

    draft = models.ForeignKey(SequenceDraft, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    label = models.CharField(max_length=120, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "number"], name="draft_revision_unique")
        ]

    def __str__(self) -> str:
        return f"{self.draft_id} r{self.number}"


class DraftOutput(models.Model):
    """What a step of a draft gave when it was tested last, or what its author says it gives."""

    draft = models.ForeignKey(SequenceDraft, on_delete=models.CASCADE, related_name="outputs")
    step_key = models.CharField(max_length=64)
    digest = models.CharField(
        max_length=64, help_text="SHA-256 of the step as it was then; another now: out of date."
    )
    input = models.JSONField(null=True, blank=True)
    output = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    is_edited = models.BooleanField(default=False)
    run = models.ForeignKey(
        "sequences.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "step_key"], name="draft_output_unique")
        ]

    def __str__(self) -> str:
        return f"{self.draft_id} {self.step_key}"


class SampleInput(models.Model):
    """A saved input to test a draft with."""

    draft = models.ForeignKey(SequenceDraft, on_delete=models.CASCADE, related_name="samples")
    name = models.CharField(max_length=80)
    input = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "name"], name="sample_input_unique"),
            models.CheckConstraint(condition=~Q(name=""), name="sample_input_named"),
        ]

    def __str__(self) -> str:
        return self.name
