"""`/api/v1/drafts/…`: sequences as they are being made."""

from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import CursorPages, read_write
from config.lib.http import SignedInApiRequest
from config.lib.idempotency import idempotent
from config.lib.types import JsonObject
from registry.api.tool_serializers import ToolDetailSerializer
from sequences import drafts, publishing, versions
from sequences.api import draft_serializers as shapes
from sequences.draft_fields import draft_with, fields_of_draft
from sequences.forms.drafts import new_draft
from sequences.forms.step_tools import tools_of
from sequences.opened import Opened, drafts_of, history_of, opened_draft, opened_tool

READ_WRITE = read_write("tools")


class DraftListView(APIView):
    """Drafts of sequences."""

    required_scopes = READ_WRITE

    @extend_schema(
        operation_id="drafts_list",
        parameters=[shapes.DraftFilterSerializer],
        responses=shapes.DraftListedSerializer(many=True),
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List your drafts, the newest first: of new sequences and of those that are published."""
        asked = shapes.DraftFilterSerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        found, pages = drafts_of(request.user), CursorPages()
        if sequence := asked.validated_data.get("sequence"):
            found = found.filter(tool=sequence)
        page = pages.paginate_queryset(found, request, view=self)
        return pages.get_paginated_response(shapes.DraftListedSerializer(page, many=True).data)

    @extend_schema(request=shapes.DraftBeginSerializer, responses={201: shapes.DraftSerializer})
    @idempotent
    def post(self, request: SignedInApiRequest) -> Response:
        """Begin a draft of a new sequence; nothing is published."""
        body = shapes.DraftBeginSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        draft = draft_with(new_draft(), body.validated_data, user=request.user)
        row = drafts.draft_begin(request.user, draft)
        told = shown(request, opened_draft(request.user, row.pk))
        place = {"Location": reverse("draft-detail", args=[row.pk])}
        return Response(told, status=status.HTTP_201_CREATED, headers=place)


class DraftView(APIView):
    """One draft."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="drafts_retrieve", responses=shapes.DraftSerializer)
    def get(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Show a draft; one without changes of its own shows the newest version."""
        return Response(shown(request, opened_draft(request.user, draft_id)))

    @extend_schema(request=shapes.DraftWriteSerializer, responses=shapes.DraftSerializer)
    def put(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Save a draft; with `If-Match` only what you have read is written over."""
        return self._saved(request, draft_id, shapes.DraftWriteSerializer(data=request.data))

    @extend_schema(request=shapes.DraftWriteSerializer, responses=shapes.DraftSerializer)
    def patch(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Change the named fields of a draft."""
        body = shapes.DraftWriteSerializer(data=request.data, partial=True)
        return self._saved(request, draft_id, body)

    @extend_schema(responses={204: None})
    def delete(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Discard a draft that was never published; 409 `conflict` for any other."""
        drafts.draft_discard(opened_draft(request.user, draft_id))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _saved(
        self, request: SignedInApiRequest, draft_id: UUID, body: shapes.DraftWriteSerializer
    ) -> Response:
        body.is_valid(raise_exception=True)
        opened = opened_draft(request.user, draft_id)
        draft = draft_with(opened.draft_copy(), body.validated_data, user=request.user)
        saved = drafts.draft_save(opened, draft, user=request.user, revision=opened.revision)
        return Response(shown(request, saved))


class SequenceDraftView(APIView):
    """The draft of a published sequence."""

    required_scopes = READ_WRITE

    @extend_schema(request=shapes.SequenceDraftSerializer, responses=shapes.DraftSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, tool_id: UUID) -> Response:
        """Open the draft of a sequence of your own, made if there was none."""
        body = shapes.SequenceDraftSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        opened, version = opened_tool(request.user, tool_id), body.validated_data.get("version")
        if version is not None:
            opened = versions.version_to_draft(
                opened, version, user=request.user, revision=opened.revision
            )
        row = drafts.draft_kept(opened, user=request.user)
        return Response(shown(request, opened_draft(request.user, row.pk)))


class DraftProblemsView(APIView):
    """What is to be mended in a draft."""

    required_scopes = READ_WRITE

    @extend_schema(operation_id="drafts_problems", responses=shapes.DraftProblemsSerializer)
    def get(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """List what keeps a draft from being published, and what is worth a look."""
        opened = opened_draft(request.user, draft_id)
        chosen = tools_of(request.user, opened.draft)
        found = {
            "problems": publishing.draft_problems(opened, request.user, chosen),
            "notices": publishing.draft_notices(opened.draft, request.user, chosen),
        }
        return Response(shapes.DraftProblemsSerializer(found).data)


class DraftPublishView(APIView):
    """A draft that is ready."""

    required_scopes = READ_WRITE

    @extend_schema(request=shapes.PublishSerializer, responses=ToolDetailSerializer)
    @idempotent
    def post(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Publish a draft as the next version of its sequence, or as a new one.

        400 `invalid_definition` tells all that is wrong with it; 409 `newer_version` that somebody
        published meanwhile (`restart/` or `rebase/`), `agreement_needed` what breaks by it.
        """
        body = shapes.PublishSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        opened, revision = _asked(request, draft_id, body.validated_data)
        agreed = body.validated_data["agreed"]
        tool = publishing.draft_publish(opened, user=request.user, revision=revision, agreed=agreed)
        return Response(ToolDetailSerializer(tool).data)


class _MovedView(APIView):
    """A draft that goes to another of its states."""

    required_scopes = READ_WRITE

    def moved(self, request: SignedInApiRequest, draft_id: UUID, move: Any) -> Response:
        """Carry out one of the moves of a draft, and show where it is then."""
        body = shapes.RevisionSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        opened, revision = _asked(request, draft_id, body.validated_data)
        return Response(shown(request, move(opened, user=request.user, revision=revision)))


class DraftUndoView(_MovedView):
    """The state of a draft before this one."""

    @extend_schema(request=shapes.RevisionSerializer, responses=shapes.DraftSerializer)
    def post(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Take the last change back; without one nothing happens."""
        return self.moved(request, draft_id, drafts.draft_undo)


class DraftRedoView(_MovedView):
    """The state of a draft that was undone last."""

    @extend_schema(request=shapes.RevisionSerializer, responses=shapes.DraftSerializer)
    def post(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Bring back what was undone last; without it nothing happens."""
        return self.moved(request, draft_id, drafts.draft_redo)


class DraftRestartView(_MovedView):
    """A draft that begins again."""

    @extend_schema(request=shapes.RevisionSerializer, responses=shapes.DraftSerializer)
    def post(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Begin again from the newest version; undo leads back. 404 where none was published."""
        return self.moved(request, draft_id, versions.draft_begin_anew)


class DraftRebaseView(_MovedView):
    """A draft that goes on in the knowledge of a newer version."""

    @extend_schema(request=shapes.RevisionSerializer, responses=shapes.DraftSerializer)
    def post(self, request: SignedInApiRequest, draft_id: UUID) -> Response:
        """Keep your own although a version was published since; publishing then replaces that."""
        return self.moved(request, draft_id, _rebased)


def shown(request: SignedInApiRequest, opened: Opened) -> JsonObject:
    """Return a draft as `DraftSerializer` describes it."""
    row = drafts.draft_kept(opened, user=request.user)
    history = history_of(row)
    return {
        **shapes.DraftListedSerializer(row).data,
        **fields_of_draft(opened.draft, user=request.user),
        "baseVersion": opened.base,
        "currentVersion": opened.current,
        "hasChanges": opened.has_changes,
        "undo": history.undo,
        "redo": history.redo,
        "page": reverse("sequences:draft_edit", args=[row.pk]),
    }


def _asked(request: SignedInApiRequest, draft_id: UUID, sent: dict[str, Any]) -> tuple[Opened, int]:
    """Return the draft that a request names, and the revision that it means."""
    opened = opened_draft(request.user, draft_id)
    return opened, sent.get("revision") or opened.revision


def _rebased(opened: Opened, *, user: Any, revision: int) -> Opened:
    return drafts.draft_rebase(opened, revision=revision)
