"""The shapes of `/api/v1/sync/feeds/`."""

from rest_framework import serializers

from config.lib.api_bodies import Body
from registry.importing.sync.selectors import FeedState
from registry.models import SyncRun
from registry.models.sync import MOST_MINUTES


class SyncRunSerializer(serializers.ModelSerializer[SyncRun]):
    """One look of a feed; `finishedAt` is null while it is under way."""

    startedAt = serializers.DateTimeField(source="started_at", read_only=True)
    finishedAt = serializers.DateTimeField(source="finished_at", read_only=True, allow_null=True)
    leftOver = serializers.IntegerField(source="left_over", read_only=True)

    class Meta:
        model = SyncRun
        fields = (
            *("id", "startedAt", "finishedAt", "found", "new", "changed", "unchanged"),
            *("failed", "leftOver", "error"),
        )
        read_only_fields = fields


class SyncFeedSerializer(serializers.Serializer[FeedState]):
    """A feed: an npm keyword, or with none the packages that are here; and its newest run."""

    id = serializers.UUIDField(source="feed.pk", read_only=True)
    kind = serializers.CharField(source="feed.kind", read_only=True)
    keyword = serializers.CharField(source="feed.keyword", read_only=True)
    enabled = serializers.BooleanField(source="feed.enabled", read_only=True)
    everyMinutes = serializers.IntegerField(source="feed.every_minutes", read_only=True)
    mostPerRun = serializers.IntegerField(source="feed.most_per_run", read_only=True)
    asked = serializers.BooleanField(source="feed.asked", read_only=True)
    nextAt = serializers.DateTimeField(source="feed.next_at", read_only=True, allow_null=True)
    lastAt = serializers.DateTimeField(source="feed.last_at", read_only=True, allow_null=True)
    lastError = serializers.JSONField(source="feed.last_error", read_only=True, allow_null=True)
    running = serializers.BooleanField(source="is_running", read_only=True)
    run = SyncRunSerializer(read_only=True, allow_null=True)


class SyncFeedPatchSerializer(Body):
    """What a governor changes of a feed; one that is turned on is looked through soon."""

    enabled = serializers.BooleanField(required=False)
    everyMinutes = serializers.IntegerField(
        source="every_minutes", min_value=5, max_value=MOST_MINUTES, required=False
    )
    mostPerRun = serializers.IntegerField(
        source="most_per_run", min_value=1, max_value=1000, required=False
    )
