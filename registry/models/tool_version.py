"""The immutable history of a tool."""

import uuid

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from registry.models.audit_triggers import audited, never_emptied
from registry.models.tool import Tool, ToolKind
from registry.models.triggers import append_only

CALLED_THEN = models.Func(
    models.F("snapshot"),
    models.Value("$.definition.steps[*].toolToRunId"),
    function="jsonb_path_query_array",
    output_field=models.JSONField(),
)
"""What `CALLED_TOOLS` is to a tool, for one of its versions."""


class ToolVersion(models.Model):
    """A snapshot of all that decides how a tool is described and run.

    `snapshot` has the keys of `registry.specs.SNAPSHOT_FIELDS`; `digest` is the SHA-256 of its
    canonical JSON, so equal digests mean equal tools.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tool = models.ForeignKey(Tool, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    snapshot = models.JSONField()
    reason = models.CharField(max_length=200, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tool", "number"], name="tool_version_unique"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="tool_version_positive"),
        ]
        indexes = [
            models.Index(fields=["-created_at"], name="tool_version_time"),
            GinIndex(
                CALLED_THEN,
                name="tool_version_called_tools",
                fastupdate=False,
                condition=models.Q(snapshot__kind=ToolKind.SEQUENCE.value),
            ),
        ]
        triggers = [
            append_only("tool_version_immutable"),
            never_emptied("tool_version_truncate"),
            *audited(
                "tool_version",
                "tool",
                "number",
                "digest",
                "reason",
                "author",
                label="(SELECT wire_name FROM registry_tool WHERE id = item.tool_id)"
                " || ' v' || item.number",
                subject=("'registry.tool'", "item.tool_id"),
                updates=False,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} v{self.number}"
