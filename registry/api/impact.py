"""`/api/v1/tools/{id}/impact/` and `/api/v1/packages/{id}/impact/`."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from registry.api import impact_serializers as shapes
from registry.impact.asked import asked_of_package, asked_of_tool

READ = {"GET": "tools:read"}


class ToolImpactView(APIView):
    """What a change or the end of a tool would do."""

    required_scopes = READ

    @extend_schema(
        operation_id="tools_impact",
        parameters=[shapes.ImpactQuerySerializer],
        responses=shapes.ImpactSerializer,
    )
    def get(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """List the agents, sequences and pins that a change of the tool touches, and what breaks.

        Without a query: what waits for review, else the end of the tool. Nothing is changed.
        """
        asked = asked_of_tool(request.user, tool_id, request.query_params.dict())
        return Response(shapes.told(asked))


class PackageImpactView(APIView):
    """What a change or the end of a package would do."""

    required_scopes = READ

    @extend_schema(
        operation_id="packages_impact",
        parameters=[shapes.PackageImpactQuerySerializer],
        responses=shapes.ImpactSerializer,
    )
    def get(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """List what a change of the package's tools touches, and what breaks."""
        asked = asked_of_package(request.user, package_id, request.query_params.dict())
        return Response(shapes.told(asked))
