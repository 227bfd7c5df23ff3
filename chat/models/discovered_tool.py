"""The tools that searches found for a conversation."""

from django.db import models

from chat.models.conversation import Conversation
from chat.models.turn import Turn


class DiscoveredTool(models.Model):
    """A tool that was found; `place` is its place among the found ones, which never changes while
    it is told of, so that what a model is told keeps its order. One that comes back comes last.

    `found_in` is the turn that found it, `used_in` the number of the last turn that found or
    called it, by which the least recently used gives way.
    """

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="discovered"
    )
    tool = models.ForeignKey("registry.Tool", on_delete=models.CASCADE, related_name="+")
    place = models.PositiveIntegerField()
    found_in = models.ForeignKey(Turn, null=True, on_delete=models.SET_NULL, related_name="+")
    used_in = models.PositiveIntegerField(default=0)
    evicted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "tool"], name="discovered_tool_unique"),
            models.UniqueConstraint(
                fields=["conversation", "place"], name="discovered_tool_place_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} in {self.conversation_id}"
