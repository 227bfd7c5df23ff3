"""Values that came with a call, on their way into the worker and out of the world."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from agents.services import credential_set
from registry.context import CallContext
from registry.loading import load_spec
from registry.models import Tool
from registry.models.invocation import Caller
from sequences import running
from sequences.launch import new_run
from sequences.models import Run
from sequences.runs import run_retry
from sequences.states import run_cancel, run_claim, runs_fail_abandoned
from tests import factories
from tests.sequences import workshop

pytestmark = pytest.mark.django_db(transaction=True)
GIVEN = {"EXA_API_KEY": "given-canary-value"}


@pytest.fixture
def keyed() -> Tool:
    """A tool that gives back the variable it declares."""
    package = factories.make_package(env=[{"name": "EXA_API_KEY", "required": True}])
    return workshop.make("credential", package=package)


def started(user: User, sequence: Tool, given: dict[str, str] | None = None) -> Run:
    context = CallContext(user=user, caller=Caller.REST).with_given(
        GIVEN if given is None else given
    )
    return new_run(load_spec(sequence), {}, context)


def seen() -> list[str]:
    return [dict(ctx.env(["EXA_API_KEY"]))["EXA_API_KEY"] for *_, ctx in workshop.calls]


def test_a_given_value_is_sealed_in_the_run_reaches_its_steps_and_goes_with_its_end(
    alice: User, keyed: Tool
) -> None:
    credential_set(alice, name="EXA_API_KEY", value="the stored value")
    run = started(alice, workshop.sequence_of(alice, workshop.step(keyed)))
    assert b"given-canary" not in bytes(run.given or b"")
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "succeeded"
    assert seen() == ["given-canary-value"]
    assert run.given is None
    assert run.steps.get().output == {"EXA_API_KEY": "••••••"}


def test_a_sequence_in_a_sequence_has_the_given_values_too(alice: User, keyed: Tool) -> None:
    inner = workshop.sequence_of(alice, workshop.step(keyed), wire_name="inner")
    run = started(alice, workshop.sequence_of(alice, workshop.step(inner)))
    running.execute(run.pk)
    assert seen() == ["given-canary-value"]
    assert not Run.objects.exclude(given=None).exists()


def test_a_step_that_declares_nothing_is_given_nothing(alice: User) -> None:
    run = started(alice, workshop.sequence_of(alice, workshop.step(workshop.make("echo"))))
    running.execute(run.pk)
    ((_, _, context),) = workshop.calls
    assert context.env(["EXA_API_KEY"]) == {}
    assert context.given == {}
    assert "canary" not in repr(context)


def test_a_retry_takes_the_values_it_is_given_and_none_of_the_old_run(
    alice: User, keyed: Tool
) -> None:
    run = started(alice, workshop.sequence_of(alice, workshop.step(keyed)))
    running.execute(run.pk)
    run.refresh_from_db()
    bare = CallContext(user=alice, caller=Caller.REST)
    without = run_retry(run, context=bare)
    running.execute(without.pk)
    without.refresh_from_db()
    assert without.error["code"] == "missing_credential"
    again = run_retry(run, context=bare.with_given({"EXA_API_KEY": "another value"}))
    running.execute(again.pk)
    assert seen()[-1] == "another value"


def test_a_cancel_and_a_lost_worker_take_the_values_along(alice: User, keyed: Tool) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(keyed))
    run_cancel(cancelled := started(alice, sequence))
    lost = started(alice, sequence)
    run_claim(lost.pk)
    assert runs_fail_abandoned(timezone.now() + timedelta(minutes=5)) == 1
    for run in (cancelled, lost):
        run.refresh_from_db()
        assert run.is_finished
        assert run.given is None


def test_the_database_lets_no_finished_run_hold_values(alice: User, keyed: Tool) -> None:
    run = started(alice, workshop.sequence_of(alice, workshop.step(keyed)))
    with pytest.raises(IntegrityError, match="run_finished_holds_no_values"), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(status="cancelled", finished_at=timezone.now())


def test_values_that_no_key_opens_fail_the_run_clearly(
    alice: User, keyed: Tool, settings: object
) -> None:
    run = started(alice, workshop.sequence_of(alice, workshop.step(keyed)))
    Run.objects.filter(pk=run.pk).update(given=b"not sealed")
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "failed"
    assert run.error["code"] == "credential_unreadable"
