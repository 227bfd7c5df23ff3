"""How many requests a caller may send, and how they are told."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as NoRedisError

from agents.tokens import token_create
from config.lib.api_limits import RequestLimits, request_limits
from registry.models import Tool
from tests import factories

ADDRESS = "/api/v1/tools/"


@pytest.fixture(autouse=True)
def _few() -> Iterator[None]:
    with override_settings(API_CALLS_PER_MINUTE=3):
        yield


def token_of(user: User) -> dict[str, Any]:
    text = token_create(user, name="script")[1]
    return {"headers": {"Authorization": f"Bearer {text}"}}


def test_each_answer_tells_what_is_left_and_the_last_one_when_to_come_again(alice: User) -> None:
    sent = token_of(alice)
    answers = [Client().get(ADDRESS, **sent) for _ in range(4)]
    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert {each["RateLimit-Policy"] for each in answers} == {'"api";q=3;w=60'}
    left = [re.fullmatch(r'"api";r=(\d+);t=(\d+)', each["RateLimit"]) for each in answers]
    assert [int(each[1]) for each in left if each] == [2, 1, 0, 0]
    refused = answers[-1]
    wait = int(refused["Retry-After"])
    assert 1 <= wait <= 60
    body = refused.json()
    assert body["code"] == "rate_limited"
    assert body["extra"] == {"retry_after_seconds": wait}
    assert body["message"].startswith("You may send 3 requests a minute, and did.")


def test_each_token_and_each_person_has_a_count_of_their_own(alice: User, bob: User) -> None:
    first, second = token_of(alice), token_of(alice)
    for _ in range(4):
        Client().get(ADDRESS, **first)
    assert Client().get(ADDRESS, **first).status_code == 429
    assert Client().get(ADDRESS, **second).status_code == 200
    client = Client()
    client.force_login(bob)
    assert client.get(ADDRESS).status_code == 200


def test_what_is_refused_for_its_token_is_counted_by_its_address(db: None) -> None:
    address = f"2001:db8::{uuid.uuid4().hex[:4]}"
    tries = [
        Client(REMOTE_ADDR=address).get(
            ADDRESS, headers={"Authorization": f"Bearer oft_guess{number}"}
        )
        for number in range(4)
    ]
    assert [each.status_code for each in tries] == [401, 401, 401, 429]


def test_a_refusal_for_a_missing_scope_is_counted(alice: User) -> None:
    text = token_create(alice, name="x", scopes=["chat"])[1]
    sent: dict[str, Any] = {"headers": {"Authorization": f"Bearer {text}"}}
    assert [Client().get(ADDRESS, **sent).status_code for _ in range(4)] == [403, 403, 403, 429]


def test_no_limit_means_no_headers(alice: User) -> None:
    with override_settings(API_CALLS_PER_MINUTE=0):
        answer = Client().get(ADDRESS, **token_of(alice))
    assert answer.status_code == 200
    assert "RateLimit" not in answer


def test_without_redis_requests_are_answered_uncounted(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> Any:
        raise NoRedisError("gone")

    monkeypatch.setattr(request_limits, "_asked", gone)
    monkeypatch.setattr(request_limits, "_rests_until", 0.0)
    answers = [Client().get(ADDRESS, **token_of(alice)) for _ in range(5)]
    assert {each.status_code for each in answers} == {200}
    assert all("RateLimit" not in each for each in answers)


def test_a_redis_that_was_started_anew_learns_the_scripts_again(db: None) -> None:
    limits = RequestLimits()
    caller = f"test:{uuid.uuid4()}"
    assert limits.take(caller) is not None
    limits._storage.get_connection().script_flush()
    standing = limits.take(caller)
    assert standing is not None
    assert standing.left == 1


def test_a_count_costs_one_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = RequestLimits()
    caller = f"test:{uuid.uuid4()}"
    limits.take(caller)
    sent: list[int] = []
    connection = type(limits._storage.get_connection().connection_pool.make_connection())
    send = connection.send_packed_command

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(1)
        return send(self, *args, **kwargs)

    monkeypatch.setattr(connection, "send_packed_command", counted)
    limits.take(caller)
    assert len(sent) == 1


def test_the_limit_of_a_tool_is_told_beside_it(alice: User) -> None:
    tool = factories.make_builtin("calculator")
    Tool.objects.filter(pk=tool.pk).update(calls_per_minute=1)
    run, sent = f"{ADDRESS}{tool.pk}/run/", token_of(alice)
    body = {"arguments": {"expression": "1+1"}}
    answers = [Client().post(run, body, "application/json", **sent) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 429], answers[0].content
    assert answers[1]["RateLimit-Policy"] == '"api";q=3;w=60, "tool";q=1;w=60'
    wait = answers[1]["Retry-After"]
    assert answers[1]["RateLimit"].endswith(f', "tool";r=0;t={wait}')
