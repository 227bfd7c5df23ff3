"""What a turn waits for: a person's approval, a credential, or an answer to a question."""

import uuid

from django.conf import settings
from django.db import models

from chat.models.turn import Turn

STOPPED = {"decision": "stopped"}
"""The answer of a request whose turn ended before anybody answered it."""


class InputKind(models.TextChoices):
    APPROVAL = "approval", "Approval"
    CREDENTIAL = "credential", "Credential"
    QUESTION = "question", "Question"
    AGENT = "agent", "Answer to another agent"


class InputRequest(models.Model):
    """One thing that a person is asked; answered once, by whoever the conversation belongs to.

    `call_id` is the tool call that waits; of a call that a program makes, `inner_call` is which of
    the program's calls with the same tool and arguments it is, as `ProgramCall.key` has it.
    `asked`: `{arguments, reason}` of an approval, `{names}` of a credential,
    `{question, options}` of a question, `{agent, conversation, turn}` of an agent that was asked
    and itself waits. `answer`: `{decision: "approve"|"deny", arguments?, note?,
    remember?}`, `{decision: "set"|"skip"}`, `{decision: "answer"|"skip", text?}`, and of an agent
    `{decision: "done"}`. A secret is in neither: it goes to the credential store.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="input_requests")
    kind = models.CharField(max_length=16, choices=InputKind)
    call_id = models.CharField(max_length=100)
    inner_call = models.CharField(max_length=100, blank=True)
    tool_id = models.UUIDField(null=True, blank=True)
    tool_name = models.CharField(max_length=128)
    asked = models.JSONField(default=dict)
    answer = models.JSONField(null=True, blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["turn", "call_id", "inner_call", "kind"],
                name="input_request_one_open",
                condition=models.Q(answered_at=None),
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=InputKind.values), name="input_request_kind_known"
            ),
            models.CheckConstraint(
                condition=models.Q(answered_at=None, answer=None)
                | models.Q(answered_at__isnull=False, answer__isnull=False),
                name="input_request_answered_whole",
            ),
        ]
        indexes = [models.Index(fields=["-created_at"], name="input_request_time")]

    def __str__(self) -> str:
        return f"{self.kind} for {self.tool_name}"
