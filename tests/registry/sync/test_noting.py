"""What registries tell of packages that are here: downloads, deprecations, newest versions."""

import threading

import pytest
from django.db import connection

from registry.importing.sync.feeds import feed_lease, feed_named, feeds_ensure
from registry.importing.sync.noting import registry_note
from registry.importing.sync.running import due_sync
from registry.importing.sync.sources import Found, known_page
from registry.models import Package, SyncEntry, SyncFeed, SyncRun
from registry.review.staging import package_announce
from registry.sandbox.contract import NewestVersion, RegistryVersion
from registry.sandbox.service.npm_asking import _package
from tests.factories import make_package

pytestmark = pytest.mark.django_db


def note(package, **told):
    registry_note([Found(ecosystem=package.ecosystem, name=package.name, **told)])
    package.refresh_from_db()
    return package


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ({"monthly": 12, "weekly": 3}, 12),
        ({"monthly": 2**80}, 2**53),
        ({"monthly": -1}, None),
        ({"monthly": True}, None),
        ({"monthly": "12"}, None),
        ("many", None),
        (None, None),
    ],
)
def test_downloads_are_read_where_the_registrys_search_tells_of_them(said, count):
    assert _package({"package": {"name": "a"}, "downloads": said})["downloads"] == count


def test_downloads_are_written_when_they_have_changed_markedly():
    package = make_package()
    assert note(package).downloads is None
    assert note(package, downloads=100).downloads == 100
    assert note(package, downloads=105).downloads == 100
    assert note(package, downloads=0).downloads == 0
    assert note(package, downloads=7, error="odd").downloads == 0


def test_a_package_of_another_ecosystem_keeps_its_own():
    pypi = make_package(ecosystem="pypi", name="same")
    make_package(name="same")
    registry_note([Found(ecosystem="npm", name="same", downloads=9)])
    pypi.refresh_from_db()
    assert pypi.downloads is None
    assert Package.objects.get(ecosystem="npm", name="same").downloads == 9


def test_a_deprecated_version_is_shown_on_the_package_and_found_in_its_review(alice, client_for):
    package = make_package(added_by=alice, review_status="candidate")
    note(package, deprecated={"1.0.0": "nobody <b>mends</b> it", "2.0.0": "no"})
    page = client_for(alice).get(f"/packages/{package.pk}/").content.decode()
    assert "calls version 1.0.0 deprecated: “nobody &lt;b&gt;mends&lt;/b&gt; it”" in page
    proposal = package_announce(package, by=alice, cause="import")
    (found,) = [item for item in proposal.findings if item["code"] == "deprecated_version"]
    assert (found["severity"], "nobody" in found["message"]) == ("warn", True)

    assert note(package, deprecated={}).deprecated == ""
    assert (
        "Its registry calls"
        not in client_for(alice).get(f"/packages/{package.pk}/").content.decode()
    )


class Index:
    """A sandbox whose registries tell of newest versions."""

    def newest(self, *, ecosystem, name, current=""):
        gone = RegistryVersion()
        if ecosystem == "pypi":  # an index tells of the newest alone
            newest = RegistryVersion(version="2.1", integrity="sha256:aa")
            return NewestVersion(newest=newest, current=gone)
        said = RegistryVersion(version=current, deprecated="old")
        return NewestVersion(newest=said, current=said)


def test_the_newest_version_of_a_python_package_waits_for_its_import(monkeypatch):
    monkeypatch.setattr("registry.importing.sync.sources.sandbox", Index)
    make_package(ecosystem="pypi", name="kit", version="2.0")
    (found,) = known_page(feed_named(""), {}).found
    assert (found.version, found.integrity, found.note, found.now) == ("2.1", "sha256:aa", "", "")
    feed = feed_named("")
    SyncFeed.objects.filter(pk=feed.pk).update(asked=True)
    due_sync()
    entry = SyncEntry.objects.get()
    assert (entry.ecosystem, entry.version, entry.previous) == ("pypi", "2.1", "2.0")
    assert entry.state == "waiting"


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_share_the_feeds_and_look_at_each_package_once(monkeypatch):
    monkeypatch.setattr("registry.importing.sync.sources.sandbox", Index)
    for number in range(15):
        make_package(ecosystem="pypi", name=f"kit{number}", version="2.0")
    feeds_ensure()
    feed = feed_named("")
    SyncFeed.objects.filter(pk=feed.pk).update(asked=True)
    together = threading.Barrier(2)
    looked = []

    def work():
        try:
            together.wait()
            looked.append(due_sync())
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(len(runs) for runs in looked) == [0, 1]
    assert (SyncRun.objects.get().found, SyncEntry.objects.count()) == (15, 15)
    assert feed_lease() is None
