"""`/api/v1/sync/feeds/…`: which registries are looked through, and how often."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from config.lib.api import read_write
from config.lib.http import SignedInApiRequest
from registry.api.sync_serializers import SyncFeedPatchSerializer, SyncFeedSerializer
from registry.importing.sync.feeds import feed_ask, feed_change
from registry.importing.sync.selectors import (
    feed_for,
    feed_state,
    feed_states,
    require_sees_sync,
)
from registry.models import SyncFeed

SCOPES = read_write("tools")


class SyncFeedListView(APIView):
    """What is looked through."""

    required_scopes = SCOPES

    @extend_schema(
        responses=SyncFeedSerializer(many=True), operation_id="sync_feeds_list", filters=False
    )
    def get(self, request: SignedInApiRequest) -> Response:
        """List the feeds, each with its newest run; reviewers and auditors only."""
        require_sees_sync(request.user)
        return Response([SyncFeedSerializer(state).data for state in feed_states()])


class SyncFeedView(APIView):
    """One feed."""

    required_scopes = SCOPES

    @extend_schema(responses=SyncFeedSerializer, operation_id="sync_feeds_retrieve")
    def get(self, request: SignedInApiRequest, feed_id: UUID) -> Response:
        """Show a feed with its newest run; reviewers and auditors only."""
        return _told(feed_for(request.user, feed_id))

    @extend_schema(request=SyncFeedPatchSerializer, responses=SyncFeedSerializer)
    def patch(self, request: SignedInApiRequest, feed_id: UUID) -> Response:
        """Turn a feed on or off, or change how often and how much it looks; governors only."""
        body = SyncFeedPatchSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        feed = feed_for(request.user, feed_id)
        return _told(feed_change(feed, body.validated_data, by=request.user))


class SyncFeedLookView(APIView):
    """A look that somebody asks for."""

    required_scopes = SCOPES

    @extend_schema(request=None, responses={202: SyncFeedSerializer})
    def post(self, request: SignedInApiRequest, feed_id: UUID) -> Response:
        """Have a feed looked through as soon as a worker is free, also where it is off."""
        feed = feed_for(request.user, feed_id)
        feed_ask(feed, user=request.user)
        feed.refresh_from_db()
        return _told(feed, status.HTTP_202_ACCEPTED)


def _told(feed: SyncFeed, code: int = status.HTTP_200_OK) -> Response:
    return Response(SyncFeedSerializer(feed_state(feed)).data, status=code)
