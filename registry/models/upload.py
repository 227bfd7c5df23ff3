"""Python modules that somebody uploaded, kept for as long as a package is made of them."""

from django.conf import settings as configuration
from django.db import models

from registry.models.audit_triggers import audited


class Upload(models.Model):
    """The files of one module, once, under the digest of their names and contents.

    They are in the database, so that a worker on another machine finds them.
    """

    digest = models.CharField(primary_key=True, max_length=64)
    name = models.CharField(max_length=100, help_text="The module's name.")
    filename = models.CharField(max_length=200, help_text="As it was sent.")
    files = models.JSONField(help_text="Path → content in base64.")
    size = models.PositiveIntegerField(help_text="Bytes of all files.")
    added_by = models.ForeignKey(
        configuration.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["name", "-created_at"], name="upload_name")]
        triggers = audited(
            "upload",
            *("digest", "name", "filename", "size", "added_by"),  # never the files
            label="item.name || ' ' || left(item.digest, 12)",
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.digest[:12]})"
