"""What a program's calls gave before it was paused, from which it is replayed."""

from django.db import models

from chat.models.turn import Turn


class ProgramCall(models.Model):
    """One call of a program that was paused; `call_id` is the program's own call in the turn.

    `key` names it among the program's calls: a digest of tool and arguments, and which of several
    equal ones it is. `outcome`: `{"output": …}` or `{"error": {code, message, hint, extra}}`.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="program_calls")
    call_id = models.CharField(max_length=100)
    key = models.CharField(max_length=100)
    number = models.PositiveIntegerField()
    tool_name = models.CharField(max_length=128)
    outcome = models.JSONField()
    invocation_id = models.UUIDField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["turn", "call_id", "key"], name="program_call_unique")
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.tool_name}"
