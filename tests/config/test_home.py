"""The start page, and what probes are told."""

import pytest
from celery.signals import beat_init, before_task_publish
from django.core.cache import cache
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from config.celery import BEAT_SEEN, _note_beat
from config.readiness import Check, health_lines, status_of
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


FIELDS = {"name", "ok", "needed", "detail", "seconds"}


def test_each_part_is_named_and_a_missing_one_makes_it_not_ready(alice):
    make_tool()
    answer = Client().get("/readyz")

    assert answer.status_code == 503
    told = {check["name"]: check for check in answer.json()["checks"]}
    assert list(told) == [
        *("database", "migrations", "redis", "worker", "beat", "sandbox", "search"),
        *("mcp", "model", "embeddings"),
    ]
    assert answer.json()["status"] == "unavailable"
    assert all(set(check) == FIELDS for check in told.values())
    assert told["migrations"]["ok"]
    assert told["database"]["ok"]
    assert told["redis"]["ok"]
    assert told["search"]["ok"]
    assert not told["worker"]["ok"]
    assert "No worker answered" in told["worker"]["detail"]
    assert not told["sandbox"]["ok"]
    assert "does not answer" in told["sandbox"]["detail"]


def test_what_one_can_do_without_makes_it_degraded_and_no_more():
    def said(**ok):
        return [
            Check(name=name, ok=fine, needed=name != "model", detail="x", seconds=0.1)
            for name, fine in ok.items()
        ]

    assert status_of(said(database=True, model=True)) == "ok"
    assert status_of(said(database=True, model=False)) == "degraded"
    assert status_of(said(database=False, model=False)) == "unavailable"


def test_a_migration_that_waits_makes_it_not_ready():
    MigrationRecorder(connection).record_unapplied("registry", "0001_initial")
    told = {check["name"]: check for check in Client().get("/readyz").json()["checks"]}

    assert not told["migrations"]["ok"]
    assert told["migrations"]["detail"] == "1 wait: run `manage.py migrate`."


def test_a_model_without_its_key_is_told_without_naming_anything(settings, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_BASE", raising=False)
    settings.OUTFITTER_MODEL = "openai/secret-model"
    answer = Client().get("/readyz")
    told = {check["name"]: check for check in answer.json()["checks"]}

    assert (told["model"]["ok"], told["model"]["needed"]) == (False, False)
    assert "secret-model" not in answer.content.decode()


def test_beat_is_seen_by_what_it_sends():
    cache.delete(BEAT_SEEN)
    beat_init.send(sender=None)
    try:
        before_task_publish.send(sender="registry.score_tools", headers={})
    finally:
        before_task_publish.disconnect(_note_beat)
    told = {check["name"]: check for check in Client().get("/readyz").json()["checks"]}

    assert told["beat"]["ok"]


def test_the_lines_for_a_terminal_mark_what_is_missing_and_what_is_needed():
    told = {
        "checks": [
            {"name": "redis", "ok": True, "needed": True, "detail": "It answers."},
            {"name": "worker", "ok": False, "needed": True, "detail": "None."},
            {"name": "model", "ok": False, "needed": False, "detail": "No key."},
        ]
    }
    assert health_lines(told) == [
        "✓ redis       It answers.",
        "✗ worker      None.",
        "! model       No key.",
    ]


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz"])
def test_only_reading_is_possible(path):
    assert Client().post(path).status_code == 405
