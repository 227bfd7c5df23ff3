"""What the models that agents ask have cost."""

from django.db import models


class ModelUsage(models.Model):
    """The turns that ended in one hour, by agent and model; `agent_id` empty: of all agents.

    Written by a trigger of chat's `Turn` in the transaction that ends it, so each turn is in here
    once and stays when its conversation or its agent is deleted. `cost` is in US dollars, null
    where no turn had a price; `unpriced` turns used tokens of a model whose price is not known.
    """

    hour = models.DateTimeField()
    agent_id = models.UUIDField(null=True)
    model = models.CharField(max_length=120)
    turns = models.PositiveIntegerField()
    completed = models.PositiveIntegerField()
    failed = models.PositiveIntegerField()
    stopped = models.PositiveIntegerField()
    input_tokens = models.PositiveBigIntegerField()
    output_tokens = models.PositiveBigIntegerField()
    cached_tokens = models.PositiveBigIntegerField()
    cost = models.DecimalField(max_digits=16, decimal_places=6, null=True)
    unpriced = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent_id", "hour", "model"],
                name="model_usage_unique",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} at {self.hour}"
