"""`/api/v1/runs/{id}/…`: its steps, its questions, its files and its events."""

from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.api.authentication import bearer_in
from agents.lifelines import while_working
from config.lib.api import require_person
from config.lib.api_streams import EventStreamRenderer
from config.lib.event_streams import event_stream
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from sequences import selectors
from sequences.api import serializers as shapes
from sequences.api.views import READ, RUN, run_asked, shown
from sequences.artifact_files import artifact_file
from sequences.attention import step_resolve
from sequences.requests import request_answer
from sequences.step_entries import step_entry
from sequences.streams import json_stream


class RunRequestView(APIView):
    """What a run asks a person."""

    required_scopes = RUN

    @extend_schema(
        operation_id="runs_requests_answer",
        request=shapes.RequestAnswerSerializer,
        responses=shapes.RunDetailSerializer,
    )
    @idempotent
    def post(self, request: SignedInApiRequest, run_id: UUID, ask_id: UUID) -> Response:
        """Approve or refuse what an approval step asks; the run goes on.

        409 `conflict` when it was answered already or is no longer asked; 400
        `invalid_arguments` when `values` are not what its form asks for.
        """
        body = shapes.RequestAnswerSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        require_person(request, "An agent's own token does not answer for a person.")
        run = run_asked(request, run_id)
        request_answer(
            selectors.request_of(run, ask_id),
            user=request.user,
            approved=body.validated_data["approved"],
            values=body.validated_data.get("values"),
            note=body.validated_data["note"],
        )
        return Response(shown(run_asked(request, run_id)))


class RunStepView(APIView):
    """One step of a run, or one iteration of it."""

    required_scopes = READ

    @extend_schema(operation_id="runs_steps_retrieve", responses=shapes.RunStepDetailSerializer)
    def get(self, request: SignedInApiRequest, run_id: UUID, step_id: UUID) -> Response:
        """Show one step with what it was given and all that it gave."""
        step = selectors.step_of(run_asked(request, run_id), step_id)
        return Response({**step_entry(step, largest=None), "input": step.input})


class StepResolveView(APIView):
    """A step of which nobody knows whether it did its work."""

    required_scopes = RUN

    @extend_schema(
        operation_id="runs_steps_resolve",
        request=shapes.StepResolveSerializer,
        responses=shapes.RunDetailSerializer,
    )
    @idempotent
    def post(self, request: SignedInApiRequest, run_id: UUID, step_id: UUID) -> Response:
        """Say what became of a step in doubt; the run goes on once none is left.

        409 `conflict` when it is not in doubt; 400 `invalid_input` when `output` is not what the
        tool's schema allows.
        """
        body = shapes.StepResolveSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        require_person(request, "An agent's own token does not answer for a person.")
        run = run_asked(request, run_id)
        step_resolve(
            selectors.step_of(run, step_id),
            user=request.user,
            action=body.validated_data["action"],
            output=body.validated_data["output"],
        )
        return Response(shown(run_asked(request, run_id)))


class RunArtifactView(APIView):
    """A file that a step of a run made."""

    required_scopes = READ

    @extend_schema(
        operation_id="runs_artifacts_retrieve",
        responses={(200, "*/*"): OpenApiTypes.BINARY},
    )
    def get(self, request: SignedInApiRequest, run_id: UUID, file_id: UUID) -> HttpResponseBase:
        """Download a file that a step made."""
        return artifact_file(selectors.artifact_of(run_asked(request, run_id), file_id))


class RunEventsView(APIView):
    """A run as it goes on."""

    required_scopes = READ
    renderer_classes = [EventStreamRenderer, JSONRenderer]

    @extend_schema(
        operation_id="runs_events",
        responses={
            (200, "text/event-stream"): OpenApiResponse(
                OpenApiTypes.STR, "`step`, `run` and at last `end`, each with JSON as its data."
            )
        },
    )
    def get(self, request: SignedInApiRequest, run_id: UUID) -> HttpResponseBase:
        """Follow a run until it is over.

        First come all steps as they are. A `step` is told each time that it changes, as in
        `GET /api/v1/runs/{id}/`, a `run` each time that its status does, and `end` closes the
        stream; without `end` it closes soon after its token was revoked or has expired. Who lost
        the connection begins anew and is told everything once more.
        """
        events = json_stream(run_asked(request, run_id).pk)
        return event_stream(while_working(bearer_in(request), events))

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Send errors as JSON, whatever the client accepts."""
        final = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(final, Response):
            final.accepted_renderer, final.accepted_media_type = JSONRenderer(), "application/json"
        return final
