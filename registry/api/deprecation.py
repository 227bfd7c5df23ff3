"""`/api/v1/tools/{id}/deprecation/`."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api_bodies import Body
from config.lib.http import SignedInApiRequest
from registry.api.tool_serializers import ToolDetailSerializer
from registry.deprecation import LONGEST_NOTE, successor_named, tool_deprecate, tool_undeprecate
from registry.history import tool_with_history

WRITE = {"POST": "tools:write", "DELETE": "tools:write"}


class DeprecationWriteSerializer(Body):
    """From which day on a tool is deprecated; `successor` is the wire name or id of another."""

    on = serializers.DateField()
    successor = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, default="", max_length=64
    )
    note = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=LONGEST_NOTE
    )


class ToolDeprecationView(APIView):
    """The deprecation of a tool."""

    required_scopes = WRITE

    @extend_schema(request=DeprecationWriteSerializer, responses=ToolDetailSerializer)
    def post(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Deprecate a tool of your own, or any as a governor."""
        body = DeprecationWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        tool = tool_with_history(request.user, tool_id)
        tool_deprecate(
            tool,
            by=request.user,
            on=asked["on"],
            successor=successor_named(request.user, asked["successor"] or ""),
            note=asked["note"],
        )
        tool = tool_with_history(request.user, tool_id)
        return Response(ToolDetailSerializer(tool).data)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Take the deprecation back."""
        tool_undeprecate(tool_with_history(request.user, tool_id), by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)
