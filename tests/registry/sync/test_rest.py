"""The feeds over REST: governors change them, auditors see them, nobody else does."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.utils import timezone

from registry.importing.sync.feeds import feeds_ensure
from registry.models import SyncFeed, SyncRun

pytestmark = pytest.mark.django_db

FEEDS = "/api/v1/sync/feeds/"
JSON = "application/json"


@pytest.fixture
def feed():
    feeds_ensure()
    return SyncFeed.objects.get(keyword="tpmjs")


@pytest.fixture
def auditor(bob):
    bob.user_permissions.add(Permission.objects.get(codename="view_syncfeed"))
    return bob


def test_the_feeds_are_listed_with_their_newest_run_in_few_queries(
    feed, governor, client_for, django_assert_max_num_queries
):
    SyncRun.objects.create(feed=feed, found=3, new=1, finished_at=timezone.now())
    client = client_for(governor)
    with django_assert_max_num_queries(6):
        told = client.get(FEEDS).json()
    assert [(item["kind"], item["keyword"], item["enabled"]) for item in told] == [
        ("keyword", "tpmjs", False),
        ("known", "", False),
    ]
    assert (told[0]["run"]["found"], told[0]["run"]["new"], told[1]["run"]) == (3, 1, None)


def test_a_governor_turns_a_feed_on_and_it_is_looked_through_soon(feed, governor, client_for):
    SyncFeed.objects.update(next_at=timezone.now())
    answer = client_for(governor).patch(
        f"{FEEDS}{feed.pk}/", {"enabled": True, "everyMinutes": 30}, content_type=JSON
    )
    assert answer.status_code == 200
    assert (answer.json()["enabled"], answer.json()["everyMinutes"]) == (True, 30)
    feed.refresh_from_db()
    assert (feed.enabled, feed.every_minutes, feed.most_per_run, feed.next_at) == (
        True,
        30,
        50,
        None,
    )
    entry = LogEntry.objects.get(object_id=str(feed.pk))
    assert "enabled: True; every_minutes: 30" in entry.change_message


@pytest.mark.parametrize(
    "body",
    [{"everyMinutes": 4}, {"everyMinutes": 99999}, {"mostPerRun": 0}, {"enabled": "perhaps"}],
)
def test_values_that_cannot_be_are_refused(feed, governor, client_for, body):
    answer = client_for(governor).patch(f"{FEEDS}{feed.pk}/", body, content_type=JSON)
    assert answer.status_code == 400
    assert next(iter(body)) in answer.content.decode()


def test_a_look_is_asked_for(feed, governor, client_for):
    answer = client_for(governor).post(f"{FEEDS}{feed.pk}/look/")
    assert (answer.status_code, answer.json()["asked"], answer.json()["running"]) == (
        202,
        True,
        True,
    )


def test_an_auditor_sees_and_changes_nothing(feed, auditor, client_for):
    client = client_for(auditor)
    assert client.get(FEEDS).status_code == 200
    assert client.get(f"{FEEDS}{feed.pk}/").json()["keyword"] == "tpmjs"
    refused = client.patch(f"{FEEDS}{feed.pk}/", {"enabled": True}, content_type=JSON)
    assert (refused.status_code, client.post(f"{FEEDS}{feed.pk}/look/").status_code) == (403, 403)
    feed.refresh_from_db()
    assert not feed.enabled


def test_nobody_else_sees_the_feeds(feed, alice, client, client_for):
    for url in (FEEDS, f"{FEEDS}{feed.pk}/"):
        assert client_for(alice).get(url).status_code == 403
        assert client.get(url).status_code == 401
    missing = f"{FEEDS}00000000-0000-0000-0000-000000000000/"
    assert client_for(alice).post(f"{FEEDS}{feed.pk}/look/").status_code == 403
    assert client_for(alice).get(missing).status_code == 403


def test_a_feed_that_is_not_there_is_told(governor, client_for):
    missing = f"{FEEDS}00000000-0000-0000-0000-000000000000/"
    assert client_for(governor).get(missing).status_code == 404
