"""ETags on what is read, If-Match on what is written: no change is lost."""

import threading
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from agents import services
from agents.models import Agent
from config.lib import api_conditional
from tests import factories

JSON = "application/json"


@pytest.fixture
def agent(alice: User) -> Agent:
    return factories.make_agent(alice, name="Helper")


@pytest.fixture
def client(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def address(agent: Agent) -> str:
    return f"/api/v1/agents/{agent.slug}/"


def test_a_thing_has_a_strong_etag_that_changes_with_it(client: Client, agent: Agent) -> None:
    first = client.get(address(agent))
    again = client.get(address(agent))
    assert first["ETag"].startswith('"')
    assert first["ETag"] == again["ETag"]
    services.agent_update(agent, description="Other")
    assert client.get(address(agent))["ETag"] != first["ETag"]


def test_what_is_known_is_not_sent_again(client: Client, agent: Agent) -> None:
    tag = client.get(address(agent))["ETag"]
    answer = client.get(address(agent), headers={"If-None-Match": f'"other", {tag}'})
    assert answer.status_code == 304
    assert answer.content == b""
    assert answer["ETag"] == tag
    assert "Authorization" in answer["Vary"]
    services.agent_update(agent, description="Other")
    assert client.get(address(agent), headers={"If-None-Match": tag}).status_code == 200


def test_a_list_has_a_weak_etag(client: Client, agent: Agent) -> None:
    tag = client.get("/api/v1/agents/")["ETag"]
    assert tag.startswith('W/"')
    known = {"If-None-Match": tag}
    assert client.get("/api/v1/agents/", headers=known).status_code == 304
    factories.make_agent(agent.owner, name="Second")
    assert client.get("/api/v1/agents/", headers=known).status_code == 200


def test_a_write_with_the_present_etag_is_carried_out_and_tells_the_next_one(
    client: Client, agent: Agent
) -> None:
    tag = client.get(address(agent))["ETag"]
    answer = client.patch(address(agent), {"description": "New"}, JSON, headers={"If-Match": tag})
    assert answer.status_code == 200, answer.content
    assert answer["ETag"] == client.get(address(agent))["ETag"] != tag
    deleted = client.delete(address(agent), headers={"If-Match": answer["ETag"]})
    assert deleted.status_code == 204
    assert not Agent.objects.filter(pk=agent.pk).exists()


@pytest.mark.parametrize("wrong", ['"stale"', 'W/"weak"', "no tag at all"])
def test_a_write_with_another_etag_is_refused_and_writes_nothing(
    client: Client, agent: Agent, wrong: str
) -> None:
    tag = client.get(address(agent))["ETag"]
    for answer in (
        client.patch(address(agent), {"description": "New"}, JSON, headers={"If-Match": wrong}),
        client.delete(address(agent), headers={"If-Match": wrong}),
    ):
        assert answer.status_code == 412
        assert answer["ETag"] == tag
        assert answer.json() == {
            "code": "precondition_failed",
            "message": "This was changed since you read it; nothing was written.",
            "hint": "Read it again, look at what changed, and send your change with its new ETag.",
            "extra": {"etag": tag},
        }
    assert Agent.objects.get(pk=agent.pk).description == ""


def test_any_state_will_do_for_an_asterisk(client: Client, agent: Agent) -> None:
    answer = client.patch(address(agent), {"description": "New"}, JSON, headers={"If-Match": "*"})
    assert answer.status_code == 200


def test_a_write_without_a_condition_works_as_ever(client: Client, agent: Agent) -> None:
    assert client.patch(address(agent), {"description": "New"}, JSON).status_code == 200


def test_what_is_not_there_is_not_found_whatever_the_condition(client: Client, alice: User) -> None:
    answer = client.patch("/api/v1/agents/none/", {}, JSON, headers={"If-Match": '"x"'})
    assert answer.status_code == 404


def test_a_refused_write_with_the_right_etag_leaves_all_as_it_was(
    client: Client, agent: Agent
) -> None:
    tag = client.get(address(agent))["ETag"]
    answer = client.patch(address(agent), {"maxSteps": -1}, JSON, headers={"If-Match": tag})
    assert answer.status_code == 400
    assert client.get(address(agent))["ETag"] == tag


@pytest.mark.django_db(transaction=True)
def test_a_change_between_the_comparison_and_the_write_is_not_lost(
    client: Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = client.get(address(agent))["ETag"]
    compare = api_conditional._is_among

    def someone_else_writes(*args: Any) -> bool:
        thread = threading.Thread(target=in_another_connection)
        thread.start()
        thread.join()
        return compare(*args)

    def in_another_connection() -> None:
        services.agent_update(Agent.objects.get(pk=agent.pk), description="Theirs")
        connection.close()

    monkeypatch.setattr(api_conditional, "_is_among", someone_else_writes)
    answer = client.patch(address(agent), {"name": "Mine"}, JSON, headers={"If-Match": tag})
    agent.refresh_from_db()
    assert answer.status_code == 412, answer.content
    assert answer["ETag"] == client.get(address(agent))["ETag"]
    assert (agent.name, agent.description) == ("Helper", "Theirs")


@pytest.mark.django_db(transaction=True)
def test_of_many_writers_with_one_etag_one_wins(alice: User, agent: Agent) -> None:
    reader = Client()
    reader.force_login(alice)
    tag = reader.get(address(agent))["ETag"]
    ready = threading.Barrier(4)
    answers: list[tuple[int, str]] = []

    def write(text: str) -> None:
        client = Client()
        client.force_login(alice)
        ready.wait()
        sent = client.patch(address(agent), {"description": text}, JSON, headers={"If-Match": tag})
        answers.append((sent.status_code, text))
        connection.close()

    threads = [threading.Thread(target=write, args=[f"by {i}"]) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [text for status, text in answers if status == 200]
    assert sorted(status for status, _ in answers) == [200, 412, 412, 412]
    assert [Agent.objects.get(pk=agent.pk).description] == winners
