"""A registry names what no database can hold; the look goes on with the others."""

from __future__ import annotations

from typing import Any

import pytest

from registry.importing.sync import sources
from registry.importing.sync.feeds import feed_ask, feed_named
from registry.importing.sync.running import due_sync
from registry.models import SyncEntry
from registry.sandbox.contract import FoundPackage, NewestVersion, RegistryPage, RegistryVersion
from tests.factories import make_package

pytestmark = pytest.mark.django_db

ODD = ["a\x00b", "a\ud800b"]


class Registry:
    """Answers a search and a look-up."""

    def __init__(self, *names: str, version: str = "1.0.0") -> None:
        self.names, self.version = names, version

    def search(self, **_: Any) -> RegistryPage:
        found = [
            FoundPackage(name=name, version=self.version, date="", keywords=("tpmjs",))
            for name in self.names
        ]
        return RegistryPage(packages=tuple(found), total=len(found))

    def newest(self, **_: Any) -> NewestVersion:
        said = RegistryVersion(version=self.version, integrity=self.version)
        return NewestVersion(newest=said, current=said)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.importing.sync.feeds._enqueue", lambda: None)


@pytest.mark.parametrize("odd", ODD)
def test_a_name_that_cannot_be_stored_is_left_out(
    monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    monkeypatch.setattr(sources, "sandbox", lambda: Registry(odd, "fine"))
    feed_ask(feed_named("tpmjs"), user=None)
    (run,) = due_sync()
    assert run.finished_at is not None
    assert list(SyncEntry.objects.values_list("name", flat=True)) == ["fine"]


@pytest.mark.parametrize("odd", ODD)
def test_a_version_that_cannot_be_stored_is_cleaned(
    monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    make_package(name="fine")
    monkeypatch.setattr(sources, "sandbox", lambda: Registry(version=odd))
    feed_ask(feed_named(""), user=None)
    (run,) = due_sync()
    assert run.finished_at is not None
    assert "\x00" not in SyncEntry.objects.get().version
