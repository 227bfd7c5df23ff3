"""Headless Chromium on the running product."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.fakes.model_server import ModelServer, served
from tests.live import Live, live, live_processes
from tests.web_process import web_process

__all__ = ["live", "live_processes"]

SCREENSHOTS = Path(os.environ.get("OUTFITTER_SCREENSHOTS", "test-output/screenshots"))
FAILED = pytest.StashKey[bool]()
SIZES = {"wide": (1440, 900), "narrow": (375, 812)}
PATIENCE = 30_000
"""Milliseconds for what a worker does, or a page on a busy machine; green tests wait for less."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, object, object]:
    """Remember a failure, so that the page can be pictured before it is closed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or getattr(report, "failed", False)
    return report


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Start the browser once, and end it before other tests run in this process.

    Playwright's synchronous interface keeps an event loop in this thread: while it does, Django
    would refuse to use the database although nothing here is asynchronous, and tests that are
    asynchronous could not run.
    """
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or "/usr/bin/chromium", args=FLAGS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def scripted_model() -> Iterator[ModelServer]:
    with served() as model:
        yield model


@pytest.fixture(scope="package")
def scripted_web(
    live_processes: Live, scripted_model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """Run one more web process, whose models answer by a script."""
    env = {"OPENAI_API_BASE": scripted_model.url, "OPENAI_API_KEY": "sk-scripted"}
    with web_process(tmp_path_factory.mktemp("scripted"), env=env) as (_, port):
        yield replace(live_processes, url=f"http://127.0.0.1:{port}")


@pytest.fixture
def page(live: Live, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Open a page; a script error or a refused resource fails the test."""
    context = chromium.new_context(
        base_url=live.url, viewport={"width": 1440, "height": 900}, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        # an event alone is how htmx logs that a stream of events broke off
        refused = r"status of 4\d\d|Status Error Code 4\d\d"
        broken_off = r"htmx:(sendAbort|afterRequest)|^\[object Event\]$"
        if message.type == "error" and not re.search(f"{refused}|{broken_off}", message.text):
            problems.append(f"{message.text} ({message.location})")

    page.on("console", note)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    if request.node.stash.get(FAILED, False):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"failed-{request.node.name}.png", full_page=True)
    context.close()
    assert not problems, "\n".join(sorted(set(problems)))


@pytest.fixture
def sign_in(page: Page) -> Callable[[str], None]:
    """Return a function that signs a person in by the form; passwords are `secret-<username>`."""

    def act(username: str) -> None:
        page.goto("/login/")
        page.get_by_label("Username").fill(username)
        page.get_by_label("Password").fill(f"secret-{username}")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
        page.wait_for_load_state()  # and its scripts: keys that are pressed before are not heard

    return act


@pytest.fixture
def shoot(request: pytest.FixtureRequest) -> Callable[[Page, str], None]:
    """Return a function that keeps pictures of a page: wide and narrow, light and dark."""

    def take(page: Page, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        before = page.viewport_size
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                page.screenshot(
                    path=SCREENSHOTS / f"{name}-{size}-{scheme}.png",
                    full_page=size == "wide",
                    caret="initial",  # hiding it would inject a style that the page's CSP forbids
                )
        page.emulate_media(color_scheme="light")
        if before:
            page.set_viewport_size(before)

    return take
