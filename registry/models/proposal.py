"""What somebody, or a registry, would change about what is approved."""

import uuid

import pgtrigger
from django.conf import settings as configuration
from django.db import models
from django.db.models import Q

from registry.models.audit_triggers import audited
from registry.models.event_triggers import tells_reviews
from registry.models.package import Package
from registry.models.tool import Tool


class Cause(models.TextChoices):
    """What led to a proposal."""

    IMPORT = "import", "Import"
    SYNC = "sync", "Sync"
    EDIT = "edit", "Edit"
    CHECK = "check", "Check"


class ProposalState(models.TextChoices):
    OPEN = "open", "Waits for review"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    QUARANTINED = "quarantined", "Quarantined"
    SUPERSEDED = "superseded", "Superseded"


DECIDED = (ProposalState.APPROVED, ProposalState.REJECTED, ProposalState.QUARANTINED)
"""States that a reviewer put a proposal in."""


GOVERNED = (
    *("package", "tool", "cause", "state", "digest", "before", "after", "versions"),
    *("removed", "findings", "opened_by", "decided_by", "decided_at", "decision_reason"),
)
"""The fields whose change is audited."""

_LABEL = (
    "coalesce((SELECT name FROM registry_package WHERE id = item.package_id),"
    " (SELECT wire_name FROM registry_tool WHERE id = item.tool_id))"
)
_SUBJECT = (
    "CASE WHEN item.tool_id IS NULL THEN 'registry.package' ELSE 'registry.tool' END",
    "coalesce(item.package_id, item.tool_id)",
)


class Proposal(models.Model):
    """A change of a package or of a user-made tool that waits for review, or was decided on.

    The rows of packages and tools are what is live. What is proposed stands beside them: each
    changed tool has an immutable version that is not live yet (`versions`), the package's own
    values are in `after`. Approval takes both over.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    package = models.ForeignKey(
        Package, null=True, blank=True, on_delete=models.CASCADE, related_name="proposals"
    )
    tool = models.ForeignKey(
        Tool, null=True, blank=True, on_delete=models.PROTECT, related_name="proposals"
    )
    cause = models.CharField(max_length=16, choices=Cause)
    state = models.CharField(max_length=16, choices=ProposalState, default=ProposalState.OPEN)
    digest = models.CharField(max_length=64, help_text="SHA-256 of all that is proposed.")
    before = models.JSONField(
        default=dict, blank=True, help_text="The package's values then; empty for what is new."
    )
    after = models.JSONField(default=dict, blank=True, help_text="The package's values proposed.")
    versions = models.JSONField(
        default=list,
        blank=True,
        help_text="Proposed versions: [{tool, export, number, live}]; live null: a new tool.",
    )
    removed = models.JSONField(
        default=list, blank=True, help_text="Ids of the tools that would be taken out."
    )
    findings = models.JSONField(
        default=list,
        blank=True,
        help_text="What scans found: [{code, path, message, severity, introduced}].",
    )
    opened_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    opened_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_reason = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(package__isnull=False, tool=None) | Q(package=None, tool__isnull=False),
                name="proposal_one_subject",
            ),
            models.CheckConstraint(
                condition=Q(state__in=ProposalState.values), name="proposal_state_known"
            ),
            models.CheckConstraint(
                condition=Q(cause__in=Cause.values), name="proposal_cause_known"
            ),
            models.CheckConstraint(
                condition=Q(state=ProposalState.OPEN, decided_at=None)
                | (~Q(state=ProposalState.OPEN) & Q(decided_at__isnull=False)),
                name="proposal_decided_at_matches_state",
            ),
            models.UniqueConstraint(
                fields=["package", "tool"],
                name="proposal_one_open",
                condition=Q(state=ProposalState.OPEN),
                nulls_distinct=False,
            ),
        ]
        indexes = [
            models.Index(fields=["state", "-opened_at"], name="proposal_queue"),
            models.Index(fields=["-opened_at"], name="proposal_time"),
            models.Index(fields=["package", "-opened_at"], name="proposal_package_time"),
            models.Index(fields=["tool", "-opened_at"], name="proposal_tool_time"),
            models.Index(
                fields=["-decided_at"],
                name="proposal_decided",
                condition=models.Q(decided_at__isnull=False),
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="proposal_decided_once",
                operation=pgtrigger.Update,
                condition=~pgtrigger.Q(old__state=ProposalState.OPEN),
            ),
            *audited("proposal", *GOVERNED, label=_LABEL, subject=_SUBJECT),
            tells_reviews(),
        ]

    def __str__(self) -> str:
        return f"{self.package or self.tool}: {self.get_state_display().lower()}"
