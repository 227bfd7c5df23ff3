"""Runs in the REST API, and the author of sequences behind `/api/v1/tools/`."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from agents.tokens import token_create
from config.lib.errors import InvalidInput, NotFound
from registry.authoring import author_for
from registry.context import CallContext
from registry.errors import InvalidArguments
from registry.models import Tool
from registry.models.invocation import Caller
from sequences import running
from sequences.authoring import SequenceAuthor
from sequences.models import Run
from tests.sequences import workshop

author = SequenceAuthor()


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


@pytest.fixture
def failed(alice: User) -> Run:
    steps = [workshop.step(workshop.make("echo")), workshop.step(workshop.make("fail"))]
    run = workshop.run_of(workshop.sequence_of(alice, *steps), alice, input={"n": 1})
    running.execute(run.pk)
    run.refresh_from_db()
    return run


def body(**more: Any) -> dict[str, Any]:
    echo = Tool.objects.filter(wire_name="echo").first() or workshop.make("echo")
    return {
        "name": "Shout",
        "description": "Shouts.",
        "type": "sequence",
        "definition": {"format": 1, "steps": [workshop.step(echo)]},
        "inputSchema": {"type": "object", "properties": {}},
        **more,
    }


def post(client: Client, url: str, data: Any = None, **headers: str) -> Any:
    return client.post(url, data or {}, content_type="application/json", headers=headers)


def test_a_run_is_told_with_its_steps(client: Client, failed: Run) -> None:
    told = client.get(f"/api/v1/runs/{failed.pk}/").json()
    assert (told["status"], told["input"], told["version"]) == ("failed", {"n": 1}, 1)
    assert told["error"]["code"] == "tool_failed"
    assert [step["status"] for step in told["steps"]] == ["succeeded", "failed"]


def test_runs_are_listed_and_filtered(client: Client, failed: Run) -> None:
    assert [run["id"] for run in client.get("/api/v1/runs/").json()["results"]] == [str(failed.pk)]
    assert client.get("/api/v1/runs/?status=queued").json()["results"] == []
    wrong = client.get("/api/v1/runs/?status=nonsense")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_input")


def test_a_run_of_somebody_else_is_not_found(
    failed: Run, bob: User, client_for: Callable[[User], Client]
) -> None:
    stranger = client_for(bob)
    assert stranger.get("/api/v1/runs/").json()["results"] == []
    assert stranger.get(f"/api/v1/runs/{failed.pk}/").json()["code"] == "not_found"
    for action in ("cancel", "retry"):
        assert post(stranger, f"/api/v1/runs/{failed.pk}/{action}/").status_code == 404


def test_a_run_is_cancelled(client: Client, alice: User) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = workshop.run_of(sequence, alice)
    answer = post(client, f"/api/v1/runs/{run.pk}/cancel/")
    assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    again = post(client, f"/api/v1/runs/{run.pk}/cancel/")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_a_run_is_retried_from_a_step(client: Client, failed: Run) -> None:
    answer = post(client, f"/api/v1/runs/{failed.pk}/retry/", {"from_step": 2})
    told = answer.json()
    assert (answer.status_code, told["status"], told["retry_of"]) == (202, "queued", str(failed.pk))
    assert [step["status"] for step in told["steps"]] == ["reused"]


def test_a_retry_sent_twice_with_one_key_is_one_retry(client: Client, failed: Run) -> None:
    url = f"/api/v1/runs/{failed.pk}/retry/"
    first = post(client, url, **{"Idempotency-Key": str(failed.pk)})
    second = post(client, url, **{"Idempotency-Key": str(failed.pk)})
    assert first.json()["id"] == second.json()["id"]
    assert Run.objects.count() == 2


@pytest.mark.parametrize(
    "data", [{"from_step": 0}, {"from_step": "x"}, {"version": "old"}, {"from_step": 3}]
)
def test_a_retry_with_bad_input_is_refused(client: Client, failed: Run, data: Any) -> None:
    answer = post(client, f"/api/v1/runs/{failed.pk}/retry/", data)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_a_token_needs_the_scope_and_gives_its_scopes_to_the_run(alice: User, failed: Run) -> None:
    url = f"/api/v1/runs/{failed.pk}/retry/"
    _, reading = token_create(alice, name="reads", scopes=["tools:read"])
    _, running = token_create(alice, name="runs", scopes=["tools:run"])
    refused = post(Client(), url, Authorization=f"Bearer {reading}")
    assert refused.status_code == 403
    allowed = post(Client(), url, Authorization=f"Bearer {running}")
    assert allowed.status_code == 202
    assert Run.objects.get(pk=allowed.json()["id"]).scopes == ["tools:run"]
    assert Client().get("/api/v1/runs/").status_code == 401


def test_a_sequence_is_made_changed_and_deleted(alice: User) -> None:
    tool = author.create(alice, body())
    assert (tool.wire_name, tool.version) == ("shout", 1)
    changed = author.update(alice, tool, {"description": "Shouts louder."})
    assert (changed.version, changed.title) == (2, "Shout")
    author.delete(alice, changed)
    assert changed.deleted_at is not None


def test_a_sequence_is_shared_with_a_team_by_its_name(alice: User, team: Group) -> None:
    tool = author.create(alice, body(visibility="team", team=team.name))
    assert tool.team == team
    assert author.update(alice, tool, {"name": "Whisper"}).team == team
    with pytest.raises(InvalidInput, match="no team named “others”"):
        author.update(alice, tool, {"team": "others"})


def test_the_body_is_checked_field_by_field(alice: User) -> None:
    with pytest.raises(InvalidInput) as error:
        author.create(alice, body(name=3, definition=[], team=4, colour="red"))
    told = {problem["path"]: problem["message"] for problem in error.value.extra["problems"]}
    assert told["$.name"] == "must be text"
    assert told["$.definition"] == "must be an object"
    assert told["$.team"] == "must be text or null"
    assert told["$.colour"].startswith("is not known here (known: name, description")


def test_an_empty_body_is_told_what_is_missing(alice: User) -> None:
    with pytest.raises(InvalidInput) as error:
        author.create(alice, {})
    assert error.value.code == "invalid_definition"
    assert {problem["field"] for problem in error.value.extra["problems"]} >= {"name"}


def test_a_sequence_of_somebody_else_cannot_be_changed(alice: User, bob: User) -> None:
    tool = author.create(alice, body())
    with pytest.raises(NotFound):
        author.update(bob, tool, {"name": "Mine"})
    with pytest.raises(NotFound):
        author.delete(bob, tool)


def test_a_sequence_is_launched_without_waiting_for_it(client: Client, alice: User) -> None:
    tool = author.create(alice, body())
    context = CallContext(user=alice, caller=Caller.REST)
    answer = author.launch(alice, tool, {}, context)
    run = Run.objects.get()
    assert answer == {
        "run": str(run.pk),
        "status": "queued",
        "url": f"/api/v1/runs/{run.pk}/",
        "page": f"/runs/{run.pk}/",
    }
    assert client.get(answer["url"]).json()["caller"] == "rest"
    with pytest.raises(InvalidArguments):
        author.launch(alice, tool, "text", context)


def test_the_registry_finds_the_author_of_a_type_and_names_those_there_are() -> None:
    assert isinstance(author_for("sequence"), SequenceAuthor)
    with pytest.raises(InvalidInput, match="Tools of type “npm” cannot be made here"):
        author_for("npm")
