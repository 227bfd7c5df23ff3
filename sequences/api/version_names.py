"""`/api/v1/sequences/{id}/versions/{number}/name/`."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from registry.history import version_seen_by
from sequences import versions
from sequences.api import draft_serializers as shapes
from sequences.api.drafts import READ_WRITE
from sequences.selectors import sequence_owned_by


class VersionNameView(APIView):
    """What a version of a sequence is called."""

    required_scopes = READ_WRITE

    @extend_schema(
        operation_id="sequences_versions_name_retrieve", responses=shapes.VersionNameSerializer
    )
    def get(self, request: SignedInApiRequest, tool_id: UUID, number: int) -> Response:
        """Tell what a version of a sequence of your own is called; empty: it has no name."""
        tool = sequence_owned_by(request.user, tool_id)
        version_seen_by(request.user, tool, number)
        return Response({"number": number, "name": versions.names_of(tool).get(number, "")})

    @extend_schema(
        request=shapes.VersionNameWriteSerializer, responses=shapes.VersionNameSerializer
    )
    def put(self, request: SignedInApiRequest, tool_id: UUID, number: int) -> Response:
        """Name a version; an empty name takes it away. 409 `version_name_taken`."""
        body = shapes.VersionNameWriteSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        tool = sequence_owned_by(request.user, tool_id)
        name = versions.version_name(tool, number, body.validated_data["name"], user=request.user)
        return Response({"number": number, "name": name})
