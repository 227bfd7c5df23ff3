"""`/api/v1/conversations/{id}/turns/{turn}/…`: other answers, other messages, other branches."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import branches, selectors
from chat.api import serializers as shapes
from chat.models import Turn
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent

CHAT = {"POST": "chat"}


class TurnRegenerateView(APIView):
    """Another answer to a message."""

    required_scopes = CHAT

    @extend_schema(request=None, responses={202: shapes.TurnSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID) -> Response:
        """Have the message of a turn answered once more; the earlier answer stays as a branch.

        Follow the new turn at `GET …/turns/{turn}/events/`.
        """
        turn = selectors.turn_of(request.user, conversation_id, turn_id)
        return _begun(request, branches.turn_regenerate(turn))


class MessageEditView(APIView):
    """Another message in the place of one."""

    required_scopes = CHAT

    @extend_schema(request=shapes.EditSerializer, responses={202: shapes.TurnSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID) -> Response:
        """Send another message in the place of a turn's; what followed it stays as a branch."""
        body = shapes.EditSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        turn = selectors.turn_of(request.user, conversation_id, turn_id)
        return _begun(request, branches.message_edit(turn, **body.validated_data))


class TurnShowView(APIView):
    """The branch that a conversation shows and goes on with."""

    required_scopes = CHAT

    @extend_schema(request=None, responses=shapes.TurnSerializer)
    def post(self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID) -> Response:
        """Show the branch of a turn; the answer is the branch's last turn."""
        turn = selectors.turn_of(request.user, conversation_id, turn_id)
        last = selectors.turn_of(request.user, conversation_id, branches.turn_show(turn))
        return Response(shapes.TurnSerializer(last).data)


def _begun(request: SignedInApiRequest, made: Turn) -> Response:
    turn = selectors.turn_of(request.user, made.conversation_id, made.pk)
    return Response(shapes.TurnSerializer(turn).data, status=status.HTTP_202_ACCEPTED)
