"""The product's ASGI handler: middleware, plain and asynchronous views, and streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import AsyncRequestFactory
from django.urls import path

from config.handling import Handler
from config.lib.event_streams import event_stream
from tests.live import eventually

PATIENCE = 60
"""Seconds for each part of an answer; the communicator's own second is short on a busy machine."""

threads: list[str] = []
released = threading.Event()


def here() -> str:
    return str(threading.get_ident())


MAIN = here()


def noting(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[Any], HttpResponse]:
    def middleware(request: HttpRequest) -> HttpResponse:
        threads.append(here())
        return get_response(request)

    return middleware


def plain(_: HttpRequest) -> HttpResponse:
    threads.append(here())
    return HttpResponse("plain")


async def asynchronous(_: HttpRequest) -> HttpResponse:
    threads.append(here())
    await asyncio.sleep(0)
    return HttpResponse("asynchronous")


async def slow(_: HttpRequest) -> HttpResponse:
    threads.append("began")
    try:
        await asyncio.sleep(60)
    finally:
        threads.append("ended")
    return HttpResponse("nobody waits for it")


def held_up(_: HttpRequest) -> HttpResponse:
    threads.append(here())
    assert released.wait(PATIENCE)
    return HttpResponse("held up")


def events(_: HttpRequest) -> StreamingHttpResponse:
    threads.append(here())

    async def parts() -> AsyncGenerator[str]:
        yield "a"
        while not released.is_set():
            await asyncio.sleep(0.01)
        yield "b"

    return event_stream(parts())


def stream(_: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[str]:
        for part in ("a", "b"):
            await asyncio.sleep(0)
            yield part

    return StreamingHttpResponse(parts())


urlpatterns = [
    path("plain/", plain),
    path("async/", asynchronous),
    path("slow/", slow),
    path("held-up/", held_up),
    path("events/", events),
    path("stream/", stream),
]


@pytest.fixture(autouse=True)
def _site(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = [f"{__name__}.noting"]
    threads.clear()
    released.clear()


@pytest.fixture
def ends() -> Iterator[list[str]]:
    """Give the threads in which requests ended."""
    seen: list[str] = []

    def end(**_: object) -> None:
        seen.append(here())

    request_finished.connect(end, sender=Handler)
    yield seen
    request_finished.disconnect(end, sender=Handler)


def asking(address: str) -> ApplicationCommunicator:
    return ApplicationCommunicator(Handler(), AsyncRequestFactory()._base_scope(path=address))


async def answer_of(asked: ApplicationCommunicator) -> bytes:
    await asked.send_input({"type": "http.request"})
    assert (await asked.receive_output(PATIENCE))["status"] == 200
    whole = b""
    while True:
        message = await asked.receive_output(PATIENCE)
        whole += message.get("body", b"")
        if not message.get("more_body"):
            await asked.wait(PATIENCE)
            return whole


def body_of(address: str) -> bytes:
    async def ask() -> bytes:
        return await answer_of(asking(address))

    return asyncio.run(ask())


def test_middleware_and_view_share_a_thread_beside_the_event_loop():
    assert body_of("/plain/") == b"plain"
    middleware, view = threads
    assert middleware == view != MAIN


def test_an_asynchronous_view_runs_in_the_event_loop():
    assert body_of("/async/") == b"asynchronous"
    assert threads[1] == MAIN


def test_a_stream_comes_in_parts():
    assert body_of("/stream/") == b"ab"


def test_one_request_after_the_other_has_the_same_thread():
    body_of("/plain/")
    body_of("/plain/")
    assert len(set(threads)) == 1


def test_a_request_that_comes_meanwhile_has_a_thread_of_its_own():
    async def both() -> None:
        first = asking("/held-up/")
        await first.send_input({"type": "http.request"})
        await asyncio.to_thread(eventually, lambda: len(threads) == 2)
        assert await answer_of(asking("/plain/")) == b"plain"
        released.set()
        await first.wait(PATIENCE)

    asyncio.run(both())
    held, _, other, _ = threads
    assert held != other


def test_a_request_is_over_in_the_thread_of_its_view(ends: list[str]):
    body_of("/plain/")
    assert ends == threads[1:]


def test_a_stream_is_over_when_its_last_part_is_sent(ends: list[str]):
    assert body_of("/stream/") == b"ab"
    assert len(ends) == 1


def test_a_stream_of_events_leaves_its_thread_to_others(ends: list[str]):
    async def both() -> None:
        first = asking("/events/")
        await first.send_input({"type": "http.request"})
        await first.receive_output(PATIENCE)
        assert (await first.receive_output(PATIENCE))["body"] == b"a"
        assert await answer_of(asking("/plain/")) == b"plain"
        released.set()
        assert (await first.receive_output(PATIENCE))["body"] == b"b"
        await first.wait(PATIENCE)

    asyncio.run(both())
    assert len(set(threads)) == 1
    assert len(ends) == 2
    assert ends[1] not in threads


def test_an_asynchronous_view_hears_that_its_client_left(ends: list[str]):
    async def leave() -> None:
        asked = asking("/slow/")
        await asked.send_input({"type": "http.request"})
        await asyncio.to_thread(eventually, lambda: "began" in threads)
        await asked.send_input({"type": "http.disconnect"})
        await asked.wait(PATIENCE)
        assert asked.output_queue.empty()

    asyncio.run(leave())
    assert threads[1:] == ["began", "ended"]
    assert ends == threads[:1]


def test_a_client_that_left_while_a_view_was_at_work_is_sent_nothing(ends: list[str]):
    async def leave() -> None:
        asked = asking("/held-up/")
        await asked.send_input({"type": "http.request"})
        await asyncio.to_thread(eventually, lambda: len(threads) == 2)
        await asked.send_input({"type": "http.disconnect"})
        for _ in range(20):  # of the event loop, until the handler has heard of it
            await asyncio.sleep(0)
        released.set()
        await asked.wait(PATIENCE)  # not for the view: nothing can interrupt its thread
        await asyncio.to_thread(eventually, lambda: ends, what="the end of the view")
        assert asked.output_queue.empty()

    asyncio.run(leave())
    assert ends == threads[1:]


def test_a_client_that_leaves_before_its_request_is_whole_is_sent_nothing():
    async def leave() -> None:
        asked = asking("/plain/")
        await asked.send_input({"type": "http.request", "body": b"a", "more_body": True})
        await asked.send_input({"type": "http.disconnect"})
        await asked.wait(PATIENCE)
        assert asked.output_queue.empty()

    asyncio.run(leave())
    assert threads == []
