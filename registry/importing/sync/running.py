"""Look a feed through: a page at a time, each with its place in the feed in one transaction."""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from config.lib.errors import Conflict, DomainError
from config.lib.jsontext import storable
from registry.errors import (
    RegistryLimited,
    RegistryRefused,
    RegistryUnreachable,
    SandboxUnavailable,
)
from registry.importing.sync.feeds import LEASE, feed_lease, feed_named, feeds_ensure
from registry.importing.sync.judging import Judged, judge
from registry.importing.sync.noting import registry_note
from registry.importing.sync.sources import Page, newest_of, page_of
from registry.models import Package, SyncEntry, SyncFeed, SyncRun
from registry.models.package import Ecosystem
from registry.models.sync import EntryState

logger = logging.getLogger(__name__)

LONGEST_ROUND = 45.0
"""Seconds after which a worker goes on with other work; the feed is taken up again from there."""

HELD_UP = timedelta(minutes=5)
LONGEST_RUN = timedelta(days=1)
"""A run that the registry has held up for so long is given up."""

UNTOLD_FOR = timedelta(days=7)
"""For how long a run that noticed nothing is kept."""

Told = Callable[[SyncRun], None]


def ignore_run(run: SyncRun) -> None:
    """Drop what is told of a run."""


def due_sync() -> list[SyncRun]:
    """Look through the feeds that are due until none is left or `LONGEST_ROUND` is over."""
    feeds_ensure()
    until, runs = time.monotonic() + LONGEST_ROUND, list[SyncRun]()
    while time.monotonic() < until and (feed := feed_lease()):
        runs.append(feed_run(feed, until=until))
    return runs


def feed_look(feed: SyncFeed) -> SyncRun:
    """Look a feed through at once, to its end; raises Conflict while a worker is doing so."""
    now = timezone.now()
    mine = SyncFeed.objects.filter(pk=feed.pk).filter(
        Q(leased_until=None) | Q(leased_until__lte=now)
    )
    if not mine.update(leased_until=now + LEASE):
        raise Conflict(f"{feed} is being looked through already.", "Wait until that has ended.")
    feed.refresh_from_db()
    return feed_run(feed)


def package_look(name: str) -> SyncRun:
    """Look one npm package up and return a run with what is new of it.

    It is kept with the runs of the packages that are here.
    """
    package = Package.objects.filter(ecosystem=Ecosystem.NPM, name=name).first()
    found = newest_of(Ecosystem.NPM, name, package.version if package else "")
    judged = judge([found])
    registry_note([found])
    feed = feed_named("")
    run = SyncRun.objects.create(feed=feed, found=1, finished_at=timezone.now())
    SyncEntry.objects.bulk_create(_entries(run, [item for item in judged if item.state]))
    return run


def feed_run(feed: SyncFeed, *, until: float | None = None, told: Told = ignore_run) -> SyncRun:
    """Look a leased feed through and return the run, which goes on where one was broken off.

    What the registry or the sandbox has against it is kept in the run and the feed; see there.
    """
    run, _ = SyncRun.objects.get_or_create(feed=feed, finished_at=None)
    cursor = feed.checkpoint
    try:
        while True:
            page = page_of(feed, cursor)
            if not _keep(run, cursor, page):
                return run  # another worker has taken the feed over
            told(run)
            if page.cursor is None:
                return run
            cursor = page.cursor
            if until is not None and time.monotonic() >= until:
                SyncFeed.objects.filter(pk=feed.pk).update(
                    leased_until=None, next_at=timezone.now()
                )
                return run
    except DomainError as error:
        _hold_up(run, error)
    return run


@transaction.atomic
def _keep(run: SyncRun, cursor: object, page: Page) -> bool:
    """Write what came of a page and where the next one is; False where somebody else has."""
    feed = SyncFeed.objects.select_for_update().get(pk=run.feed_id)
    run.refresh_from_db()
    if feed.checkpoint != cursor or run.finished_at is not None:
        return False
    judged = judge(page.found)
    registry_note(page.found)
    room = max(feed.most_per_run - run.new - run.changed, 0)
    waiting = [item for item in judged if item.state == EntryState.WAITING]
    kept, left = waiting[:room], waiting[room:]
    told = [*kept, *(item for item in judged if item.state not in (None, EntryState.WAITING))]
    SyncEntry.objects.bulk_create(_entries(run, told), ignore_conflicts=True)
    run.found += len(judged)
    run.new += sum(not item.previous for item in kept)
    run.changed += sum(bool(item.previous) for item in kept)
    run.failed += sum(item.state == EntryState.FAILED for item in judged)
    run.unchanged += sum(item.state in (None, EntryState.NOTED) for item in judged)
    run.left_over += len(left)
    now = timezone.now()
    feed.leased_until = now + LEASE
    feed.checkpoint = page.cursor or {}
    if page.cursor is None:
        run.finished_at = feed.last_at = now
        _finish(feed)
    run.error = feed.last_error = None
    feed.save()
    run.save()
    return True


def _finish(feed: SyncFeed) -> None:
    now = timezone.now()
    feed.asked, feed.leased_until = False, None
    feed.next_at = now + timedelta(minutes=feed.every_minutes)
    of_use = SyncEntry.objects.filter(run=OuterRef("pk")).exclude(state=EntryState.FAILED)
    old = SyncRun.objects.filter(feed=feed, finished_at__lt=now - UNTOLD_FOR)
    old.filter(~Exists(of_use)).delete()


def _entries(run: SyncRun, judged: Sequence[Judged]) -> list[SyncEntry]:
    return [
        SyncEntry(
            run=run,
            ecosystem=item.found.ecosystem,
            name=item.found.name,
            version=item.found.version,
            previous=item.previous,
            integrity=item.found.integrity,
            state=item.state or EntryState.NOTED,
            message=storable(item.message)[:600],
        )
        for item in judged
    ]


@transaction.atomic
def _hold_up(run: SyncRun, error: DomainError) -> None:
    """Note what is in the way. What passes is waited for; the rest ends the run."""
    feed = SyncFeed.objects.select_for_update().get(pk=run.feed_id)
    now = timezone.now()
    feed.leased_until, feed.asked = None, False
    feed.last_at, feed.last_error = now, storable(error.as_dict())
    passes = isinstance(error, RegistryUnreachable | SandboxUnavailable)
    passes = passes and not isinstance(error, RegistryRefused)
    if passes and now - run.started_at < LONGEST_RUN:
        feed.next_at = now + _wait(error)
    else:
        feed.next_at, feed.checkpoint = now + timedelta(minutes=feed.every_minutes), {}
        run.finished_at = now
    feed.save()
    SyncRun.objects.filter(pk=run.pk).update(error=feed.last_error, finished_at=run.finished_at)
    run.error = feed.last_error
    logger.info("%s was not looked through: %s", feed, error.message)


def _wait(error: DomainError) -> timedelta:
    seconds = error.extra.get("retry_after") if isinstance(error, RegistryLimited) else None
    return timedelta(seconds=seconds) if seconds else HELD_UP
