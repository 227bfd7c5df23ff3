"""How the looks at registries stand, for those who govern packages."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from config.lib.errors import NotAllowed, NotFound
from registry.importing.access import reviews_packages
from registry.models import SyncEntry, SyncFeed, SyncRun
from registry.models.sync import EntryState

RUNS_SHOWN = 30
ENTRIES_SHOWN = 500


@dataclass(frozen=True, kw_only=True)
class FeedState:
    """A feed and its newest run, None before the first."""

    feed: SyncFeed
    run: SyncRun | None

    @property
    def is_running(self) -> bool:
        """Tell whether it is looked through now, or will be at once."""
        under_way = self.run is not None and self.run.finished_at is None
        return self.feed.asked or (under_way and not self.feed.last_error)


def sees_sync(user: User) -> bool:
    """Tell whether a person may know what is looked for."""
    return reviews_packages(user) or user.has_perm("registry.view_syncfeed")


def require_sees_sync(user: User) -> None:
    """Raise NotAllowed for whoever has no part in governing packages."""
    if not sees_sync(user):
        raise NotAllowed("Only reviewers and auditors see what is looked for.", "Ask a reviewer.")


def feed_states() -> list[FeedState]:
    """Return every feed with its newest run, keywords first; two queries."""
    feeds = list(SyncFeed.objects.order_by("kind", "keyword"))
    newest = SyncRun.objects.order_by("feed", "-started_at").distinct("feed")
    runs = {run.feed_id: run for run in newest}
    return [FeedState(feed=feed, run=runs.get(feed.pk)) for feed in feeds]


def feed_state(feed: SyncFeed) -> FeedState:
    """Return one feed with its newest run."""
    return FeedState(feed=feed, run=feed.runs.order_by("-started_at").first())


def runs_recent() -> QuerySet[SyncRun]:
    """Return the newest runs of all feeds."""
    return SyncRun.objects.select_related("feed").order_by("-started_at", "pk")[:RUNS_SHOWN]


def entries_waiting() -> int:
    """Return how many packages wait for their import."""
    return SyncEntry.objects.filter(state=EntryState.WAITING).count()


def sync_run_for(user: User, run_id: UUID) -> SyncRun:
    """Return one run; raises NotAllowed and NotFound."""
    require_sees_sync(user)
    run = SyncRun.objects.select_related("feed").filter(pk=run_id).first()
    if run is None:
        raise NotFound("There is no such look at a registry.")
    return run


def feed_for(user: User, feed_id: UUID) -> SyncFeed:
    """Return one feed; raises NotAllowed and NotFound."""
    require_sees_sync(user)
    feed = SyncFeed.objects.filter(pk=feed_id).first()
    if feed is None:
        raise NotFound("There is no such feed.")
    return feed


def entries_of(run: SyncRun) -> QuerySet[SyncEntry]:
    """Return what a run noticed, each with its import and the package that came of it."""
    entries = run.entries.select_related("job", "job__package").order_by("name", "pk")
    return entries[:ENTRIES_SHOWN]
