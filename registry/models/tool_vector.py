"""What a tool means, as numbers."""

from django.db import models

from registry.models.tool import Tool
from registry.models.triggers import tells_vector_gone


class ToolVector(models.Model):
    """The vector of a tool's text by one encoder, and whether it is due.

    A trigger makes the row with the tool, marks it due when the tool's text changes, and removes
    it with the tool. `vector` holds one signed byte for each number
    (`registry.search.dense.vectors`), so that any PostgreSQL can keep it.
    """

    tool = models.OneToOneField(
        Tool, primary_key=True, on_delete=models.CASCADE, related_name="vector"
    )
    encoder = models.CharField(max_length=200, blank=True, help_text="Whose numbers these are.")
    digest = models.BinaryField(null=True, help_text="Of the text that it was worked out from.")
    vector = models.BinaryField(null=True)
    problem = models.TextField(blank=True, help_text="Why its encoder refused the text.")
    due_at = models.DateTimeField(null=True, help_text="When the text changed that is not in yet.")
    claimed_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(vector=None) | (~models.Q(encoder="") & ~models.Q(digest=None)),
                name="tool_vector_has_origin",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                name="tool_vector_due",
                condition=models.Q(due_at__isnull=False),
            ),
            models.Index(
                fields=["encoder", "tool"],
                name="tool_vector_encoder",
                condition=models.Q(due_at=None),
            ),
        ]
        triggers = [tells_vector_gone()]

    def __str__(self) -> str:
        return f"{self.tool_id} by {self.encoder or 'nobody yet'}"
