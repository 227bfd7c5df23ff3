"""`/api/v1/conversations/…`."""

from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db import connection
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.api.authentication import bearer_in, require_working
from agents.lifelines import while_working
from chat import selectors, services
from chat.api import serializers as shapes
from chat.artifacts import artifacts_of
from chat.downloads import attachment
from chat.models import Turn
from chat.queueing import place_of
from chat.streams import json_stream, last_seen, wait_for_end
from chat.variables import variable_forget, variables_of
from config.lib.api import CursorPages
from config.lib.api_streams import EventStreamRenderer
from config.lib.errors import InvalidInput
from config.lib.event_streams import event_stream
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.numbers import whole_number

CHAT = {"GET": "chat", "POST": "chat", "PATCH": "chat", "DELETE": "chat"}

STREAM = {
    (200, "text/event-stream"): OpenApiResponse(
        OpenApiTypes.STR, "The turn's events, each with id."
    ),
    (200, "application/json"): shapes.TurnSerializer,
}


class ConversationListView(APIView):
    """List and open conversations."""

    required_scopes = CHAT

    @extend_schema(
        responses=shapes.ConversationSerializer(many=True), operation_id="conversations_list"
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List your conversations, the newest first."""
        pages = CursorPages()
        rows = selectors.conversations_begun_by(request.user)
        page = pages.paginate_queryset(rows, request, view=self)
        return pages.get_paginated_response(shapes.ConversationSerializer(page, many=True).data)

    @extend_schema(request=shapes.StartSerializer, responses={201: shapes.ConversationSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Open a conversation with an agent."""
        body = shapes.StartSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        conversation = services.conversation_create(
            user=request.user,
            agent_slug=body.validated_data["agent"],
            title=body.validated_data["title"],
        )
        data = shapes.ConversationSerializer(conversation).data
        return Response(data, status=status.HTTP_201_CREATED)


class ConversationView(APIView):
    """One conversation."""

    required_scopes = CHAT

    @extend_schema(
        parameters=[OpenApiParameter("before", int, description="Turns before this number.")],
        responses=shapes.ConversationDetailSerializer,
        operation_id="conversations_retrieve",
    )
    def get(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """Show a conversation with its latest turns, or with those before a number."""
        conversation = selectors.conversation_of(request.user, conversation_id)
        asked = request.query_params.get("before", "")
        before = whole_number(asked)
        if asked and before is None:
            raise InvalidInput("“before” is no number of a turn.", "Send before=12, say.")
        turns = selectors.turns_of(conversation, before=before)
        head = shapes.ConversationSerializer(conversation).data
        context = {"branches": selectors.branches_of(turns)}
        told = shapes.TurnSerializer(turns, many=True, context=context).data
        return Response({**head, "turns": told})

    @extend_schema(request=shapes.RenameSerializer, responses=shapes.ConversationSerializer)
    def patch(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """Give a conversation another title."""
        body = shapes.RenameSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        conversation = selectors.conversation_of(request.user, conversation_id)
        services.conversation_rename(conversation, **body.validated_data)
        return Response(shapes.ConversationSerializer(conversation).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """Delete a conversation with all that was said in it."""
        services.conversation_delete(selectors.conversation_of(request.user, conversation_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ArtifactsView(APIView):
    """The artifacts of a conversation."""

    required_scopes = CHAT

    @extend_schema(
        responses=shapes.ArtifactSerializer(many=True), operation_id="conversations_artifacts_list"
    )
    def get(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """List what tools made in a conversation that was too long to be told, newest first."""
        pages = CursorPages()
        rows = artifacts_of(selectors.conversation_of(request.user, conversation_id))
        page = pages.paginate_queryset(rows, request, view=self)
        return pages.get_paginated_response(shapes.ArtifactSerializer(page, many=True).data)


class ArtifactView(APIView):
    """One artifact."""

    required_scopes = CHAT

    @extend_schema(responses={(200, "*/*"): OpenApiTypes.BINARY})
    def get(self, request: SignedInApiRequest, artifact_id: UUID) -> HttpResponseBase:
        """Download an artifact's content."""
        return attachment(selectors.artifact_of(request.user, artifact_id))


class VariablesView(APIView):
    """The variables of a conversation."""

    required_scopes = CHAT

    @extend_schema(
        responses=shapes.VariableSerializer(many=True), operation_id="conversations_variables_list"
    )
    def get(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """List the variables of a conversation by name; values are never shown."""
        conversation = selectors.conversation_of(request.user, conversation_id)
        return Response(shapes.VariableSerializer(variables_of(conversation), many=True).data)

    @extend_schema(
        request=shapes.VariablesSerializer, responses=shapes.VariableSerializer(many=True)
    )
    def post(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        """Set or replace variables; they win over stored credentials from the next call on."""
        conversation = selectors.conversation_of(request.user, conversation_id)
        body = shapes.VariablesSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        services.values_set(conversation, body.validated_data["env"], keep="conversation")
        return Response(shapes.VariableSerializer(variables_of(conversation), many=True).data)


class VariableView(APIView):
    """One variable of a conversation."""

    required_scopes = CHAT

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, conversation_id: UUID, name: str) -> Response:
        """Remove a variable from a conversation; nothing happens where there is none."""
        variable_forget(selectors.conversation_of(request.user, conversation_id), name)
        return Response(status=status.HTTP_204_NO_CONTENT)


class StreamingView(APIView):
    """Answers with a stream of events, or as JSON with the turn once it is over."""

    required_scopes = CHAT
    renderer_classes = [EventStreamRenderer, JSONRenderer]

    def followed(
        self, request: SignedInApiRequest, turn: Turn, *, until_waiting: bool = False
    ) -> HttpResponseBase:
        """Return the turn's events, or where the client accepts JSON, its end.

        As JSON, a turn that waits for a person is not followed on.
        """
        if request.accepted_renderer.format == EventStreamRenderer.format:
            after = last_seen(request)
            events = json_stream(turn, after=after, until_waiting=until_waiting)
            return event_stream(while_working(bearer_in(request), events))
        connection.close()  # waiting may take minutes; others need the connection
        async_to_sync(wait_for_end)(turn, until_waiting=until_waiting)
        require_working(request)
        over = selectors.turn_of(request.user, turn.conversation_id, turn.pk)
        return Response(shapes.TurnSerializer(over).data)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Send errors as JSON, whatever the client accepts."""
        final = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(final, Response):
            final.accepted_renderer, final.accepted_media_type = JSONRenderer(), "application/json"
        return final


class MessagesView(StreamingView):
    """The messages of a conversation."""

    _sent: Turn | None = None
    """The turn that this request opened; a repeated request finds the one it opened before."""

    @extend_schema(
        request=shapes.SendSerializer,
        responses={**STREAM, (202, "application/json"): shapes.PlaceSerializer},
    )
    def post(self, request: SignedInApiRequest, conversation_id: UUID) -> HttpResponseBase:
        """Send a message and follow the agent's answer, or until it waits for a person.

        The turn goes on when the connection is lost; `GET …/turns/{turn}/events/` takes it up.
        With `queue`, a message that comes while the agent is not done waits for it: 202.
        """
        sent = self._send(request, conversation_id)
        if "queued" in sent.data:
            return sent
        turn = self._sent or selectors.turn_of(
            request.user, conversation_id, UUID(str(sent.data["turn"]))
        )
        response = self.followed(request, turn, until_waiting=True)
        response["Turn-Id"] = str(turn.pk)
        return response

    @idempotent
    def _send(self, request: SignedInApiRequest, conversation_id: UUID) -> Response:
        body = shapes.SendSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        conversation = selectors.conversation_of(request.user, conversation_id)
        fields = dict(body.validated_data)
        may_wait = fields.pop("queue")
        send = services.message_send_or_queue if may_wait else services.message_send
        taken = send(conversation, **fields)
        if isinstance(taken, Turn):
            self._sent = taken
            return Response({"turn": str(taken.pk)})
        place = {"queued": str(taken.pk), "position": place_of(taken)}
        return Response(place, status=status.HTTP_202_ACCEPTED)


class TurnView(APIView):
    """One turn."""

    required_scopes = CHAT

    @extend_schema(responses=shapes.TurnSerializer, operation_id="conversations_turns_retrieve")
    def get(self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID) -> Response:
        """Show a turn as it is now."""
        turn = selectors.turn_of(request.user, conversation_id, turn_id)
        return Response(shapes.TurnSerializer(turn).data)


class TurnEventsView(StreamingView):
    """The events of a turn."""

    @extend_schema(
        parameters=[
            OpenApiParameter("Last-Event-ID", int, OpenApiParameter.HEADER),
            OpenApiParameter("after", int, description="As Last-Event-ID, in the address."),
        ],
        responses=STREAM,
        operation_id="conversations_turns_events",
    )
    def get(
        self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID
    ) -> HttpResponseBase:
        """Follow a turn from the event behind `Last-Event-ID`, or from its start."""
        return self.followed(request, selectors.turn_of(request.user, conversation_id, turn_id))


class TurnStopView(APIView):
    """The end of a turn before its answer."""

    required_scopes = CHAT

    @extend_schema(request=None, responses={202: shapes.TurnSerializer})
    def post(self, request: SignedInApiRequest, conversation_id: UUID, turn_id: UUID) -> Response:
        """Ask the agent to stop; a turn that is over stays as it is."""
        services.turn_stop(selectors.turn_of(request.user, conversation_id, turn_id))
        turn = selectors.turn_of(request.user, conversation_id, turn_id)
        return Response(shapes.TurnSerializer(turn).data, status=status.HTTP_202_ACCEPTED)
