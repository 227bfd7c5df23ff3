"""What reviewers see of the looks at registries, and who may start one."""

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from registry.importing.sync.feeds import feeds_ensure
from registry.models import SyncEntry, SyncFeed, SyncRun
from registry.roles import Role, role_give

pytestmark = pytest.mark.django_db


@pytest.fixture
def feed():
    feeds_ensure()
    return SyncFeed.objects.get(keyword="tpmjs")


def test_the_page_says_that_all_is_off_and_how_to_turn_it_on(feed, governor, client_for):
    page = client_for(governor).get("/packages/sync/").content.decode()

    assert "npm keyword “tpmjs”" in page
    assert "Never looked yet" in page
    assert "turn it on" in page
    assert "Package registries" in client_for(governor).get("/packages/").content.decode()


def test_only_those_who_govern_see_it_and_only_reviewers_look_now(
    feed, alice, bob, governor, client_for
):
    bob.user_permissions.add(Permission.objects.get(codename="view_syncfeed"))
    ask = f"/packages/sync/{feed.pk}/ask/"

    assert client_for(alice).get("/packages/sync/").status_code == 403
    assert client_for(alice).post(ask).status_code == 403
    assert client_for(bob).get("/packages/sync/").status_code == 200
    assert "Look now" not in client_for(bob).get("/packages/sync/").content.decode()
    assert client_for(bob).post(ask).status_code == 403
    assert client_for(governor).post(ask).status_code == 302
    feed.refresh_from_db()
    assert feed.asked


def test_a_look_under_way_asks_for_itself_again_and_an_error_is_shown(feed, governor, client_for):
    run = SyncRun.objects.create(feed=feed, found=7)
    client = client_for(governor)
    page = client.get("/packages/sync/").content.decode()
    assert "7 packages looked at so far" in page
    assert 'hx-trigger="every 2s"' in page

    error = {"message": "The npm registry offers no search.", "hint": "h", "code": "c"}
    SyncFeed.objects.update(last_error=error, last_at=timezone.now())
    SyncRun.objects.update(error=error, finished_at=timezone.now())
    assert error["message"] in client.get("/packages/sync/").content.decode()
    assert error["message"] in client.get(f"/packages/sync/runs/{run.pk}/").content.decode()


def test_a_run_lists_what_it_noticed_in_few_queries(
    feed, governor, client_for, django_assert_max_num_queries
):
    run = SyncRun.objects.create(feed=feed, found=60, new=50, finished_at=timezone.now())
    SyncEntry.objects.bulk_create(
        SyncEntry(run=run, ecosystem="npm", name=f"p{i}", version="1.0.0", state="waiting")
        for i in range(50)
    )
    client = client_for(governor)
    with django_assert_max_num_queries(9):
        page = client.get(f"/packages/sync/runs/{run.pk}/").content.decode()
    assert "p49" in page


def test_the_admin_governs_feeds_and_refuses_what_cannot_be(feed, governor, client_for):
    client = client_for(governor)
    given = {"kind": "keyword", "enabled": "on", "every_minutes": "60", "most_per_run": "50"}

    bad = client.post("/admin/registry/syncfeed/add/", {**given, "keyword": "two words"})
    assert "use one word" in bad.content.decode()
    bad = client.post("/admin/registry/syncfeed/add/", {**given, "kind": "known", "keyword": "x"})
    assert "Leave it empty" in bad.content.decode()
    assert (
        client.post("/admin/registry/syncfeed/add/", {**given, "keyword": "mcp"}).status_code == 302
    )
    del given["kind"]
    changed = client.post(f"/admin/registry/syncfeed/{feed.pk}/change/", given)
    assert changed.status_code == 302
    feed.refresh_from_db()
    assert (feed.enabled, feed.keyword) == (True, "tpmjs")


def test_the_role_of_a_governor_turns_feeds_on_and_that_of_an_auditor_reads(
    feed, alice, bob, client_for
):
    role_give(alice, Role.GOVERNOR)
    role_give(bob, Role.AUDITOR)
    change = f"/admin/registry/syncfeed/{feed.pk}/change/"
    given = {"enabled": "on", "every_minutes": "60", "most_per_run": "50"}

    assert client_for(bob).get("/packages/sync/").status_code == 200
    assert client_for(bob).get(change).status_code == 200
    assert client_for(bob).post(change, given).status_code == 403
    assert client_for(alice).post(change, given).status_code == 302
    feed.refresh_from_db()
    assert feed.enabled
