"""One request to a model: what it was told, what it cost, how often it was tried."""

from django.db import models

from chat.models.turn import Turn


class ModelStep(models.Model):
    """A step of a turn, as the owner may look at it; nothing in it is a known secret.

    `messages` are those that were sent behind the first `shared` ones of the step before (0 for
    the first step of a turn); `tools` are None where they are those of the step before.
    `attempts`: `[{model, error?, waited_ms}]`, the last is the one that answered. `compaction`:
    what was left out to fit, `{rule, dropped_turns, dropped_results, tokens_before, tokens_after}`.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    model = models.CharField(max_length=120, help_text="The model that answered.")
    shared = models.PositiveIntegerField(default=0)
    messages = models.JSONField(default=list)
    tools = models.JSONField(null=True, blank=True)
    attempts = models.JSONField(default=list, blank=True)
    compaction = models.JSONField(null=True, blank=True)
    protocol = models.CharField(max_length=16, default="native", help_text="native or text.")
    usage = models.JSONField(default=dict, blank=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="model_step_unique")]

    def __str__(self) -> str:
        return f"step {self.number} of {self.turn_id}"
