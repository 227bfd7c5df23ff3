"""`/api/v1/tools/{id}/stop/`, `/api/v1/packages/{id}/stop/` and how a tool is governed."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from registry.api.governance_serializers import GovernanceSerializer, ReasonSerializer
from registry.api.package_serializers import PackageSerializer
from registry.api.tool_serializers import ToolSerializer
from registry.governing import governed_of, tool_govern
from registry.selectors import package_governed_by, tool_governed_by
from registry.stopping import package_resume, package_stop, tool_resume, tool_stop

WRITE = {"POST": "tools:write", "DELETE": "tools:write", "PATCH": "tools:write"}


class ToolStopView(APIView):
    """The stop of a tool."""

    required_scopes = WRITE

    @extend_schema(request=ReasonSerializer, responses=ToolSerializer)
    def post(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Stop a tool everywhere at once; governors only."""
        reason = _reason(request)
        tool = tool_governed_by(request.user, tool_id)
        stopped = tool_stop(tool, by=request.user, reason=reason)
        return Response(ToolSerializer(stopped).data)

    @extend_schema(parameters=[ReasonSerializer], responses=ToolSerializer)
    def delete(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Let a stopped tool run again; governors only."""
        reason = _reason(request)
        tool = tool_governed_by(request.user, tool_id)
        resumed = tool_resume(tool, by=request.user, reason=reason)
        return Response(ToolSerializer(resumed).data)


class PackageStopView(APIView):
    """The stop of a package."""

    required_scopes = WRITE

    @extend_schema(request=ReasonSerializer, responses=PackageSerializer)
    def post(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """Stop all tools of a package everywhere at once; governors only."""
        reason = _reason(request)
        package = package_governed_by(request.user, package_id)
        stopped = package_stop(package, by=request.user, reason=reason)
        return Response(PackageSerializer(stopped).data)

    @extend_schema(parameters=[ReasonSerializer], responses=PackageSerializer)
    def delete(self, request: SignedInApiRequest, package_id: UUID) -> Response:
        """Let a stopped package run again; governors only."""
        reason = _reason(request)
        package = package_governed_by(request.user, package_id)
        resumed = package_resume(package, by=request.user, reason=reason)
        return Response(PackageSerializer(resumed).data)


class ToolGovernanceView(APIView):
    """What a governor decides of a tool."""

    required_scopes = WRITE

    @extend_schema(request=GovernanceSerializer, responses=ToolSerializer)
    def patch(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Change the scopes, the limits or the cost of a tool; governors only."""
        body = GovernanceSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        tool = tool_governed_by(request.user, tool_id)
        changes = dict(body.validated_data)
        reason = changes.pop("reason")
        wanted = governed_of(tool)._replace(**changes)
        governed = tool_govern(tool, wanted, by=request.user, reason=reason)
        return Response(ToolSerializer(governed).data)


def _reason(request: SignedInApiRequest) -> str:
    """Return the reason of the body; many clients send none with DELETE, so the query may too."""
    body = ReasonSerializer(data=request.data or request.query_params)
    body.is_valid(raise_exception=True)
    reason: str = body.validated_data["reason"]
    return reason
