"""OpenAPI documents that somebody wants to import, or has imported."""

import uuid

from django.conf import settings as configuration
from django.db import models


class ApiDocument(models.Model):
    """One document as it was read, kept while it is chosen from or a package was made of it.

    Those that nobody refers to are cleared away after a day.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.CharField(max_length=64, help_text="SHA-256 of its canonical JSON.")
    title = models.CharField(max_length=200)
    url = models.CharField(max_length=2000, blank=True, help_text="Empty: a file.")
    filename = models.CharField(max_length=200, blank=True)
    content = models.TextField(help_text="The document as JSON, in its own order.")
    overview = models.JSONField(
        default=list,
        help_text="[{key, method, path, title, summary, tag, deprecated, problem}].",
    )
    added_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["digest", "url", "filename", "added_by"],
                name="api_document_once",
                nulls_distinct=False,
            )
        ]
        indexes = [models.Index(fields=["created_at"], name="api_document_time")]

    def __str__(self) -> str:
        return self.title
