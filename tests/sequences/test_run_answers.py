"""What a person says to a run that waits, on its page."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sequences import running
from sequences.models import Run, RunRequest, RunStep
from tests.sequences import workshop
from tests.sequences.asking import FORM, approval, asking, doubtful

SignIn = Callable[[User], Client]


@pytest.fixture
def client(alice: User, client_for: SignIn) -> Client:
    return client_for(alice)


def page_of(run: Run) -> str:
    return reverse("sequences:run_detail", args=[run.pk])


def answer_url(request: RunRequest) -> str:
    return reverse("sequences:request_answer", args=[request.run_id, request.pk])


def resolve_url(step: RunStep) -> str:
    return reverse("sequences:step_resolve", args=[step.run_id, step.pk])


def status_of(run: Run) -> str:
    return Run.objects.values_list("status", flat=True).get(pk=run.pk)


def test_a_question_stands_on_the_page_with_its_form(client: Client, alice: User) -> None:
    request = asking(alice, inputSchema=FORM)
    text = client.get(page_of(request.run)).content.decode()
    assert "Print it?" in text
    assert "It costs &lt;b&gt;paper&lt;/b&gt;." in text
    assert 'name="value-copies"' in text
    assert "Waits for you" in text


def test_an_approval_lets_the_run_go_on_with_its_values(client: Client, alice: User) -> None:
    request = asking(alice, inputSchema=FORM)
    sent = {"decision": "approve", "value-copies": "2", "note": "Both sides."}
    assert client.post(answer_url(request), sent)["Location"] == page_of(request.run)
    request.refresh_from_db()
    assert (request.approved, request.note) == (True, "Both sides.")
    assert request.values == {"copies": 2, "express": False}
    running.execute(request.run_id)
    assert status_of(request.run) == "succeeded"


def test_values_that_do_not_fit_are_shown_again_with_what_is_wrong(
    client: Client, alice: User
) -> None:
    request = asking(alice, inputSchema=FORM)
    sent = {"decision": "approve", "value-copies": "many", "note": "Soon."}
    answer = client.post(answer_url(request), sent)
    text = answer.content.decode()
    assert answer.status_code == 400
    assert 'value="many"' in text
    assert "must be a whole number" in text
    assert ">Soon.</textarea>" in text
    assert status_of(request.run) == "waiting"


def test_a_refusal_needs_no_values(client: Client, alice: User) -> None:
    request = asking(alice, inputSchema=FORM)
    client.post(answer_url(request), {"decision": "refuse", "note": "Too dear."})
    running.execute(request.run_id)
    assert status_of(request.run) == "failed"
    assert "Too dear." in client.get(page_of(request.run)).content.decode()


def test_an_answer_says_yes_or_no(client: Client, alice: User) -> None:
    request = asking(alice)
    answer = client.post(answer_url(request), {"note": "Perhaps."})
    assert answer.status_code == 400
    assert "Say whether you approve or refuse." in answer.content.decode()


def test_a_question_is_answered_once(client: Client, alice: User) -> None:
    request = asking(alice)
    client.post(answer_url(request), {"decision": "approve"})
    answer = client.post(answer_url(request), {"decision": "refuse"})
    assert answer.status_code == 409
    assert "answered already" in answer.content.decode()
    request.refresh_from_db()
    assert request.approved is True


def test_the_question_of_an_inner_run_stands_on_the_page_of_the_outer(
    client: Client, alice: User
) -> None:
    inner = workshop.sequence_of(alice, {"approval": approval()})
    outer = workshop.run_of(workshop.sequence_of(alice, workshop.step(inner)), alice)
    running.execute(outer.pk)
    request = RunRequest.objects.get()
    assert request.run_id != outer.pk
    assert "Print it?" in client.get(page_of(outer)).content.decode()
    assert client.post(answer_url(request), {"decision": "approve"})["Location"] == page_of(outer)
    running.execute(outer.pk)
    assert status_of(outer) == "succeeded"


@pytest.mark.parametrize(("action", "status"), [("retry", "running"), ("skip", "skipped")])
def test_a_step_in_doubt_is_tried_again_or_skipped(
    client: Client, alice: User, action: str, status: str
) -> None:
    step = doubtful(alice)
    text = client.get(page_of(step.run)).content.decode()
    assert "What happened in step 1 is not known" in text
    assert "it is done twice" in text
    assert client.post(resolve_url(step), {"action": action})["Location"] == page_of(step.run)
    step.refresh_from_db()
    assert (step.status, status_of(step.run)) == (status, "queued")


def test_a_step_in_doubt_was_done_and_gave_this(client: Client, alice: User) -> None:
    step = doubtful(alice)
    client.post(resolve_url(step), {"action": "done", "output": '{"id": 7}'})
    step.refresh_from_db()
    assert (step.status, step.output) == ("succeeded", {"id": 7})


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("{id: 7}", "What the step gave is not JSON."),
        ("NaN", "What the step gave is not JSON."),
        ("[" * 50_000, "What the step gave is not JSON."),
        ("{}", "The output does not fit the tool"),
    ],
)
def test_an_output_that_cannot_be_is_shown_again(
    client: Client, alice: User, output: str, message: str
) -> None:
    step = doubtful(alice)
    answer = client.post(resolve_url(step), {"action": "done", "output": output})
    assert answer.status_code == 400
    assert message in answer.content.decode()
    assert status_of(step.run) == "attention"


def test_a_step_that_is_not_in_doubt_is_not_resolved(client: Client, alice: User) -> None:
    step = doubtful(alice)
    client.post(resolve_url(step), {"action": "skip"})
    answer = client.post(resolve_url(step), {"action": "retry"})
    assert answer.status_code == 409
    assert "not in doubt" in answer.content.decode()
    assert client.post(resolve_url(step), {"action": "dance"}).status_code == 400


def test_nobody_answers_for_somebody_else(alice: User, bob: User, client_for: SignIn) -> None:
    request, step = asking(alice), doubtful(alice)
    stranger = client_for(bob)
    assert stranger.post(answer_url(request), {"decision": "approve"}).status_code == 404
    assert stranger.post(resolve_url(step), {"action": "skip"}).status_code == 404
    assert (status_of(request.run), status_of(step.run)) == ("waiting", "attention")


def test_a_run_that_waits_is_cancelled(client: Client, alice: User) -> None:
    request = asking(alice)
    client.post(reverse("sequences:run_cancel", args=[request.run_id]))
    assert status_of(request.run) == "cancelled"
    assert "Waits for you" not in client.get(page_of(request.run)).content.decode()
