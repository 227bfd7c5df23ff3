"""`/api/v1/runs/…`."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages, agent_of, scopes_of
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.models.invocation import Caller
from sequences import runs, selectors, states
from sequences.api import serializers as shapes
from sequences.models import Run
from sequences.run_filters import runs_listed
from sequences.step_entries import request_entries, step_entries

READ = {"GET": "tools:read"}
RUN = {"POST": "tools:run"}


class RunListView(APIView):
    """Runs of sequences."""

    required_scopes = READ

    @extend_schema(
        operation_id="runs_list",
        parameters=[shapes.RunFilterSerializer],
        responses=shapes.RunSerializer(many=True),
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List your runs, the newest first."""
        asked = shapes.RunFilterSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        pages = CursorPages()
        found = runs_listed(request.user, asked.filters())
        if (agent := agent_of(request)) is not None:
            found = found.filter(agent=agent)
        page = pages.paginate_queryset(found, request, view=self)
        return pages.get_paginated_response(shapes.RunSerializer(page, many=True).data)


class RunView(APIView):
    """One run."""

    required_scopes = READ

    @extend_schema(operation_id="runs_retrieve", responses=shapes.RunDetailSerializer)
    def get(self, request: SignedInApiRequest, run_id: UUID) -> Response:
        """Show a run with what each of its steps did."""
        return Response(shown(run_asked(request, run_id)))


class RunCancelView(APIView):
    """Cancel a run."""

    required_scopes = RUN

    @extend_schema(request=None, responses={202: shapes.RunDetailSerializer})
    def post(self, request: SignedInApiRequest, run_id: UUID) -> Response:
        """Cancel a run: at once while it waits, else as soon as its worker sees it."""
        run = run_asked(request, run_id)
        states.run_cancel(run)
        return Response(shown(run), status=status.HTTP_202_ACCEPTED)


class RunRetryView(APIView):
    """Try a run again."""

    required_scopes = RUN

    @extend_schema(request=shapes.RunRetrySerializer, responses={202: shapes.RunDetailSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, run_id: UUID) -> Response:
        """Start a finished run again, from its first step or from `from_step` on."""
        body = shapes.RunRetrySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        again = runs.run_retry(
            run_asked(request, run_id),
            context=CallContext(
                user=request.user,
                caller=Caller.REST,
                scopes=scopes_of(request),
            ).with_given(body.validated_data["env"]),
            from_step=body.validated_data.get("from_step"),
            version=body.validated_data["version"],
        )
        return Response(shown(run_asked(request, again.pk)), status=status.HTTP_202_ACCEPTED)


def run_asked(request: SignedInApiRequest, run_id: UUID) -> Run:
    """Return the run that a request names; to an agent's own token, one that the agent began."""
    return selectors.run_of(request.user, run_id, agent=agent_of(request))


def shown(run: Run) -> JsonObject:
    """Return a run as `RunDetailSerializer` describes it."""
    files = run.artifacts.defer("content").order_by("name", "version")
    return {
        **shapes.RunSerializer(run).data,
        "input": run.input,
        "output": run.output,
        "steps": step_entries(run),
        "requests": request_entries(run),
        "artifacts": shapes.RunArtifactSerializer(files, many=True).data,
    }
