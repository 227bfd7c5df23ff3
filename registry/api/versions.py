"""`/api/v1/tools/{id}/versions/…`."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from registry.differences import Difference, Effect, Part, summary_of
from registry.history import compared, tool_with_history

READ = {"GET": "tools:read"}


class DifferenceSerializer(serializers.Serializer[Difference]):
    """One thing that changed; `effect` says what it does to those who call the tool."""

    part = serializers.ChoiceField(choices=[part.value for part in Part])
    path = serializers.CharField(help_text="JSON path inside the part, such as $.options.mode.")
    kind = serializers.CharField(help_text="added, removed or changed")
    effect = serializers.ChoiceField(choices=[effect.value for effect in Effect])
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    message = serializers.CharField(source="sentence")


class VersionDiffSerializer(serializers.Serializer[Any]):
    """What changed from one version to another."""

    to = serializers.IntegerField()
    breaking = serializers.BooleanField()
    summary = serializers.CharField()
    differences = DifferenceSerializer(many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `from`, which Python reserves."""
        return {"from": serializers.IntegerField(), **super().get_fields()}


class VersionDiffView(APIView):
    """What changed between two versions of a tool."""

    required_scopes = READ

    @extend_schema(operation_id="tools_versions_diff", responses=VersionDiffSerializer)
    def get(self, request: SignedInApiRequest, tool_id: UUID, before: int, after: int) -> Response:
        """Compare two versions, field by field; `before` 0 stands for nothing at all."""
        tool = tool_with_history(request.user, tool_id)
        comparison = compared(request.user, tool, before, after)
        answer = {
            "from": before,
            "to": after,
            "breaking": comparison.is_breaking,
            "summary": summary_of(comparison.differences).sentence,
            "differences": comparison.differences,
        }
        return Response(VersionDiffSerializer(answer).data)
