"""`POST /api/v1/conversations/{id}/turns/{turn}/promote/`."""

from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import selectors
from chat.promoting import turn_promote
from config.lib.api_bodies import Body
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent


class PromoteSerializer(Body):
    """What a sequence is to be made of."""

    program = serializers.UUIDField(
        required=False,
        allow_null=True,
        default=None,
        help_text="The invocation of a program of this turn: only the calls that it made.",
    )


class DraftedSerializer(serializers.Serializer[None]):
    """The sequence that was made; `page` is where it is looked through and changed."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    url = serializers.CharField()
    page = serializers.CharField()


class TurnPromoteView(APIView):
    """A sequence made of what the agent did in a turn."""

    required_scopes = {"POST": ("chat", "tools:write")}

    @extend_schema(request=PromoteSerializer, responses={201: DraftedSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID) -> Response:
        """Draft a private sequence of the turn's successful calls, with its inputs mapped."""
        body = PromoteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        turn = selectors.turn_of(request.user, conversation_id, turn_id)
        program = body.validated_data["program"]
        tool = turn_promote(turn, by=request.user, invocation_id=program)
        drafted = {
            "id": str(tool.pk),
            "name": tool.wire_name,
            "url": reverse("tool-detail", args=[tool.pk]),
            "page": reverse("sequences:sequence_edit", args=[tool.pk]),
        }
        return Response(drafted, status=status.HTTP_201_CREATED)
