"""`/api/v1/sequences/schema/`."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from sequences.definition import json_schema


class DefinitionSchemaView(APIView):
    """The JSON Schema of a sequence's definition."""

    required_scopes = {"GET": "tools:read"}

    @extend_schema(operation_id="sequences_schema", responses=OpenApiTypes.OBJECT)
    def get(self, request: SignedInApiRequest) -> Response:
        """Show the JSON Schema of definitions of format 1, for editors and programs."""
        return Response(json_schema())
