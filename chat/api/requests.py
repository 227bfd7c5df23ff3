"""`/api/v1/conversations/{id}/requests/…`: what a turn waits for, and the answers."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import requests, selectors
from chat.api.request_serializers import InputRequestSerializer, ReplySerializer
from chat.api.serializers import TurnSerializer
from chat.continuing import turn_continue
from config.lib.http import SignedInApiRequest

CHAT = {"GET": "chat", "POST": "chat"}


class RequestsView(APIView):
    """What a conversation waits for."""

    required_scopes = CHAT

    @extend_schema(
        responses=InputRequestSerializer(many=True), operation_id="conversations_requests_list"
    )
    def get(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """List what the conversation waits for now, in the order in which it was asked."""
        conversation = selectors.conversation_of(request.user, conversation_id)
        rows = requests.requests_of(conversation)
        return Response(InputRequestSerializer(rows, many=True).data)


class RequestView(APIView):
    """One thing that a turn waits for."""

    required_scopes = CHAT

    @extend_schema(request=ReplySerializer, responses=InputRequestSerializer)
    def post(
        self, request: SignedInApiRequest, conversation_id: UUID, request_id: UUID
    ) -> Response:
        """Answer; with the last answer that it waits for, the turn goes on where it stopped."""
        body = ReplySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        reply = requests.Reply(**body.validated_data)
        row = requests.request_answer(
            request.user, request_id, reply, conversation_id=conversation_id
        )
        return Response(InputRequestSerializer(row).data)


class TurnContinueView(APIView):
    """The taking up of a turn that failed or was stopped."""

    required_scopes = CHAT

    @extend_schema(request=None, responses={202: TurnSerializer})
    def post(self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID) -> Response:
        """Go on where the turn broke off; follow it by its events."""
        turn_continue(selectors.turn_of(request.user, conversation_id, turn_id))
        turn = selectors.turn_of(request.user, conversation_id, turn_id)
        return Response(TurnSerializer(turn).data, status=status.HTTP_202_ACCEPTED)
