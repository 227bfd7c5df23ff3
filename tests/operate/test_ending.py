"""A web process that is told to end sends its watchers to another one, which goes on for them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.tokens import token_create
from chat.event_writer import writer
from chat.models.turn import TurnStatus
from tests import factories
from tests.live import eventually
from tests.web_process import web_process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("live")]

SOON = 60


def said(lines: Iterator[str], word: str) -> None:
    """Read on until a line has this word."""
    assert any(word in line for line in lines), f"{word} was not said"


def test_a_watcher_of_another_processs_turn_goes_on_where_it_was(
    alice: User, tmp_path: Path
) -> None:
    turn = factories.make_turn(
        factories.make_conversation(alice),
        model="demo/offline",
        status=TurnStatus.RUNNING,
        heartbeat_at=timezone.now() + timedelta(days=1),  # it runs elsewhere
    )
    bearer = {
        "Authorization": f"Bearer {token_create(alice, name='t')[1]}",
        "Accept": "text/event-stream",
    }
    path = f"/api/v1/conversations/{turn.conversation_id}/turns/{turn.pk}/events/"
    writer().write(turn.pk, "turn.started", {}).result(SOON)
    with (
        web_process(tmp_path, patience=60) as (first, at),
        web_process(tmp_path) as (_, other),
    ):
        url = f"http://127.0.0.1:{at}{path}"
        with httpx.stream("GET", url, headers=bearer, timeout=60) as watched:
            lines = watched.iter_lines()
            said(lines, "turn.started")
            first.popen.send_signal(signal.SIGTERM)
            rest = list(lines)  # it ends whole, or httpx would complain
        assert ": the server ends; come back with Last-Event-ID" in rest
        assert "retry: 500" in rest
        assert first.popen.wait(30) in (0, -signal.SIGTERM)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{at}/healthz")
        writer().write(turn.pk, "text.delta", {"text": "and on"}).result(SOON)
        url, bearer["Last-Event-ID"] = f"http://127.0.0.1:{other}{path}", "1"
        with httpx.stream("GET", url, headers=bearer, timeout=60) as watched:
            lines = watched.iter_lines()
            assert "id: 2" in next(lines)
            said(lines, "and on")
    eventually(lambda: first.popen.returncode is not None, what="the end")
