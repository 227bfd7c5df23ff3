"""What a governor can stop everywhere at once."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.conf import settings
from django.db import models

LONGEST_REASON = 500


class Stoppable(models.Model):
    """A tool or package that nobody can call from the moment it is stopped.

    Who stopped it is empty where it was done at the command line. Only `registry.stopping` writes
    these fields: a row that was read before the stop and is saved after it, as a long import does,
    must not undo it. So `save` leaves them, and all of `GOVERNED_APART`, as they are in the
    database unless `update_fields` names them.
    """

    stopped_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when nobody can call it, whatever review says."
    )
    stopped_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.PROTECT,
        related_name="+",
    )
    stopped_reason = models.CharField(max_length=LONGEST_REASON, blank=True)

    GOVERNED_APART: ClassVar[frozenset[str]] = frozenset(
        {"stopped_at", "stopped_by", "stopped_reason"}
    )

    class Meta:
        abstract = True

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        """Save the row, all but what is governed apart."""
        forced = args or options.get("force_insert")
        if update_fields is None and not self._state.adding and not forced:
            fields = (f.name for f in self._meta.concrete_fields if not f.primary_key)
            update_fields = [name for name in fields if name not in self.GOVERNED_APART]
        super().save(*args, update_fields=update_fields, **options)


def stop_constraints(noun: str) -> list[models.BaseConstraint]:
    """Return what must hold of a stop: it has a reason, and what runs has none."""
    return [
        models.CheckConstraint(
            condition=models.Q(stopped_at=None, stopped_by=None, stopped_reason="")
            | (models.Q(stopped_at__isnull=False) & ~models.Q(stopped_reason="")),
            name=f"{noun}_stop_has_reason",
        )
    ]
