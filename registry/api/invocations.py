"""`/api/v1/invocations/…`."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from registry.api.serializers import InvocationDetailSerializer
from registry.selectors import invocation_visible_to


class InvocationView(APIView):
    """One call of a tool."""

    required_scopes = {"GET": "tools:read"}

    @extend_schema(responses=InvocationDetailSerializer)
    def get(self, request: SignedInApiRequest, invocation_id: UUID) -> Response:
        """Show a call that you made and, of a program, every call it made."""
        invocation = invocation_visible_to(request.user, invocation_id)
        return Response(InvocationDetailSerializer(invocation).data)
