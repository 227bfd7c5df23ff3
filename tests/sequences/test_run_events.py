"""A run as it goes on, for its page and for programs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from redis import Redis

from config.lib.event_hub import hub
from config.lib.threads import in_thread
from sequences import following, news, running
from sequences.following import follow, state_of
from sequences.models import Run
from sequences.states import run_cancel
from sequences.streams import json_stream, page_stream
from tests.sequences import workshop
from tests.sequences.asking import asking

pytestmark = pytest.mark.django_db(transaction=True)

SOON = 60
"""Seconds in which what is to happen has happened, on however busy a machine."""


@pytest.fixture(autouse=True)
def _close_connections() -> Iterator[None]:
    yield
    connections.close_all()


@pytest.fixture
def run(alice: User) -> Run:
    echo = workshop.make("echo")
    return workshop.run_of(workshop.sequence_of(alice, *[workshop.step(echo)] * 2), alice)


def digest(run: Run) -> str:
    state = state_of(run.pk)
    assert state is not None
    return state.digest


def is_heard() -> bool:
    """Tell whether somebody listens, and would hear news."""
    listeners = hub()._everybody()
    return bool(listeners) and all(each.hears for each in listeners)


async def collect(
    stream: Any, act: Callable[[], Any] | None = None, *, behind_the_first: bool = False
) -> list[str]:
    """Read a stream to its end.

    `act` is done in a thread once its reader hears news, or has told something `behind_the_first`.
    """
    told: list[str] = []

    async def read() -> None:
        async with aclosing(stream) as events:
            async for event in events:
                told.append(event)

    async with asyncio.timeout(SOON):
        reading = asyncio.create_task(read())
        if act is not None:
            while not (told if behind_the_first else is_heard()):
                await asyncio.sleep(0.02)
            await in_thread(act)
        await reading
    return told


def names(events: list[str]) -> list[str]:
    return [line[7:] for event in events for line in event.splitlines() if line[:7] == "event: "]


async def test_the_page_hears_that_its_run_changed_and_that_it_is_over(run: Run) -> None:
    seen = await in_thread(digest, run)
    events = await collect(page_stream(run.pk, seen=seen), lambda: running.execute(run.pk))
    assert names(events)[-2:] == ["changed", "end"]


async def test_a_page_that_shows_the_end_is_told_the_end_alone(run: Run) -> None:
    await in_thread(running.execute, run.pk)
    seen = await in_thread(digest, run)
    assert names(await collect(page_stream(run.pk, seen=seen))) == ["end"]
    assert names(await collect(page_stream(run.pk, seen="older"))) == ["changed", "end"]


async def test_news_arrives_long_before_the_rows_are_looked_at_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "REST_SECONDS", 60 * SOON)
    monkeypatch.setattr(following, "LOOK_SECONDS", 60 * SOON)
    seen = await in_thread(digest, run)
    events = await collect(page_stream(run.pk, seen=seen), lambda: run_cancel(run))
    assert names(events) == ["changed", "end"]


async def test_a_run_is_followed_without_any_news(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "_tell", lambda channel: None)
    monkeypatch.setattr(following, "REST_SECONDS", 0.2)
    seen = await in_thread(digest, run)
    events = await collect(page_stream(run.pk, seen=seen), lambda: run_cancel(run))
    assert names(events) == ["changed", "end"]


async def test_what_follows_in_quick_succession_is_told_once(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "GATHER_SECONDS", 3)  # which a busy machine may need for the run

    def hurry() -> None:
        for _ in range(20):
            news.tell(run.pk)
        running.execute(run.pk)

    seen = await in_thread(digest, run)
    events = await collect(page_stream(run.pk, seen=seen), hurry)
    assert len(names(events)) <= 4


async def test_silence_is_broken_so_that_the_connection_is_known_to_live(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "KEEPALIVE_SECONDS", 0.1)
    monkeypatch.setattr(following, "REST_SECONDS", 0.1)
    seen = await in_thread(digest, run)
    async with asyncio.timeout(SOON), aclosing(follow(run.pk, seen=seen)) as states:
        assert await anext(states) is None


async def test_the_stream_of_a_run_that_is_gone_ends(run: Run) -> None:
    gone = run.pk
    await in_thread(run.delete)
    assert names(await collect(page_stream(gone, seen=""))) == ["end"]


async def test_programs_are_told_each_step_and_how_the_run_stands(run: Run) -> None:
    events = await collect(
        json_stream(run.pk), lambda: running.execute(run.pk), behind_the_first=True
    )
    data = [json.loads(event.split("data: ", 1)[1]) for event in events]
    told = list(zip(names(events), data, strict=True))
    steps = {each["stepNumber"]: each["status"] for name, each in told if name == "step"}
    assert steps == {1: "succeeded", 2: "succeeded"}
    runs = [each["status"] for name, each in told if name == "run"]
    assert (runs[0], runs[-1]) == ("queued", "succeeded")
    assert told[-1] == ("end", {"status": "succeeded"})


def test_the_addresses_stream_to_whoever_has_the_run(
    run: Run, alice: User, client_for: Callable[[User], Client]
) -> None:
    client = client_for(alice)
    for url in (f"/runs/{run.pk}/events", f"/api/v1/runs/{run.pk}/events/"):
        answer = client.get(url, headers={"Accept": "text/event-stream"})
        assert (answer.status_code, answer["Content-Type"]) == (200, "text/event-stream")
        assert answer["Cache-Control"] == "no-cache"
        answer.close()


def test_a_question_that_is_asked_is_another_state(alice: User) -> None:
    request = asking(alice)
    before = digest(request.run)
    run_cancel(request.run)
    assert digest(request.run) != before


def test_a_redis_that_is_away_fails_no_write_and_is_tried_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    publisher = news.Publisher(Redis(port=1, socket_connect_timeout=0.2))
    monkeypatch.setattr(news, "REDIS_SECONDS", 0)
    monkeypatch.setattr(news, "_publisher", lambda pid: publisher)
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "succeeded"
    news.tell(run.pk)
    workshop.until(publisher.waiting.empty)
    workshop.until(lambda: "Nobody hears" in caplog.text)


def test_news_of_many_changes_are_passed_on_together() -> None:
    told: list[set[str]] = []

    class Kept(news.Publisher):
        def _publish(self, channels: set[str]) -> None:
            time.sleep(0.1)
            told.append(channels)

    publisher = Kept(Redis())
    for _ in range(100):
        publisher.waiting.put("run:one")
    workshop.until(lambda: publisher.waiting.empty() and told)
    assert len(told) < 100
    assert set().union(*told) == {"run:one"}
