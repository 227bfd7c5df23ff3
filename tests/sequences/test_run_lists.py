"""The list of runs and its filters, the number in the navigation, and two runs side by side."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from registry.models import Tool
from sequences import running
from sequences.comparing import value_differences
from sequences.models import Run
from tests.sequences import workshop
from tests.sequences.asking import asking, doubtful

SignIn = Callable[[User], Client]


@pytest.fixture
def client(alice: User, client_for: SignIn) -> Client:
    return client_for(alice)


@pytest.fixture
def sequence(alice: User) -> Tool:
    return workshop.sequence_of(alice, workshop.step(workshop.make("echo")))


@pytest.fixture
def run(alice: User, sequence: Tool) -> Run:
    return workshop.run_of(sequence, alice)


def listed(client: Client, query: str) -> list[str]:
    """Return the ids of the runs that the page and, alike, the REST API list."""
    page = client.get(f"/runs/?{query}")
    assert page.status_code == 200
    return [str(run.pk) for run in page.context["page"]]


def age(run: Run, **days: int) -> None:
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(**days))


def test_runs_are_found_by_what_started_them(
    client: Client, alice: User, run: Run, sequence: Tool
) -> None:
    hook = workshop.run_of(sequence, alice, caller="webhook")
    assert listed(client, "started=webhook") == [str(hook.pk)]
    assert listed(client, "started=browser") == [str(run.pk)]
    assert listed(client, "started=rest") == []
    assert "A webhook" in client.get("/runs/").content.decode()


def test_tests_of_drafts_are_listed_only_where_they_are_asked_for(
    client: Client, alice: User, run: Run
) -> None:
    test = Run.objects.create(user=alice, caller="browser", definition={"format": 1, "steps": []})
    assert listed(client, "") == [str(run.pk)]
    assert listed(client, "started=test") == [str(test.pk)]
    page = client.get(f"/runs/{test.pk}/")
    assert "Test of a draft" in page.content.decode()
    assert "Run again" not in page.content.decode()
    told = client.get(f"/api/v1/runs/{test.pk}/").json()
    assert (told["tool"], told["version"]) == (None, None)
    assert client.get("/api/v1/runs/?started=test").json()["results"][0]["id"] == str(test.pk)


def test_runs_are_found_by_day_sequence_and_the_beginning_of_their_id(
    client: Client, alice: User, run: Run, sequence: Tool
) -> None:
    old = workshop.run_of(sequence, alice)
    age(old, days=40)
    yesterday = (timezone.now() - timedelta(days=1)).date().isoformat()
    assert listed(client, f"since={yesterday}") == [str(run.pk)]
    assert listed(client, f"until={yesterday}") == [str(old.pk)]
    assert listed(client, "since=tomorrow") == []
    assert listed(client, f"q={str(old.pk)[:13]}") == [str(old.pk)]
    assert listed(client, f"q={old.pk.hex.upper()}") == [str(old.pk)]
    assert listed(client, "q=xyz") == []
    assert len(listed(client, f"tool={sequence.wire_name}")) == 2
    assert len(listed(client, f"tool={run.tool_id}")) == 2
    assert listed(client, "tool=another") == []


def test_the_rest_api_filters_as_the_page_does(
    client: Client, alice: User, run: Run, sequence: Tool
) -> None:
    age(workshop.run_of(sequence, alice), days=40)

    def told(query: str) -> list[str]:
        return [each["id"] for each in client.get(f"/api/v1/runs/?{query}").json()["results"]]

    today = run.created_at.date().isoformat()  # which was yesterday if midnight has just gone by
    assert told(f"since={today}") == listed(client, f"since={today}") == [str(run.pk)]
    assert told(f"q={str(run.pk)[:8]}&started=browser&tool={run.tool_id}") == [str(run.pk)]
    wrong = client.get("/api/v1/runs/?since=tomorrow")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_input")


def test_the_pages_of_a_list_keep_its_filters(
    client: Client, alice: User, run: Run, sequence: Tool
) -> None:
    for _ in range(31):
        workshop.run_of(sequence, alice, caller="rest")
    text = client.get("/runs/?started=rest&status=queued").content.decode()
    assert 'href="?status=queued&amp;started=rest&amp;page=2"' in text
    assert "/runs/?status=failed&amp;started=rest" in text


def test_what_waits_for_the_person_is_counted_and_linked(client: Client, alice: User) -> None:
    asking(alice)
    doubtful(alice)
    doubtful(alice)
    text = client.get("/runs/").content.decode()
    assert "2 need attention</a>" in text
    assert "1 waits for you</a>" in text
    assert len(listed(client, "status=attention")) == 2


def test_the_navigation_shows_the_number_without_a_query_of_its_own(
    client: Client, alice: User, bob: User, client_for: SignIn
) -> None:
    asking(alice)
    cache.clear()
    assert 'hx-get="/runs/waiting"' in client.get("/sequences/").content.decode()
    assert "1<span" in client.get("/runs/waiting").content.decode()
    text = client.get("/sequences/").content.decode()
    assert 'class="count is-waiting">1<' in text
    assert 'hx-get="/runs/waiting"' not in text
    assert "is-waiting" not in client_for(bob).get("/runs/waiting").content.decode()


def test_two_runs_are_compared_step_by_step(client: Client, alice: User) -> None:
    mapping = {"n": {"source": "initialInput", "key": "n"}}
    step = workshop.step(workshop.make("echo"), inputMapping=mapping)
    sequence = workshop.sequence_of(alice, step)
    runs = [workshop.run_of(sequence, alice, input={"n": n}) for n in ("one", "two")]
    for run in runs:
        running.execute(run.pk)
    query = "&".join(f"run={run.pk}" for run in reversed(runs))
    chosen: Any = client.get(f"/runs/compare?{query}")
    assert chosen.url == f"/runs/{runs[0].pk}/compare/{runs[1].pk}"
    text = client.get(chosen.url).content.decode()
    assert "$.n" in text
    assert "<del>&quot;one&quot;</del>" in text
    assert "<ins>&quot;two&quot;</ins>" in text
    assert chosen.url in client.get(f"/runs/{runs[1].pk}/").content.decode()
    told = client.get(f"/api/v1{chosen.url}/").json()
    assert told["same"] is False
    assert told["input"] == [{"path": "$.n", "kind": "changed", "before": "one", "after": "two"}]
    assert told["steps"][0]["statuses"] == ["succeeded", "succeeded"]


def test_runs_that_cannot_be_compared_say_so(
    client: Client, alice: User, bob: User, run: Run, sequence: Tool
) -> None:
    echo = (sequence.definition or {})["steps"][0]
    other = workshop.run_of(workshop.sequence_of(alice, echo), alice)
    theirs = workshop.run_of(workshop.sequence_of(bob, echo), bob)
    answer = client.get(f"/runs/{run.pk}/compare/{other.pk}")
    assert (answer.status_code, "different sequences" in answer.content.decode()) == (400, True)
    assert client.get(f"/runs/{run.pk}/compare/{run.pk}").status_code == 400
    assert client.get(f"/runs/{run.pk}/compare/{theirs.pk}").status_code == 404
    assert client.get(f"/api/v1/runs/{run.pk}/compare/{other.pk}/").status_code == 400
    assert client.get(f"/api/v1/runs/{run.pk}/compare/{theirs.pk}/").status_code == 404
    one = client.get(f"/runs/compare?run={run.pk}&run=nonsense", follow=True)
    assert "Choose two runs" in one.content.decode()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [("$.a", "changed")]),
        ({"a": [1, 2]}, {"a": [1]}, [("$.a[1]", "removed")]),
        ({"a": {"b": None}}, {"a": {}, "c": 0}, [("$.a.b", "removed"), ("$.c", "added")]),
        (None, {}, [("$", "changed")]),
    ],
)
def test_values_differ_where_they_are_not_the_same(before: Any, after: Any, told: Any) -> None:
    assert [(each.path, each.kind) for each in value_differences(before, after)] == told


def test_no_more_differences_are_told_than_anybody_reads() -> None:
    assert len(value_differences([0] * 1_000, [1] * 1_000)) == 50
