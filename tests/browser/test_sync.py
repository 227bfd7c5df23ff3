"""Somebody uploads a Python module; a reviewer reads how registries are looked through."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from registry.importing.sync.feeds import feeds_ensure
from registry.models import SyncEntry, SyncFeed, SyncRun
from tests.factories import make_person

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

MODULE = (
    '"""Greets."""\n\n\ndef greet(name: str) -> str:\n    """Greet a person."""\n    return "Hi"\n'
)


@pytest.fixture
def admin(live: object) -> User:
    """Make somebody who reviews packages."""
    return make_person("admin", is_superuser=True, is_staff=True)


def test_a_module_is_uploaded_and_its_mistakes_are_told(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/packages/")
    page.get_by_role("radio", name="Upload").check()
    shoot(page, "upload-form")
    file = page.get_by_label("File", exact=True)
    file.set_input_files({"name": "hi.py", "mimeType": "text/x-python", "buffer": b"def f(:\n"})
    page.get_by_role("button", name="Import").click()
    main = page.get_by_role("main")
    expect(main).to_contain_text("hi.py, line 1")
    shoot(page, "upload-mistake")

    page.goto("/packages/")
    page.get_by_role("radio", name="Upload").check()
    file.set_input_files({"name": "hi.py", "mimeType": "text/x-python", "buffer": MODULE.encode()})
    page.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="hi@").click(timeout=60_000)
    expect(main).to_contain_text("Uploaded module")
    expect(main.get_by_role("link", name="Greet").first).to_be_visible()
    shoot(page, "upload-package")


def test_a_reviewer_reads_how_registries_are_looked_through(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    feeds_ensure()
    sign_in("admin")
    page.goto("/packages/")
    page.get_by_role("link", name="Package registries").click()
    main = page.get_by_role("main")
    expect(main).to_contain_text("Never looked yet")
    shoot(page, "sync-off")

    now = timezone.now()
    error = {
        "message": "The npm registry at registry.internal offers no search (HTTP 404).",
        "hint": "Packages can still be imported by name.",
        "code": "registry_no_search",
    }
    later = {"last_at": now, "next_at": now + timedelta(hours=1)}
    SyncFeed.objects.filter(kind="known").update(enabled=True, last_error=error, **later)
    feed = SyncFeed.objects.get(keyword="tpmjs")
    SyncFeed.objects.filter(pk=feed.pk).update(enabled=True, **later)
    run = SyncRun.objects.create(feed=feed, found=40, new=2, unchanged=38, finished_at=now)
    for name, state, message in (
        ("@acme/tools-weather", "waiting", "The newest version has install scripts."),
        ("@acme/tools-maps", "failed", "The registry names no newest version."),
    ):
        SyncEntry.objects.create(
            run=run, ecosystem="npm", name=name, version="1.2.0", state=state, message=message
        )
    page.reload()
    expect(main).to_contain_text("offers no search")
    expect(main.get_by_role("button", name=re.compile("Look now.*tpmjs"))).to_be_visible()
    shoot(page, "sync-on")
    main.get_by_role("link", name="40 found").click()
    expect(main).to_contain_text("@acme/tools-weather")
    shoot(page, "sync-run")
