"""The pages of sequences and runs."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from registry.models import Tool
from sequences import running
from sequences.following import State
from sequences.models import Run
from sequences.views import run_page
from tests import factories
from tests.sequences import workshop

SignIn = Callable[[User], Client]


@pytest.fixture
def client(alice: User, client_for: SignIn) -> Client:
    return client_for(alice)


@pytest.fixture
def failed(alice: User) -> Run:
    steps = [
        workshop.step(workshop.make("echo"), outputDisplaySuccess="Said <b>it</b>"),
        workshop.step(workshop.make("fail")),
    ]
    run = workshop.run_of(workshop.sequence_of(alice, *steps), alice, input={"n": "<i>"})
    running.execute(run.pk)
    run.refresh_from_db()
    return run


def page_of(run: Run) -> str:
    return reverse("sequences:run_detail", args=[run.pk])


def test_a_run_shows_each_step_and_how_it_ended(client: Client, failed: Run) -> None:
    text = client.get(page_of(failed)).content.decode()
    assert "Step 2 (fail) failed: It is broken." in text
    assert "Said &lt;b&gt;it&lt;/b&gt;" in text
    assert "tool_failed" in text
    assert "Mend it." in text
    assert "<i>" not in text
    assert "sse-connect" not in text


def test_a_run_under_way_is_followed_until_it_is_over(client: Client, alice: User) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = workshop.run_of(sequence, alice)
    page = client.get(page_of(run)).content.decode()
    assert f'sse-connect="/runs/{run.pk}/events?seen=' in page
    fragment = client.get(page_of(run), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in fragment
    assert "It waits for a worker" in fragment
    assert "Not begun" in fragment
    running.execute(run.pk)
    assert "sse-connect" not in client.get(page_of(run)).content.decode()


def test_a_run_that_ends_while_its_page_is_read_is_shown_as_over(
    client: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = workshop.run_of(sequence, alice)
    state_of = run_page.state_of

    def then_over(run_id: UUID) -> State | None:
        state = state_of(run_id)
        running.execute(run_id)
        return state

    monkeypatch.setattr(run_page, "state_of", then_over)
    page = client.get(page_of(run)).content.decode()
    assert "Succeeded" in page
    assert "sse-connect" not in page


def test_a_run_that_waits_for_the_queue_says_so(client: Client, alice: User) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    error = {"code": "queue_unreachable", "message": "The queue cannot be reached.", "hint": ""}
    run = workshop.run_of(sequence, alice, error=error)
    assert "The queue cannot be reached." in client.get(page_of(run)).content.decode()


def test_a_run_is_nobody_elses(failed: Run, bob: User, client_for: SignIn) -> None:
    stranger = client_for(bob)
    assert stranger.get(page_of(failed)).status_code == 404
    for name in ("run_cancel", "run_retry"):
        url = reverse(f"sequences:{name}", args=[failed.pk])
        assert stranger.post(url).status_code == 404
    assert page_of(failed) not in stranger.get("/runs/").content.decode()


def test_a_run_is_cancelled_from_its_page(client: Client, alice: User) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = workshop.run_of(sequence, alice)
    url = reverse("sequences:run_cancel", args=[run.pk])
    assert client.post(url).url == page_of(run)
    run.refresh_from_db()
    assert run.status == "cancelled"
    answer = client.post(url)
    assert answer.status_code == 409
    assert "over already" in answer.content.decode()


def test_a_run_is_retried_from_a_step(client: Client, failed: Run) -> None:
    url = reverse("sequences:run_retry", args=[failed.pk])
    answer = client.post(url, {"from_step": "2", "version": "original"})
    again = Run.objects.get(retry_of=failed)
    assert answer.url == page_of(again)
    assert again.steps.get().status == "reused"


@pytest.mark.parametrize(
    ("step", "message"), [("9", "There is no step 9"), ("3", "There is no step 3")]
)
def test_a_retry_that_cannot_be_says_why(
    client: Client, failed: Run, step: str, message: str
) -> None:
    url = reverse("sequences:run_retry", args=[failed.pk])
    answer = client.post(url, {"from_step": step}, follow=True)
    assert next(str(note) for note in answer.context["messages"]).startswith(message)


def test_a_retry_from_nonsense_is_refused(client: Client, failed: Run) -> None:
    url = reverse("sequences:run_retry", args=[failed.pk])
    assert client.post(url, {"from_step": "two"}).status_code == 400


def test_the_form_that_runs_a_sequence_is_made_of_its_schema(client: Client, alice: User) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "on": {"type": "boolean"}},
        "required": ["n"],
    }
    step = workshop.step(workshop.make("echo"))
    sequence = workshop.sequence_of(alice, step, input_schema=schema)
    url = reverse("sequences:run_start", args=[sequence.pk])
    assert 'name="n"' in client.get(url).content.decode()
    wrong = client.post(url, {"n": "three"})
    assert wrong.status_code == 422
    assert "must be a whole number" in wrong.content.decode()
    assert 'value="three"' in wrong.content.decode()
    assert client.post(url, {}).status_code == 422
    answer = client.post(url, {"n": "3"})
    run = Run.objects.get()
    assert answer.url == page_of(run)
    assert run.input == {"n": 3, "on": False}
    assert (run.caller, run.scopes) == ("browser", None)


def test_a_sequence_that_one_may_not_see_cannot_be_run(
    alice: User, charlie: User, client_for: SignIn
) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    url = reverse("sequences:run_start", args=[sequence.pk])
    assert client_for(charlie).post(url).status_code == 404


def test_runs_are_filtered_by_status(client: Client, failed: Run) -> None:
    assert page_of(failed) in client.get("/runs/").content.decode()
    assert page_of(failed) in client.get("/runs/?status=failed").content.decode()
    text = client.get("/runs/?status=succeeded").content.decode()
    assert page_of(failed) not in text
    assert "No such run" in text
    assert "No such run" in client.get("/runs/?status=nonsense&page=x").content.decode()


def test_the_list_shows_ones_own_the_teams_and_public_sequences(
    client: Client, alice: User, bob: User, charlie: User, team: Any
) -> None:
    step = workshop.step(workshop.make("echo"))
    workshop.sequence_of(alice, step, title="Mine")
    workshop.sequence_of(bob, step, title="Teams", visibility="team", team=team)
    workshop.sequence_of(charlie, step, title="Public", visibility="public")
    workshop.sequence_of(charlie, step, title="Secret")
    waiting = {"visibility": "public", "review_status": "candidate"}
    workshop.sequence_of(charlie, step, title="Waiting", **waiting)
    text = client.get("/sequences/").content.decode()
    shown = [name for name in ("Mine", "Teams", "Public", "Secret", "Waiting") if name in text]
    assert shown == ["Mine", "Teams", "Public"]


def test_the_list_tells_how_often_and_when_it_ran_last(
    client: Client, alice: User, failed: Run
) -> None:
    text = client.get("/sequences/").content.decode()
    assert "1 run · last" in text
    assert "failed" in text


def test_the_lists_need_as_many_queries_for_many_rows_as_for_one(
    client: Client, alice: User, failed: Run, django_assert_num_queries: Any
) -> None:
    echo = Tool.objects.get(wire_name="echo")
    for _ in range(5):
        sequence = workshop.sequence_of(alice, workshop.step(echo))
        workshop.run_of(sequence, alice)
    # session, person, their permissions (2), count, page, drafts (2), what is wrong with them (2)
    with django_assert_num_queries(10):
        client.get("/sequences/")
    with django_assert_num_queries(5):  # session, person, what waits, count, page
        client.get("/runs/")


def test_an_empty_list_says_what_to_do(client: Client) -> None:
    assert "No sequences yet" in client.get("/sequences/").content.decode()
    assert "No runs yet" in client.get("/runs/").content.decode()


def test_the_admin_shows_runs_and_lets_nobody_change_them(
    governor: User, failed: Run, client_for: SignIn
) -> None:
    client = client_for(governor)
    page = reverse("admin:sequences_run_change", args=[failed.pk])
    assert client.get(reverse("admin:sequences_run_changelist")).status_code == 200
    text = client.get(page).content.decode()
    assert "It is broken." in text
    assert 'name="_save"' not in text
    assert client.post(page, {"status": "succeeded"}).status_code == 403
    assert client.get(reverse("admin:sequences_run_add")).status_code == 403


def test_a_run_of_a_nested_sequence_leads_to_the_inner_run(client: Client, alice: User) -> None:
    inner = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = workshop.run_of(workshop.sequence_of(alice, workshop.step(inner)), alice)
    running.execute(run.pk)
    child = Run.objects.get(parent_step__run=run)
    assert page_of(child) in client.get(page_of(run)).content.decode()
    assert page_of(run) in client.get(page_of(child)).content.decode()


def test_a_run_shows_the_pictures_of_its_steps(client: Client, alice: User) -> None:
    run = workshop.run_of(
        workshop.sequence_of(alice, workshop.step(workshop.make("picture"))), alice
    )
    running.execute(run.pk)
    text = client.get(page_of(run)).content.decode()
    assert f'src="data:image/png;base64,{workshop.PIXEL}"' in text
    assert text.count(workshop.PIXEL) == text.count('<img src="data:image/png')
    assert "image/png image, 8 bytes" in text


def test_factories_make_a_sequence_that_runs(client: Client, alice: User) -> None:
    run = workshop.run_of(factories.make_sequence(alice), alice, input={"text": "6*7"})
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "succeeded"
