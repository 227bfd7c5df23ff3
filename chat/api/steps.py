"""`/api/v1/conversations/{id}/turns/{id}/steps/`: what the model saw."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from chat import selectors
from chat.api.step_serializers import StepSerializer
from chat.models import ModelStep
from config.lib.http import SignedInApiRequest


class TurnStepsView(APIView):
    """What the model saw in a turn."""

    required_scopes = {"GET": "chat"}

    @extend_schema(
        responses=StepSerializer(many=True), operation_id="conversations_turns_steps_list"
    )
    def get(self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID) -> Response:
        """List the requests to the model that a turn took, in order."""
        turn = selectors.turn_of(request.user, conversation_id, turn_id)
        rows = ModelStep.objects.filter(turn=turn).order_by("number")
        return Response(StepSerializer(rows, many=True).data)
