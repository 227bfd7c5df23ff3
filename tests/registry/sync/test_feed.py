"""Looking a real registry through for a keyword: what is new becomes candidates, once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry.importing.jobs import import_run
from registry.importing.sync import running
from registry.importing.sync.dispatch import AT_ONCE, entries_import
from registry.importing.sync.feeds import feed_ask, feed_lease, feed_named
from registry.importing.sync.running import due_sync, feed_look
from registry.models import ImportJob, Package, Proposal, SyncEntry, SyncFeed, SyncRun, Tool
from registry.models.job import JobCause, JobStatus
from registry.models.package import ReviewStatus
from registry.models.sync import EntryState
from registry.services import package_review

pytestmark = [pytest.mark.sandbox, pytest.mark.django_db]


def look(keyword):
    return feed_look(feed_named(keyword))


def bring_all():
    """Run every import that was asked for, as the worker does."""
    while entries_import():
        for job in ImportJob.objects.filter(status=JobStatus.QUEUED):
            import_run(job.pk)


def entries_of(run):
    return {entry.name: (entry.version, entry.state) for entry in run.entries.all()}


def test_new_packages_become_candidates_and_never_live(npm):
    one = npm.publish("feed-one", "1.0.0", keywords=["feed-new"])
    two = npm.publish("@feed/two", "1.0.0", keywords=["other", "Feed-New"])
    npm.publish("feed-other", "1.0.0", keywords=["feed-new-not"])

    run = look("feed-new")
    bring_all()

    assert (run.found, run.new, run.finished_at is not None) == (2, 2, True)
    assert [job.error for job in ImportJob.objects.all()] == [None, None]
    assert entries_of(run) == {
        one: ("1.0.0", EntryState.IMPORTING),
        two: ("1.0.0", EntryState.IMPORTING),
    }
    packages = Package.objects.filter(name__in=[one, two])
    assert {package.review_status for package in packages} == {ReviewStatus.CANDIDATE}
    assert {package.added_by for package in packages} == {None}
    assert Tool.objects.filter(package__in=packages).count() == 2
    assert set(ImportJob.objects.values_list("cause", flat=True)) == {JobCause.SYNC}


def test_a_second_look_finds_nothing_new(npm):
    npm.publish("feed-again", "1.0.0", keywords=["feed-again-k"])
    look("feed-again-k")
    again = look("feed-again-k")
    bring_all()
    last = look("feed-again-k")

    assert [(run.new, run.unchanged) for run in (again, last)] == [(0, 1), (0, 1)]
    assert ImportJob.objects.count() == SyncEntry.objects.count() == 1


def test_a_new_version_of_an_approved_package_waits_for_review_and_the_old_runs_on(npm):
    name = npm.publish("feed-moves", "1.0.0", keywords=["feed-moves-k"])
    look("feed-moves-k")
    bring_all()
    package_review(Package.objects.get(name=name), status=ReviewStatus.APPROVED)
    npm.publish(
        name, "1.1.0", "export const shout = tool('Shouts louder');", keywords=["feed-moves-k"]
    )

    run = look("feed-moves-k")
    bring_all()

    package = Package.objects.get(name=name)
    assert (run.new, run.changed) == (0, 1)
    assert (package.version, package.review_status) == ("1.0.0", ReviewStatus.APPROVED)
    assert Tool.objects.get(package=package).description == "Shouts"
    proposal = Proposal.objects.get(package=package, state="open")
    assert (proposal.cause, proposal.after["version"]) == ("sync", "1.1.0")
    assert look("feed-moves-k").unchanged == 1, "what waits for review is not imported again"


def test_a_version_that_could_not_be_imported_is_not_tried_for_ever(npm):
    npm.publish("feed-broken", "1.0.0", "export const VERSION = 1;", keywords=["feed-broken-k"])
    look("feed-broken-k")
    bring_all()
    entry = SyncEntry.objects.get()
    assert entry.job.error["code"] == "no_tools"

    assert look("feed-broken-k").new == 0
    npm.publish("feed-broken", "1.0.1", keywords=["feed-broken-k"])
    assert look("feed-broken-k").new == 1
    bring_all()
    assert Package.objects.get(name="feed-broken").version == "1.0.1"


def test_an_import_that_the_registry_held_up_is_tried_again(npm):
    npm.publish("feed-held", "1.0.0", keywords=["feed-held-k"])
    look("feed-held-k")
    entries_import()
    ImportJob.objects.update(status=JobStatus.FAILED, error={"code": "registry_unreachable"})

    assert look("feed-held-k").new == 1


def test_a_look_that_is_killed_goes_on_where_it_was_and_does_nothing_twice(npm, monkeypatch):
    names = [npm.publish(f"feed-kill-{i}", "1.0.0", keywords=["feed-kill-k"]) for i in range(3)]
    monkeypatch.setattr("registry.importing.sync.sources.SEARCHED_AT_ONCE", 2)
    feed = feed_named("feed-kill-k")
    pages = []

    def dies(run):
        pages.append(run.found)
        if run.found:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        running.feed_run(feed, told=dies)
    feed.refresh_from_db()
    assert feed.checkpoint["from"]
    entries_before = SyncEntry.objects.count()
    SyncFeed.objects.filter(pk=feed.pk).update(leased_until=timezone.now(), asked=True)
    (run,) = due_sync()

    assert 0 < entries_before < 3
    assert SyncRun.objects.get() == run
    assert sorted(entries_of(run)) == names
    assert SyncEntry.objects.count() == 3
    feed.refresh_from_db()
    assert (feed.checkpoint, feed.asked, run.new) == ({}, False, 3)


def test_only_so_many_are_imported_in_a_run_and_at_once(npm):
    for index in range(4):
        npm.publish(f"feed-many-{index}", "1.0.0", keywords=["feed-many-k"])
    feed = feed_named("feed-many-k")
    feed.most_per_run = 3
    feed.save()

    run = feed_look(feed)

    assert (run.new, run.left_over) == (3, 1)
    assert entries_import() == AT_ONCE
    assert entries_import() == 0
    assert feed_look(feed).new == 1


def test_a_leased_feed_is_nobody_elses(npm, alice):
    SyncFeed.objects.create(kind="keyword", keyword="leased", enabled=True)

    first, second = feed_lease(), feed_lease()

    assert first.keyword == "leased"
    assert second is None
    SyncFeed.objects.update(leased_until=timezone.now() - timedelta(minutes=1))
    assert feed_lease() == first


def test_a_feed_that_is_off_is_looked_through_only_when_somebody_asks(npm):
    feed = feed_named("feed-off-k")
    assert due_sync() == []

    feed_ask(feed, user=None)

    assert [run.feed for run in due_sync()] == [feed]
    assert due_sync() == []
