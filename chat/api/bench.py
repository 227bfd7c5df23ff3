"""`/api/v1/agents/{slug}/bench/…`: the owner's alone."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.selectors import agent_owned_by
from chat import bench, bench_running
from chat.api import bench_serializers as shapes
from chat.models import BenchRun
from config.lib.api import CursorPages, read_write
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject

SCOPES = read_write("agents")


class BenchCasesView(APIView):
    """The cases of an agent's test bench."""

    required_scopes = SCOPES

    @extend_schema(
        responses=shapes.BenchCaseSerializer(many=True), operation_id="agents_bench_cases_list"
    )
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """List the prompts and the tools that they should call; there are 200 at most."""
        rows = bench.cases_of(agent_owned_by(request.user, slug))
        return Response(shapes.BenchCaseSerializer(rows, many=True).data)

    @extend_schema(
        request=shapes.BenchCaseWriteSerializer, responses={201: shapes.BenchCaseSerializer}
    )
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Keep a case. Values of your credentials in it are masked."""
        body = shapes.BenchCaseWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        case = bench.case_create(agent_owned_by(request.user, slug), **body.validated_data)
        return Response(shapes.BenchCaseSerializer(case).data, status=status.HTTP_201_CREATED)


class BenchImportView(APIView):
    """Many cases at once."""

    required_scopes = SCOPES

    @extend_schema(
        request=shapes.BenchImportSerializer,
        responses={201: shapes.BenchCaseSerializer(many=True)},
    )
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Keep several cases, all or none; a refusal names the first that cannot be kept."""
        body = shapes.BenchImportSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        lines = [(case["prompt"], case["tool"]) for case in body.validated_data["cases"]]
        made = bench.cases_import(agent_owned_by(request.user, slug), lines)
        told = shapes.BenchCaseSerializer(made, many=True).data
        return Response(told, status=status.HTTP_201_CREATED)


class BenchCaseView(APIView):
    """One case."""

    required_scopes = SCOPES

    @extend_schema(responses=shapes.BenchCaseSerializer, operation_id="agents_bench_cases_retrieve")
    def get(self, request: SignedInApiRequest, slug: str, bench_case_id: UUID) -> Response:
        """Show a case."""
        case = bench.case_owned_by(request.user, slug, bench_case_id)
        return Response(shapes.BenchCaseSerializer(case).data)

    @extend_schema(request=shapes.BenchCaseWriteSerializer, responses=shapes.BenchCaseSerializer)
    def put(self, request: SignedInApiRequest, slug: str, bench_case_id: UUID) -> Response:
        """Change a case; earlier runs keep what they tried."""
        body = shapes.BenchCaseWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        case = bench.case_owned_by(request.user, slug, bench_case_id)
        bench.case_update(case, **body.validated_data)
        return Response(shapes.BenchCaseSerializer(case).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, slug: str, bench_case_id: UUID) -> Response:
        """Remove a case; what earlier runs made of it stays."""
        bench.case_owned_by(request.user, slug, bench_case_id).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class BenchRunsView(APIView):
    """The runs of an agent's test bench."""

    required_scopes = SCOPES

    @extend_schema(
        responses=shapes.BenchRunSerializer(many=True), operation_id="agents_bench_runs_list"
    )
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """List the runs, the newest first."""
        pages = CursorPages()
        rows = bench.runs_of(agent_owned_by(request.user, slug))
        page = list(pages.paginate_queryset(rows, request, view=self) or ())
        found = bench.summaries_of(page)
        return pages.get_paginated_response([shapes.told(run, found[run.pk]) for run in page])

    @extend_schema(request=shapes.BenchStartSerializer, responses={202: shapes.BenchRunSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Try all cases with a model; no tool is run but the search for tools."""
        body = shapes.BenchStartSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        agent = agent_owned_by(request.user, slug)
        run = bench_running.bench_request(agent, by=request.user, **body.validated_data)
        return Response(_told(run), status=status.HTTP_202_ACCEPTED)


class BenchRunView(APIView):
    """One run."""

    required_scopes = SCOPES

    @extend_schema(
        responses=shapes.BenchRunDetailSerializer, operation_id="agents_bench_runs_retrieve"
    )
    def get(self, request: SignedInApiRequest, slug: str, bench_run_id: UUID) -> Response:
        """Show a run, case by case."""
        run = bench.run_owned_by(request.user, slug, bench_run_id)
        results = shapes.BenchResultSerializer(bench.results_of(run), many=True).data
        return Response({**_told(run), "results": results})


class BenchRunStopView(APIView):
    """The end of a run before its time."""

    required_scopes = SCOPES

    @extend_schema(request=None, responses={202: shapes.BenchRunSerializer})
    def post(self, request: SignedInApiRequest, slug: str, bench_run_id: UUID) -> Response:
        """Stop a run behind the cases that are being tried; one that is over stays as it is."""
        run = bench.run_owned_by(request.user, slug, bench_run_id)
        bench_running.bench_stop(run)
        run.refresh_from_db()
        return Response(_told(run), status=status.HTTP_202_ACCEPTED)


def _told(run: BenchRun) -> JsonObject:
    return shapes.told(run, bench.summaries_of([run])[run.pk])
