"""Shapes of what a turn waits for, on the wire."""

from rest_framework import serializers

from chat.models import InputRequest
from chat.models.input_request import InputKind
from config.lib.api_bodies import Body, VariablesField


class InputRequestSerializer(serializers.ModelSerializer[InputRequest]):
    """One thing that a person is asked.

    `asked` has `arguments`, `schema` and `reason` of an approval, `names` of a credential,
    `question` and `options` of a question; `answer` is empty until somebody answers, and never
    has a secret.
    """

    kind = serializers.CharField(
        read_only=True, help_text=f"One of: {', '.join(InputKind.values)}."
    )
    turn = serializers.UUIDField(source="turn_id", read_only=True)
    call = serializers.CharField(source="call_id", read_only=True)
    innerCall = serializers.CharField(source="inner_call", read_only=True)
    tool = serializers.CharField(source="tool_name", read_only=True)
    asked = serializers.JSONField(read_only=True)
    answer = serializers.JSONField(read_only=True, allow_null=True)
    createdAt = serializers.DateTimeField(source="created_at", read_only=True)
    answeredAt = serializers.DateTimeField(source="answered_at", read_only=True, allow_null=True)

    class Meta:
        model = InputRequest
        fields = (
            *("id", "turn", "kind", "call", "innerCall", "tool", "asked", "answer"),
            *("createdAt", "answeredAt"),
        )


class ReplySerializer(Body):
    """A person's answer: approve or deny; set or skip; answer or skip."""

    decision = serializers.CharField(
        help_text="approve or deny; set or skip; answer or skip.",
    )
    arguments = serializers.JSONField(
        required=False,
        allow_null=True,
        help_text="Of an approval: these in place of what the model sent.",
    )
    note = serializers.CharField(
        required=False, allow_blank=True, help_text="Of a denial: why; the model reads it."
    )
    remember = serializers.BooleanField(
        required=False, help_text="Ask no more for this tool in this conversation."
    )
    values = VariablesField(
        required=False,
        help_text="Of a credential: name → value. Kept sealed, never shown.",
    )
    keep = serializers.ChoiceField(
        choices=("conversation", "agent", "me"),
        required=False,
        help_text="For how much the values hold.",
    )
    text = serializers.CharField(
        required=False, allow_blank=True, help_text=f"The answer to a {InputKind.QUESTION}."
    )
