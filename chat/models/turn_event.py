"""The event log of a turn, from which a dropped stream resumes."""

from django.db import models

from chat.models.turn import Turn


class TurnEvent(models.Model):
    """One server-sent event; its id on the wire is `number`."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="events")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=32)
    data = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="turn_event_unique")]

    def __str__(self) -> str:
        return f"{self.number} {self.name}"
