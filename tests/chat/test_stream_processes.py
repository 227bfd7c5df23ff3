"""Streams over several processes: many at once, one that is killed, and readers that go away."""

from __future__ import annotations

import signal
import threading
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone
from redis import Redis

from agents.tokens import token_create
from chat.event_writer import writer
from chat.events import channel_of
from chat.models import Turn
from chat.models.turn import TurnStatus
from tests import factories
from tests.fakes.model_server import MODEL, ModelServer, Reply
from tests.live import eventually
from tests.web_process import web_process

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("live")]

SOON = 60


@pytest.fixture
def turn(alice: User) -> Turn:
    """A turn that runs elsewhere."""
    return factories.make_turn(
        factories.make_conversation(alice),
        model="demo/offline",
        status=TurnStatus.RUNNING,
        heartbeat_at=timezone.now() + timedelta(days=1),
    )


@pytest.fixture
def bearer(alice: User) -> dict[str, str]:
    token = token_create(alice, name="test")[1]
    return {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}


def events_of(turn: Turn) -> str:
    return f"/api/v1/conversations/{turn.conversation_id}/turns/{turn.pk}/events/"


def subscribers(turn: Turn) -> int:
    with Redis.from_url(settings.REDIS_URL) as redis:
        count: int = redis.pubsub_numsub(channel_of(turn.pk))[0][1]
        return count


def test_a_process_serves_more_streams_than_it_has_connections_and_lets_go_of_them_at_once(
    turn, bearer, tmp_path
):
    writer().write(turn.pk, "turn.started", {}).result(SOON)
    most: int = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
    with web_process(tmp_path) as (process, port):
        limits = httpx.Limits(max_connections=None)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", limits=limits, timeout=60) as client:
            streams = [
                client.stream("GET", events_of(turn), headers=bearer) for _ in range(2 * most)
            ]
            answers = [stream.__enter__() for stream in streams]
            told = [answer.iter_text() for answer in answers]
            for each in told:
                assert next(each).startswith("id: 1\nevent: turn.started")
            eventually(lambda: subscribers(turn) == 1, what="one subscription for all")
            threads = Path(f"/proc/{process.popen.pid}/task")
            assert len(list(threads.iterdir())) < 2 * most, "a thread for each stream"
            assert client.get("/api/v1/conversations/", headers=bearer).status_code != 500
            for stream in streams:
                stream.__exit__(None, None, None)
        eventually(lambda: not subscribers(turn), what="letting go")


def test_a_turn_is_followed_in_another_process_which_tells_that_the_first_was_killed(
    alice, model: ModelServer, bearer, tmp_path
):
    agent = factories.make_agent(alice, model=MODEL, discovery_mode="linked")
    conversation = factories.make_conversation(alice, agent)
    env = {"OPENAI_API_BASE": model.url, "OPENAI_API_KEY": "sk-scripted"}
    model.enqueue(Reply("One two three.", hold=(hold := threading.Event())))
    with web_process(tmp_path, env=env) as (first, at), web_process(tmp_path) as (_, other):
        path = f"/api/v1/conversations/{conversation.pk}/messages/"
        url = f"http://127.0.0.1:{at}{path}"
        with httpx.stream("POST", url, json={"content": "Hi"}, headers=bearer, timeout=60) as sent:
            turn = Turn.objects.get(pk=sent.headers["Turn-Id"])
            url = f"http://127.0.0.1:{other}{events_of(turn)}"
            with httpx.stream("GET", url, headers=bearer, timeout=60) as followed:
                lines = followed.iter_lines()
                while "One two" not in next(lines):  # live, from the other process
                    pass
                first.popen.kill()
                first.popen.wait()
                # what would be so once the process has been silent for long enough
                Turn.objects.filter(pk=turn.pk).update(
                    heartbeat_at=timezone.now() - timedelta(minutes=1)
                )
                rest = list(lines)
    hold.set()
    assert "event: turn.failed" in rest
    assert any('"turn_interrupted"' in line for line in rest)
    turn.refresh_from_db()
    assert turn.status == TurnStatus.FAILED


def test_a_process_that_is_told_to_end_closes_its_turns_at_once_and_waits_for_no_stream(
    alice, model: ModelServer, bearer, tmp_path
):
    agent = factories.make_agent(alice, model=MODEL, discovery_mode="linked")
    path = f"/api/v1/conversations/{factories.make_conversation(alice, agent).pk}/messages/"
    env = {"OPENAI_API_BASE": model.url, "OPENAI_API_KEY": "sk-scripted"}
    model.enqueue(Reply("One two three.", hold=(hold := threading.Event())))
    with web_process(tmp_path, env=env, patience=600) as (process, port):
        url = f"http://127.0.0.1:{port}{path}"
        with httpx.stream("POST", url, json={"content": "Hi"}, headers=bearer, timeout=60) as sent:
            lines = sent.iter_lines()
            while "One two" not in next(lines):
                pass
            process.popen.send_signal(signal.SIGTERM)
            rest = list(lines)
        # it does not wait for the stream, which it may do for ten minutes
        process.popen.wait(SOON)
    hold.set()
    assert "event: turn.failed" in rest
    assert any('"turn_interrupted"' in line for line in rest)
