"""What a version of a sequence is called by its owner."""

from django.db import models
from django.db.models import Q


class VersionName(models.Model):
    """The name of one version; a `ToolVersion` is never changed, so its name stands beside it."""

    tool = models.ForeignKey("registry.Tool", on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=60)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tool", "number"], name="version_named_once"),
            models.UniqueConstraint(fields=["tool", "name"], name="version_name_unique"),
            models.CheckConstraint(condition=~Q(name=""), name="version_name_said"),
        ]

    def __str__(self) -> str:
        return self.name
