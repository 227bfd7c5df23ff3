"""A stream ends soon after the token that it was asked for with; one of a session goes on."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connections
from django.test import AsyncClient, Client
from django.utils import timezone

from agents import lifelines
from agents.bearer import Bearer, bearer_of
from agents.lifelines import while_working
from agents.models import ApiToken, OAuthClient
from agents.models.oauth_client import ClientState
from agents.oauth.clients import client_decide
from agents.tokens import token_create, token_revoke
from config.lib.threads import in_thread
from tests.agents.oauth.flows import Person, make_client
from tests.factories import make_conversation, make_turn, make_user
from tests.sequences import workshop

pytestmark = pytest.mark.django_db(transaction=True)

SOON = 60


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(lifelines, "LOOK_SECONDS", 0.1)
    yield
    connections.close_all()


@pytest.fixture
def alice():
    return make_user("alice")


@pytest.fixture
async def caller(alice) -> AsyncIterator[AsyncClient]:
    yield AsyncClient()
    await sync_to_async(connections.close_all)()


async def endless():
    """Yield one event, and then none for long."""
    yield "event: here\n\n"
    await asyncio.sleep(600)


def bearer_made(alice: User) -> Bearer:
    return bearer_of(token_create(alice, name="x")[1])


def revoke(alice: User, key: str) -> None:
    token_revoke(alice, ApiToken.objects.get(user=alice).pk)


def expire(alice: User, key: str) -> None:
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


def deactivate(alice: User, key: str) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)


def delete(alice: User, key: str) -> None:
    alice.delete()


@pytest.mark.parametrize("act", [revoke, expire, deactivate, delete])
async def test_a_stream_ends_when_its_personal_token_no_longer_works(alice, act):
    bearer = await in_thread(bearer_made, alice)
    await is_ended_by(bearer, act, alice, bearer.key)


def refuse(client: OAuthClient) -> None:
    client_decide(client, ClientState.REFUSED, by=User.objects.create_superuser("governor"))


def refresh(client: OAuthClient) -> None:
    OAuthClient.objects.get(pk=client.pk).accesstoken_set.all().delete()


def leave(client: OAuthClient) -> None:
    User.objects.filter(username="alice").update(is_active=False)


def go(client: OAuthClient) -> None:
    User.objects.get(username="alice").delete()


@pytest.mark.parametrize("act", [refuse, refresh, leave, go])
async def test_a_stream_ends_when_its_oauth_token_no_longer_works(alice, act):
    def let_in():
        client, browser = make_client(), Client()
        browser.force_login(alice)
        return client, bearer_of(Person(browser).token(client)["access_token"])

    client, bearer = await in_thread(let_in)
    await is_ended_by(bearer, act, client)


async def is_ended_by(bearer, act, *given):
    told = []

    async def read():
        async for event in while_working(bearer, endless()):
            told.append(event)

    async with asyncio.timeout(SOON):
        reading = asyncio.create_task(read())
        while not told:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)  # its token is looked at meanwhile
        assert not reading.done()
        await in_thread(act, *given)
        await reading
    assert not lifelines._of_loop[asyncio.get_running_loop()]._lines


async def test_another_token_and_a_session_are_not_ended_with_it(alice):
    def make():
        return bearer_made(alice), bearer_made(alice)

    ending, going_on = await in_thread(make)
    streams = [while_working(each, endless()) for each in (ending, going_on, None)]
    for stream in streams:
        await anext(stream)
    waiting = [asyncio.create_task(anext(stream, "over")) for stream in streams]
    await in_thread(ApiToken.objects.filter(pk=ending.key.partition(":")[2]).delete)
    async with asyncio.timeout(SOON):
        assert await waiting[0] == "over"
    await asyncio.sleep(0.5)
    assert not waiting[1].done() and not waiting[2].done()
    for task, stream in zip(waiting, streams, strict=True):
        task.cancel()
        await asyncio.wait({task})
        await stream.aclose()


async def test_a_stream_of_events_ends_as_it_would_without_a_token(alice):
    async def events():
        yield "a"
        yield "b"

    bearer = await in_thread(bearer_made, alice)
    assert [event async for event in while_working(bearer, events())] == ["a", "b"]


def run_of(alice: User) -> str:
    step = workshop.step(workshop.make("echo"))
    return f"/api/v1/runs/{workshop.run_of(workshop.sequence_of(alice, step), alice).pk}/events/"


def turn_of(alice: User) -> str:
    conversation = make_conversation(alice)
    turn = make_turn(conversation, model="demo/offline")
    return f"/api/v1/conversations/{conversation.pk}/turns/{turn.pk}/events/"


@pytest.mark.parametrize("act", [revoke, deactivate])
@pytest.mark.parametrize("make", [run_of, turn_of])
async def test_the_events_of_a_run_and_of_a_turn_end_with_the_token(alice, caller, make, act):
    path = await in_thread(make, alice)
    _, text = await in_thread(token_create, alice, name="x")
    response = await caller.get(
        path, headers={"authorization": f"Bearer {text}", "accept": "text/event-stream"}
    )
    assert response.status_code == 200 and response.streaming

    async def read():
        return [part async for part in response.streaming_content]

    reading = asyncio.create_task(read())
    await asyncio.sleep(1)
    assert not reading.done()
    await in_thread(act, alice, "")
    told = await asyncio.wait_for(reading, SOON)
    assert not any(b"event: end" in part for part in told)
    again = await caller.get(path, headers={"authorization": f"Bearer {text}"})
    assert again.status_code == 401
