"""The start page, and what probes are told."""

import pytest
from django.core.cache import cache
from django.test import Client

from registry.importing.jobs import import_request, import_run
from registry.search.service import Loading
from tests.factories import make_agent, make_conversation, make_tool

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_sandbox(monkeypatch, tmp_path):
    """The sandbox is not there, and nobody remembers the workers' last answer."""
    monkeypatch.setenv("SANDBOX_SOCKET", str(tmp_path / "none.sock"))
    cache.delete("readyz:workers")


def test_a_stranger_is_told_what_it_is():
    text = Client().get("/").content.decode()

    assert "The right tools for every message" in text
    assert "Sign in" in text


def test_the_dashboard_counts_and_names_what_is_there(alice, client_for):
    make_tool()
    conversation = make_conversation(alice, make_agent(alice), title="About socks")
    text = client_for(alice).get("/").content.decode()

    assert "About socks" in text
    assert f"/chat/{conversation.pk}/" in text
    assert "No runs yet" in text
    assert text.count('class="stat"') == 4


def test_the_dashboard_shows_nobody_elses_things(alice, charlie, client_for):
    make_conversation(alice, make_agent(alice), title="About socks")

    assert "About socks" not in client_for(charlie).get("/").content.decode()


def test_a_failed_import_stands_on_the_dashboard(alice, client_for):
    import_run(import_request(ecosystem="npm", name="@acme/no", user=alice, queued=False).pk)
    text = client_for(alice).get("/").content.decode()

    assert "@acme/no was not imported." in text
    assert "Try again" in text


def test_the_dashboard_asks_the_database_no_more_often_for_more_things(
    alice, client_for, django_assert_max_num_queries
):
    agent = make_agent(alice)
    for _ in range(5):
        make_conversation(alice, agent)
    client = client_for(alice)
    with django_assert_max_num_queries(14):
        client.get("/")


def test_a_living_process_says_so():
    answer = Client().get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_a_process_whose_search_index_is_loading_is_not_ready_and_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr("config.readiness.warm", lambda: Loading(done=500, total=2000))
    answer = Client().get("/readyz")

    assert answer.status_code == 503
    [search] = [check for check in answer.json()["checks"] if check["name"] == "search"]
    assert not search["ok"]
    assert search["detail"] == "The search index is loading: 500 of 2000 tools."


def test_each_part_is_named_and_a_missing_one_makes_it_not_ready(alice):
    make_tool()
    answer = Client().get("/readyz")

    assert answer.status_code == 503
    told = {check["name"]: check for check in answer.json()["checks"]}
    assert list(told) == ["database", "redis", "worker", "sandbox", "search"]
    assert told["database"]["ok"]
    assert told["redis"]["ok"]
    assert told["search"]["ok"]
    assert not told["worker"]["ok"]
    assert "No worker answered" in told["worker"]["detail"]
    assert not told["sandbox"]["ok"]
    assert "does not answer" in told["sandbox"]["detail"]


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz"])
def test_only_reading_is_possible(path):
    assert Client().post(path).status_code == 405
