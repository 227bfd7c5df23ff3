"""`/api/v1/sequences/{id}/export/` and `/api/v1/sequences/import/`."""

from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject
from sequences import selectors
from sequences.api.copy_serializers import SequenceDocumentSerializer, SequenceImportedSerializer
from sequences.beginnings import draft_from_document
from sequences.documents import read_document
from sequences.exporting import sequence_written
from sequences.portable import Resolved, resolved
from sequences.template_library import TEMPLATES


class SequenceExportView(APIView):
    """A sequence as a document."""

    required_scopes = {"GET": "tools:read"}

    @extend_schema(responses=SequenceDocumentSerializer)
    def get(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Write a sequence down; values whose inputs are named like secrets are left out."""
        tool = selectors.sequence_visible_to(request.user, tool_id)
        return Response(sequence_written(tool, reader=request.user).as_json())


class TemplateListView(APIView):
    """Sequences to begin with."""

    required_scopes = {"GET": "tools:read"}

    @extend_schema(
        operation_id="sequences_templates_list", responses=SequenceDocumentSerializer(many=True)
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the templates as documents; send one to `sequences/import/` to begin with it."""
        return Response([document.as_json() for document in TEMPLATES.values()])


class SequenceImportView(APIView):
    """Sequences from documents."""

    required_scopes = {"POST": "tools:write"}

    @extend_schema(
        request=SequenceDocumentSerializer,
        parameters=[OpenApiParameter("preview", bool, description="Begin nothing; only tell.")],
        responses={200: SequenceImportedSerializer, 201: SequenceImportedSerializer},
    )
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Begin a draft with a document; nothing is published."""
        whole = resolved(read_document(request.data), user=request.user)
        if request.query_params.get("preview", "").lower() in ("1", "true"):
            return Response(_told(whole))
        begun = draft_from_document(request.user, whole, label="Imported")
        made = {
            "draft": str(begun.draft.pk),
            "page": reverse("sequences:draft_edit", args=[begun.draft.pk]),
        }
        told = {**made, **_told(whole), "notes": list(begun.notes)}
        return Response(told, status=status.HTTP_201_CREATED)


def _told(whole: Resolved) -> JsonObject:
    return {
        "name": whole.document.name,
        "tools": [
            {
                "id": match.named.id,
                "wireName": match.named.wire_name,
                "state": match.state,
                "tool": str(match.tool.pk) if match.tool else None,
                "candidates": [str(tool.pk) for tool in match.candidates],
            }
            for match in whole.matches
        ],
        "problems": [
            {"path": problem.path, "message": problem.message} for problem in whole.problems
        ],
        "notes": list(whole.notes),
    }
