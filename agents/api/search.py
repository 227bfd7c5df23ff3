"""`/api/v1/agents/{slug}/search-cases/` and `…/search-evaluations/`."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import search_cases, search_evaluations, selectors
from agents.api import search_serializers as shapes
from config.lib.api import CursorPages, read_write
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent

SCOPES = read_write("agents")


class SearchCaseListView(APIView):
    """The labelled queries of an agent."""

    required_scopes = SCOPES

    @extend_schema(
        responses=shapes.SearchCaseSerializer(many=True), operation_id="agents_search_cases_list"
    )
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """List the labelled queries of an agent of your own, newest first."""
        agent = selectors.agent_owned_by(request.user, slug)
        pages = CursorPages()
        page = pages.paginate_queryset(search_cases.cases_of(agent), request, view=self)
        return pages.get_paginated_response(shapes.SearchCaseSerializer(page, many=True).data)

    @extend_schema(
        request=shapes.SearchCaseWriteSerializer, responses={201: shapes.SearchCaseSerializer}
    )
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Keep what a message should find. Values of your credentials in it are masked."""
        body = shapes.SearchCaseWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        agent = selectors.agent_owned_by(request.user, slug)
        case = search_cases.case_create(agent, by=request.user, **body.validated_data)
        return Response(shapes.SearchCaseSerializer(case).data, status=status.HTTP_201_CREATED)


class SearchCaseView(APIView):
    """One labelled query."""

    required_scopes = SCOPES

    @extend_schema(
        responses=shapes.SearchCaseSerializer, operation_id="agents_search_cases_retrieve"
    )
    def get(self, request: SignedInApiRequest, slug: str, case_id: UUID) -> Response:
        """Show a labelled query of an agent of your own."""
        case = search_cases.case_owned_by(request.user, slug, case_id)
        return Response(shapes.SearchCaseSerializer(case).data)

    @extend_schema(request=shapes.SearchCaseWriteSerializer, responses=shapes.SearchCaseSerializer)
    def put(self, request: SignedInApiRequest, slug: str, case_id: UUID) -> Response:
        """Change a labelled query; what was measured stays."""
        body = shapes.SearchCaseWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        case = search_cases.case_owned_by(request.user, slug, case_id)
        said = {"recent": (), **body.validated_data}
        return Response(shapes.SearchCaseSerializer(search_cases.case_update(case, **said)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, slug: str, case_id: UUID) -> Response:
        """Delete a labelled query of an agent of your own."""
        search_cases.case_delete(search_cases.case_owned_by(request.user, slug, case_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class SearchEvaluationListView(APIView):
    """How well the search does by the labelled queries of an agent."""

    required_scopes = SCOPES

    @extend_schema(
        responses=shapes.SearchEvaluationSerializer(many=True),
        operation_id="agents_search_evaluations_list",
    )
    def get(self, request: SignedInApiRequest, slug: str) -> Response:
        """List the measurements of an agent of your own, newest first."""
        agent = selectors.agent_owned_by(request.user, slug)
        pages = CursorPages()
        page = pages.paginate_queryset(search_evaluations.evaluations_of(agent), request, view=self)
        return pages.get_paginated_response(shapes.SearchEvaluationSerializer(page, many=True).data)

    @extend_schema(request=None, responses={202: shapes.SearchEvaluationSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Measure now; one that has not ended is told instead."""
        agent = selectors.agent_owned_by(request.user, slug)
        made = search_evaluations.evaluation_request(agent, by=request.user)
        return Response(
            shapes.SearchEvaluationSerializer(made).data, status=status.HTTP_202_ACCEPTED
        )
