"""Steps that ask a person, and how their runs rest and go on."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.errors import Conflict, InvalidInput, NotFound
from config.lib.types import JsonObject
from sequences import tasks
from sequences.models import Run, RunRequest
from sequences.requests import request_answer, requests_expire
from sequences.states import run_cancel, run_claim
from tests import factories
from tests.sequences import workshop
from tests.sequences.workshop import fixed, go_on, ran, sequence_of, statuses, step

FORM: JsonObject = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}, "why": {"type": "string", "default": "none"}},
    "required": ["amount"],
}


def asking(**fields: Any) -> JsonObject:
    """Describe an approval step; keys of the approval go in `ask`."""
    approval = {"title": "Pay?", "message": "Pay {{ initial.sum }}?", **fields.pop("ask", {})}
    return {"approval": approval, "storeOutputAs": "answer", **fields}


def asked(alice: User, *behind: JsonObject, final: Any = None, **fields: Any) -> Run:
    return ran(alice, asking(**fields), *behind, final=final, input={"sum": 5})


def answer(run: Run, user: User, *, approved: bool = True, **fields: Any) -> Run:
    """Answer the only question of a run and return the run as it then stands."""
    request_answer(run.requests.get(approved=None), user=user, approved=approved, **fields)
    return Run.objects.get(pk=run.pk)


def test_an_approval_step_lets_the_run_wait_with_a_question(alice: User) -> None:
    run = asked(alice, step(workshop.make("echo")), ask={"inputSchema": FORM})
    request = run.requests.get()
    assert (run.status, run.lease, statuses(run)) == ("waiting", None, {1: "waiting"})
    assert (request.title, request.message) == ("Pay?", "Pay 5?")
    assert (request.input_schema, request.expires_at) == (FORM, None)
    assert workshop.calls == []


def test_an_answer_is_the_output_of_the_step_and_the_run_goes_on(alice: User) -> None:
    given = {"n": {"source": "previousStep", "step": "answer", "path": "values.amount"}}
    run = asked(alice, step(workshop.make("echo"), inputMapping=given), ask={"inputSchema": FORM})
    run = answer(run, alice, values={"amount": 3}, note="Fine")
    assert (run.status, run.steps.get().status) == ("queued", "succeeded")
    run = go_on(run)
    assert run.status == "succeeded"
    row = run.steps.get(number=1)
    assert row.output == {
        "approved": True,
        "by": "alice",
        "note": "Fine",
        "values": {"amount": 3, "why": "none"},
    }
    assert row.message == "Approved by alice."
    assert run.steps.get(number=2).output == {"n": 3}


def test_a_refusal_ends_the_run(alice: User) -> None:
    run = answer(asked(alice), alice, approved=False, note="Too much")
    run = go_on(run)
    assert (run.status, run.error["code"]) == ("failed", "approval_refused")
    assert run.error["message"] == "Step 1 (Pay?) failed: alice refused: Too much"
    assert run.requests.get().approved is False


def test_a_refusal_may_let_the_run_go_on(alice: User) -> None:
    run = asked(
        alice,
        step(workshop.make("echo"), when="!steps.answer.approved"),
        ask={"onRejected": "continue"},
    )
    run = go_on(answer(run, alice, approved=False))
    assert statuses(run) == {1: "succeeded", 2: "succeeded"}
    assert run.steps.get(number=1).message == "Refused by alice."


def test_values_are_checked_by_the_form(alice: User) -> None:
    run = asked(alice, ask={"inputSchema": FORM})
    with pytest.raises(InvalidInput, match="does not fit the form: amount"):
        answer(run, alice, values={"amount": "many"})
    assert Run.objects.get().status == "waiting"


def test_values_without_a_form_are_refused(alice: User) -> None:
    with pytest.raises(InvalidInput, match="has no form"):
        answer(asked(alice), alice, values={"amount": 1})


def test_a_note_has_a_limit(alice: User) -> None:
    with pytest.raises(InvalidInput, match=r"longer than 2,000"):
        answer(asked(alice), alice, note="x" * 2_001)


def test_a_question_is_answered_once(alice: User) -> None:
    run = asked(alice)
    request = run.requests.get()
    request_answer(request, user=alice, approved=True)
    with pytest.raises(Conflict, match="answered already"):
        request_answer(request, user=alice, approved=False)
    assert run.requests.get().approved is True


def test_somebody_else_finds_no_question(alice: User, bob: User) -> None:
    with pytest.raises(NotFound):
        answer(asked(alice), bob)


def test_the_question_of_a_cancelled_run_cannot_be_answered(alice: User) -> None:
    run = asked(alice)
    run_cancel(run)
    with pytest.raises(Conflict):
        answer(run, alice)
    assert statuses(run) == {1: "failed"}


def test_a_message_that_cannot_be_filled_fails_the_step(alice: User) -> None:
    run = asked(alice, ask={"message": "{{ steps.nothing }}"})
    assert (run.status, run.error["code"]) == ("failed", "mapping_failed")


def test_a_question_that_nobody_answers_in_time_fails_the_run(alice: User) -> None:
    run = asked(alice, ask={"expiresAfterSeconds": 60})
    assert tasks.expire_requests() == 0
    assert requests_expire(timezone.now() + timedelta(minutes=2)) == 1
    assert requests_expire(timezone.now() + timedelta(minutes=2)) == 0
    run = go_on(Run.objects.get(pk=run.pk))
    assert (run.status, run.error["code"]) == ("failed", "approval_expired")
    with pytest.raises(Conflict):
        request_answer(run.requests.get(), user=alice, approved=True)


def test_a_question_of_a_run_that_ended_does_not_expire(alice: User) -> None:
    run = asked(alice, ask={"expiresAfterSeconds": 60})
    run_cancel(run)
    assert requests_expire(timezone.now() + timedelta(minutes=2)) == 0
    assert RunRequest.objects.get().expires_at is None


def test_a_fallback_stands_in_for_a_refusal(alice: User) -> None:
    final = {"x": {"source": "previousStep", "step": "answer"}}
    run = asked(alice, final=final, fallback={"value": "no"})
    run = go_on(answer(run, alice, approved=False))
    assert (run.status, run.output) == ("succeeded", {"x": "no"})


def test_the_question_of_a_sequence_inside_lets_the_whole_run_wait(alice: User) -> None:
    echo = workshop.make("echo")
    inner = sequence_of(alice, step(echo), asking(), wire_name="inner")
    run = ran(alice, step(inner, inputMapping=fixed(sum=5)), step(echo))
    child = Run.objects.get(parent_step__run=run)
    assert (run.status, child.status, statuses(run)) == ("waiting", "waiting", {1: "waiting"})
    answer(child, alice)
    run.refresh_from_db()
    assert run.status == "queued"
    run = go_on(run)
    assert (run.status, statuses(run)) == ("succeeded", {1: "succeeded", 2: "succeeded"})
    assert Run.objects.count() == 2, "the run inside was gone on with"
    assert len(workshop.calls) == 2, "its first step was not done again"
    assert run.steps.get(number=1).attempts == 1


def test_a_refusal_inside_fails_the_step_around_it(alice: User) -> None:
    inner = sequence_of(alice, asking(), wire_name="inner")
    run = ran(alice, step(inner, inputMapping=fixed(sum=5)))
    answer(Run.objects.get(parent_step__run=run), alice, approved=False)
    run = go_on(run)
    assert run.error["message"].startswith("Step 1 (inner) failed: Step 1 (Pay?) failed:")


def test_a_sequence_that_waits_is_not_recorded_as_a_call_until_it_is_over(alice: User) -> None:
    from registry.models import Invocation

    inner = sequence_of(alice, asking(), wire_name="inner")
    run = ran(alice, step(inner, inputMapping=fixed(sum=5)))
    assert not Invocation.objects.exists()
    answer(Run.objects.get(parent_step__run=run), alice)
    go_on(run)
    assert Invocation.objects.get().outcome == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_other_branches_go_on_while_one_waits() -> None:
    alice = factories.make_user("alice")
    echo = workshop.make("echo")
    one, two = ({"parallel": {"group": "g", "branch": name}} for name in ("one", "two"))
    run = ran(alice, {**asking(), **one}, step(echo, **two), step(echo), input={"sum": 5})
    assert (run.status, statuses(run)) == ("waiting", {1: "waiting", 2: "succeeded"})
    run = go_on(answer(run, alice))
    assert (run.status, len(workshop.calls)) == ("succeeded", 2)


@pytest.mark.django_db(transaction=True)
def test_a_run_that_is_answered_in_one_branch_still_waits_in_the_other() -> None:
    alice = factories.make_user("alice")
    echo = workshop.make("echo")
    one, two = ({"parallel": {"group": "g", "branch": name}} for name in ("one", "two"))
    second = {**asking(), **two, "storeOutputAs": "other"}
    run = ran(alice, {**asking(), **one}, second, step(echo, **one), input={"sum": 5})
    first, other = run.requests.order_by("step__number")
    request_answer(first, user=alice, approved=True)
    run = go_on(run)
    assert statuses(run) == {1: "succeeded", 2: "waiting", 3: "succeeded"}
    request_answer(other, user=alice, approved=True)
    assert go_on(run).status == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_a_branch_that_fails_closes_the_question_of_another() -> None:
    alice = factories.make_user("alice")
    one, two = ({"parallel": {"group": "g", "branch": name}} for name in ("one", "two"))
    failing = step(workshop.make("fail"), **two)
    pausing = step(workshop.make("echo"), **two)
    run = ran(alice, {**asking(), **one}, pausing, failing, input={"sum": 5})
    assert (run.status, statuses(run)[1]) == ("failed", "failed")
    with pytest.raises(Conflict):
        answer(run, alice)


def test_an_answer_that_comes_while_the_run_is_at_work_is_not_slept_through(alice: User) -> None:
    from sequences.running.pauses import pause

    run = asked(alice)
    Run.objects.filter(pk=run.pk).update(status="queued")
    again = run_claim(run.pk)
    assert again is not None
    rows = list(again.steps.all())
    request_answer(again.requests.get(), user=alice, approved=True)
    assert Run.objects.get().status == "running", "whoever has it goes on"
    pause(again, rows)
    assert Run.objects.get().status == "queued"


def test_a_cancel_that_comes_as_the_run_is_about_to_rest_still_ends_it(alice: User) -> None:
    cancelling = step(workshop.make("cancel_and_go_on"))
    run = ran(alice, cancelling, asking(), input={"sum": 5})
    assert (run.status, run.error["code"]) == ("cancelled", "cancelled")
    assert statuses(run).get(2) in (None, "failed")


@pytest.mark.django_db(transaction=True)
def test_iterations_that_wait_are_gone_on_with_one_by_one() -> None:
    alice = factories.make_user("alice")
    inner = sequence_of(alice, asking(), wire_name="inner")
    loop = {"items": {"source": "static", "value": [1, 2]}}
    run = ran(alice, step(inner, forEach=loop, inputMapping={"sum": {"source": "item"}}))
    assert statuses(run) == {1: "waiting", (1, 0): "waiting", (1, 1): "waiting"}
    first, second = Run.objects.filter(parent_step__run=run).order_by("parent_step__iteration")
    answer(second, alice)
    run = go_on(run)
    assert statuses(run) == {1: "waiting", (1, 0): "waiting", (1, 1): "succeeded"}
    answer(first, alice)
    run = go_on(run)
    assert (run.status, Run.objects.count()) == ("succeeded", 3)
