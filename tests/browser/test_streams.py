"""A page whose server is killed under it takes the answer up where it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from chat.event_writer import writer
from chat.models import Message, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from tests import factories
from tests.live import Live, free_port
from tests.web_process import web_process

RECONNECTED = 30_000
"""Milliseconds within which a browser has tried again."""


@pytest.fixture
def turn(live: Live) -> Turn:
    """A turn that runs elsewhere: its events are written by the test."""
    alice = factories.make_person("alice")
    turn = factories.make_turn(
        factories.make_conversation(alice),
        model="demo/offline",
        status=TurnStatus.RUNNING,
        heartbeat_at=timezone.now() + timedelta(days=1),
    )
    Message.objects.create(turn=turn, position=0, role=Role.USER, content="Count for me")
    tell(turn, "turn.started", model="demo/offline")
    return turn


def tell(turn: Turn, event: str, **data: object) -> None:
    writer().write(turn.pk, event, data).result(RECONNECTED / 1000)


@contextmanager
def opened(turn: Turn, chromium: Browser, port: int) -> Iterator[Page]:
    """Open the conversation's page, signed in."""
    client = Client()
    client.force_login(turn.conversation.user)
    url = f"http://127.0.0.1:{port}"
    context = chromium.new_context(base_url=url)
    context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": url}]
    )
    page = context.new_page()
    page.goto(f"/chat/{turn.conversation_id}/")
    yield page
    context.close()


@contextmanager
def in_its_place(port: int) -> Iterator[threading.Event]:
    """Answer every request as a proxy does whose server is gone; tells when it was asked."""
    asked = threading.Event()

    class BadGateway(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(502)
            asked.set()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), BadGateway) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield asked
        server.shutdown()


@pytest.mark.parametrize("behind_proxy", [False, True])
def test_a_page_goes_on_where_it_was_when_its_server_was_killed(
    turn: Turn, chromium: Browser, tmp_path: Path, behind_proxy: bool
) -> None:
    port = free_port()
    with web_process(tmp_path, port=port) as (server, _), opened(turn, chromium, port) as page:
        tell(turn, "text.delta", text="One, ")
        tell(turn, "tool.call", id="a", name="first", arguments={})
        expect(page.locator(".tool-card")).to_have_count(1)
        server.popen.kill()
        server.popen.wait()
        tell(turn, "text.delta", text="two, ")
        tell(turn, "tool.call", id="b", name="second", arguments={})
        if behind_proxy:
            with in_its_place(port) as asked:
                assert asked.wait(RECONNECTED / 1000)
        with web_process(tmp_path, port=port):
            expect(page.locator(".tool-card")).to_have_count(2, timeout=RECONNECTED)
            tell(turn, "text.delta", text="three.")
            expect(page.get_by_text("three.")).to_be_visible()
            parts = page.locator(f"#turn-{turn.pk}-parts")
            for word in ("One,", "two,", "three.", "first", "second"):
                assert parts.inner_text().count(word) == 1, parts.inner_text()
            tell(turn, "turn.completed", status="completed", usage={})
            expect(page.locator(".spinner")).to_have_count(0)
