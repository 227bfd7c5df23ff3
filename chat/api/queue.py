"""`/api/v1/conversations/{id}/queue/…`: messages that wait until the agent is done."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import queueing, selectors, services
from chat.api import serializers as shapes
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent

CHAT = {"GET": "chat", "POST": "chat", "DELETE": "chat"}


class QueueView(APIView):
    """The messages of a conversation that wait."""

    required_scopes = CHAT

    @extend_schema(
        responses=shapes.QueuedSerializer(many=True), operation_id="conversations_queue_list"
    )
    def get(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """List the messages that wait, the next one first; there are 20 at most."""
        conversation = selectors.conversation_of(request.user, conversation_id)
        waiting = queueing.queue_of(conversation)
        return Response(shapes.QueuedSerializer(waiting, many=True).data)


class QueuedView(APIView):
    """One message that waits."""

    required_scopes = CHAT

    @extend_schema(responses={204: None})
    def delete(
        self, request: SignedInApiRequest, conversation_id: UUID, queued_id: UUID
    ) -> Response:
        """Remove a message that waits."""
        conversation = selectors.conversation_of(request.user, conversation_id)
        queueing.queued_take_back(conversation, queued_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class QueueSendView(APIView):
    """The first message that is held."""

    required_scopes = CHAT

    @extend_schema(request=None, responses={202: shapes.TurnSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """Send the first message that is held after a turn failed or was stopped."""
        conversation = selectors.conversation_of(request.user, conversation_id)
        made = services.queue_send(conversation)
        turn = selectors.turn_of(request.user, conversation_id, made.pk)
        return Response(shapes.TurnSerializer(turn).data, status=status.HTTP_202_ACCEPTED)
