"""`/api/v1/audit/…`."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages
from config.lib.http import SignedInApiRequest
from registry.api.audit_serializers import AuditEventSerializer
from registry.audit.events import EventFilters, event_visible_to, events_listed

READ = {"GET": "audit:read"}


class EventPages(CursorPages):
    """Pages of changes, the newest first."""

    ordering = ("-at", "-id")


class AuditListView(APIView):
    """The audit."""

    required_scopes = READ

    @extend_schema(
        operation_id="audit_list",
        parameters=[OpenApiParameter(name, str) for name in EventFilters.names()],
        responses=AuditEventSerializer(many=True),
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the changes of what is governed; for governors and auditors."""
        pages = EventPages()
        events = events_listed(request.user, EventFilters.of(request.query_params.dict()))
        page: Any = pages.paginate_queryset(events, request, view=self)
        return pages.get_paginated_response(AuditEventSerializer(page, many=True).data)


class AuditEventView(APIView):
    """One change."""

    required_scopes = READ

    @extend_schema(responses=AuditEventSerializer)
    def get(self, request: SignedInApiRequest, event_id: int) -> Response:
        """Show one change; for governors and auditors."""
        return Response(AuditEventSerializer(event_visible_to(request.user, event_id)).data)
