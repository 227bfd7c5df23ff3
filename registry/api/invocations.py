"""`/api/v1/invocations/…`."""

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages, agent_of
from config.lib.http import SignedInApiRequest
from registry.api.call_serializers import InvocationDetailSerializer, InvocationSerializer
from registry.audit.calls import CallFilters, calls_listed, for_reader
from registry.selectors import invocation_visible_to

READ = {"GET": "tools:read"}


class CallPages(CursorPages):
    """Pages of calls, the newest first."""

    ordering = ("-created_at", "-pk")


class InvocationListView(APIView):
    """The calls that were recorded."""

    required_scopes = READ

    @extend_schema(
        operation_id="invocations_list",
        parameters=[OpenApiParameter(name, str) for name in CallFilters.names()],
        responses=InvocationSerializer(many=True),
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the calls that you made; to governance those of everybody, to an agent its own.

        `arguments`, `output` and the message of an error are told to whoever made the call and to
        governors and auditors.
        """
        pages = CallPages()
        calls = calls_listed(request.user, CallFilters.of(request.query_params.dict()))
        if (agent := agent_of(request)) is not None:
            calls = calls.filter(agent_id=agent)
        page = pages.paginate_queryset(calls, request, view=self) or []
        shown = [for_reader(request.user, call) for call in page]
        return pages.get_paginated_response(InvocationSerializer(shown, many=True).data)


class InvocationView(APIView):
    """One call of a tool."""

    required_scopes = READ

    @extend_schema(responses=InvocationDetailSerializer)
    def get(self, request: SignedInApiRequest, invocation_id: UUID) -> Response:
        """Show a call that you made and, of a program, every call it made."""
        found = invocation_visible_to(request.user, invocation_id, agent=agent_of(request))
        call = for_reader(request.user, found)
        return Response(InvocationDetailSerializer(call, context={"reader": request.user}).data)
