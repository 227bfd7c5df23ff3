"""What a run does, step by step."""

from threading import Event

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.models import AgentTool, Credential
from agents.models.agent_tool import Approval
from config.lib.sealing import seal
from config.lib.types import JsonObject
from registry.models import Invocation, Tool
from registry.services import tool_delete, tool_publish
from sequences import running
from sequences.models import Run
from sequences.running import playing
from sequences.states import run_claim
from sequences.watch import Watch
from tests import factories
from tests.sequences import workshop

ECHO_INPUT = {"text": {"source": "initialInput", "key": "text"}}


def finished(run: Run) -> Run:
    running.execute(run.pk)
    run.refresh_from_db()
    return run


def ran(alice: User, *steps: JsonObject, final: object = None, **fields: object) -> Run:
    sequence = workshop.sequence_of(alice, *steps, final=final)
    return finished(workshop.run_of(sequence, alice, **fields))


def test_a_step_gets_its_mapped_input_and_leaves_a_row(alice: User) -> None:
    echo = workshop.make("echo")
    step = workshop.step(
        echo, inputMapping=ECHO_INPUT, outputDisplaySuccess="Said {{ result.text }}"
    )
    run = ran(alice, step, input={"text": "hi"})
    row = run.steps.get()
    assert (run.status, row.status, row.message) == ("succeeded", "succeeded", "Said hi")
    assert (row.input, row.output) == ({"text": "hi"}, {"text": "hi"})
    assert (row.tool, row.tool_name, row.tool_version) == (echo, "echo", 1)
    assert (row.attempts, row.error) == (1, None)
    assert row.duration_ms is not None


def test_a_later_step_uses_an_earlier_output(alice: User) -> None:
    echo = workshop.make("echo")
    run = ran(
        alice,
        workshop.step(echo, inputMapping=ECHO_INPUT, storeOutputAs="first"),
        workshop.step(
            echo,
            inputMapping={"t": {"source": "template", "value": "{{ steps.first.text }}!"}},
            storeOutputAs="second",
        ),
        final={"all": {"source": "previousStep", "step": "second", "path": "t"}},
        input={"text": "hi"},
    )
    assert run.output == {"all": "hi!"}


def test_without_a_final_mapping_the_output_is_the_execution_log(alice: User) -> None:
    run = ran(
        alice,
        workshop.step(workshop.make("fail"), continueOnFailure=True),
        workshop.step(workshop.make("echo"), inputMapping={"n": {"source": "static", "value": 1}}),
    )
    failed, succeeded = run.output
    assert set(succeeded) == {
        *("stepNumber", "tool", "status", "message", "output"),
        *("started_at", "duration_ms", "attempts"),
    }
    assert (succeeded["stepNumber"], succeeded["tool"], succeeded["output"]) == (
        2,
        "echo",
        {"n": 1},
    )
    assert "output" not in failed
    assert failed["error"]["message"] == "It is broken."


def test_a_failed_step_ends_the_run_and_says_where(alice: User) -> None:
    echo = workshop.make("echo")
    run = ran(alice, workshop.step(workshop.make("fail")), workshop.step(echo))
    assert run.status == "failed"
    assert run.error["message"] == "Step 1 (fail) failed: It is broken."
    assert (run.error["code"], run.error["hint"]) == ("tool_failed", "Mend it.")
    assert run.error["extra"]["step"] == 1
    assert run.steps.count() == 1
    assert run.steps.get().message == "Step 1 failed: It is broken."


def test_a_step_after_one_that_may_fail_finds_no_output_of_it(alice: User) -> None:
    run = ran(
        alice,
        workshop.step(workshop.make("fail"), continueOnFailure=True, storeOutputAs="lost"),
        workshop.step(
            workshop.make("echo"), inputMapping={"t": {"source": "previousStep", "step": "lost"}}
        ),
    )
    assert run.error["code"] == "mapping_failed"
    assert "needs the output of step “lost”, which left none" in run.error["message"]


def test_a_missing_path_is_told_with_what_is_there(alice: User) -> None:
    echo = workshop.make("echo")
    run = ran(
        alice,
        workshop.step(echo, inputMapping=ECHO_INPUT, storeOutputAs="first"),
        workshop.step(
            echo,
            inputMapping={"t": {"source": "previousStep", "step": "first", "path": "total"}},
        ),
        input={"text": "hi"},
    )
    assert "There is no “total”. What is there: text." in run.error["message"]
    assert run.steps.get(number=2).status == "failed"


def test_a_final_mapping_that_fails_fails_the_run(alice: User) -> None:
    step = workshop.step(workshop.make("echo"), storeOutputAs="first")
    final = {"x": {"source": "previousStep", "step": "first", "path": "total"}}
    run = ran(alice, step, final=final)
    assert (run.status, run.error["code"]) == ("failed", "mapping_failed")


def test_an_error_of_the_operator_is_tried_again(alice: User) -> None:
    retry = {"attempts": 3, "backoffSeconds": 0}
    run = ran(alice, workshop.step(workshop.make("third_time"), retry=retry))
    row = run.steps.get()
    assert (run.status, row.attempts, row.output) == ("succeeded", 3, "at last")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every pause that a run made, none of which takes any time."""
    made: list[float] = []
    monkeypatch.setattr(Watch, "pause", lambda _, seconds: made.append(seconds))
    return made


@pytest.mark.parametrize(("backoff", "waited"), [(0, 7), (20, 20)])
def test_a_step_that_was_told_when_to_try_again_waits_so_long(
    alice: User, pauses: list[float], backoff: float, waited: float
) -> None:
    step = workshop.step(
        workshop.make("limited_once"),
        retry={"attempts": 2, "backoffSeconds": backoff},
        inputMapping={"wait": {"source": "static", "value": 7}},
    )
    run = ran(alice, step)
    assert run.status == "succeeded"
    assert pauses == [pytest.approx(waited, rel=0.11)]


def test_a_step_does_not_wait_for_longer_than_a_minute(alice: User, pauses: list[float]) -> None:
    step = workshop.step(
        workshop.make("limited_once"),
        retry={"attempts": 2, "backoffSeconds": 0},
        inputMapping={"wait": {"source": "static", "value": 61}},
    )
    run = ran(alice, step)
    assert (run.status, run.error["code"], pauses) == ("failed", "rate_limited", [])


def test_a_step_whose_tool_is_stopped_is_not_tried_again(alice: User, pauses: list[float]) -> None:
    tool = workshop.make("echo")
    Tool.objects.filter(pk=tool.pk).update(stopped_at=timezone.now(), stopped_reason="Not now")
    retry = {"attempts": 3, "backoffSeconds": 0}
    run = ran(alice, workshop.step(tool, retry=retry))
    assert (run.error["code"], run.steps.get().attempts, pauses) == ("tool_stopped", 1, [])


def test_the_attempts_come_to_an_end(alice: User) -> None:
    retry = {"attempts": 2, "backoffSeconds": 0}
    run = ran(alice, workshop.step(workshop.make("third_time"), retry=retry))
    assert (run.status, run.steps.get().attempts) == ("failed", 2)


def test_wrong_arguments_are_not_tried_again(alice: User) -> None:
    retry = {"attempts": 3, "backoffSeconds": 0}
    run = ran(alice, workshop.step(workshop.make("reject"), retry=retry))
    assert (run.error["code"], run.steps.get().attempts) == ("input_rejected", 1)


def test_a_step_that_takes_too_long_is_stopped(alice: User) -> None:
    run = ran(alice, workshop.step(workshop.make("until_cancelled"), timeoutSeconds=1))
    assert run.error["code"] == "tool_timeout"
    assert "did not answer within the step's 1 s" in run.error["message"]


def test_an_answer_that_comes_late_is_still_an_answer(alice: User) -> None:
    run = ran(alice, workshop.step(workshop.make("slowly"), timeoutSeconds=1))
    assert run.steps.get().output == "late"


@pytest.mark.django_db(transaction=True)
def test_a_cancel_stops_the_step_in_flight_and_the_run() -> None:
    alice = factories.make_user("alice")
    run = ran(
        alice,
        workshop.step(workshop.make("cancel_run"), continueOnFailure=True),
        workshop.step(workshop.make("echo")),
    )
    assert (run.status, run.error["code"]) == ("cancelled", "cancelled")
    row = run.steps.get()
    assert (row.status, row.error["message"]) == ("failed", "The run was cancelled.")


def test_a_run_whose_caller_gave_up_starts_no_step(alice: User) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = run_claim(workshop.run_of(sequence, alice).pk)
    assert run is not None
    cancel = Event()
    cancel.set()
    running.play(run, cancel=cancel, depth=0)
    assert (run.status, run.steps.count()) == ("cancelled", 0)


def test_a_message_that_comes_twice_does_nothing_the_second_time(alice: User) -> None:
    run = ran(alice, workshop.step(workshop.make("echo")))
    running.execute(run.pk)
    assert len(workshop.calls) == 1


def test_a_deleted_tool_is_named(alice: User) -> None:
    echo = workshop.make("echo")
    sequence = workshop.sequence_of(alice, workshop.step(echo))
    tool_delete(echo)
    run = finished(workshop.run_of(sequence, alice))
    assert run.error["message"] == "Step 1 (echo) failed: The tool “echo” no longer exists."
    assert run.error["hint"].startswith("Choose another for step 1")


@pytest.mark.parametrize("name", ["nonsense", "00000000-0000-4000-8000-000000000000"])
def test_a_tool_that_never_was_fails_its_step(alice: User, name: str) -> None:
    run = ran(alice, {"stepNumber": 1, "toolToRunId": name})
    assert (run.error["code"], run.steps.get().tool) == ("unknown_tool", None)
    assert run.error["message"].startswith("Step 1 (unknown tool) failed:")


def test_a_pinned_version_is_run_and_a_missing_one_is_told(alice: User) -> None:
    echo = workshop.make("echo")
    tool_publish(_described(echo, "Newer."), author=None)
    run = ran(alice, workshop.step(echo, toolVersion=1))
    assert run.steps.get().tool_version == 1
    run = ran(alice, workshop.step(echo, toolVersion=9))
    assert "echo has no version 9" in run.error["message"]


def _described(tool: Tool, description: str) -> Tool:
    tool.description = description
    return tool


def test_a_tool_that_the_person_may_not_use_is_refused(alice: User, bob: User) -> None:
    private = workshop.make("echo", owner=bob, visibility="private")
    run = ran(alice, workshop.step(private))
    assert run.error["code"] == "permission_refused"


def test_the_scopes_of_whoever_started_the_run_hold_for_its_steps(alice: User) -> None:
    echo = workshop.make("echo", required_scopes=["exa:read"])
    assert ran(alice, workshop.step(echo), scopes=[]).error["code"] == "permission_refused"
    assert ran(alice, workshop.step(echo), scopes=["exa:read"]).status == "succeeded"
    assert ran(alice, workshop.step(echo), scopes=None).status == "succeeded"


def test_an_agent_that_denies_a_tool_denies_it_in_a_sequence_too(alice: User) -> None:
    echo = workshop.make("echo")
    agent = factories.make_agent(alice)
    AgentTool.objects.create(agent=agent, tool=echo, approval=Approval.DENY)
    run = ran(alice, workshop.step(echo), agent=agent)
    assert run.error["code"] == "approval_denied"


def test_a_step_reads_the_credentials_of_the_person(alice: User) -> None:
    package = factories.make_package(env=[{"name": "EXA_API_KEY", "required": True}])
    tool = workshop.make("credential", package=package)
    assert ran(alice, workshop.step(tool)).error["code"] == "missing_credential"
    Credential.objects.create(owner=alice, name="EXA_API_KEY", ciphertext=seal("exa-secret"))
    run = ran(alice, workshop.step(tool))
    assert run.steps.get().output == {"EXA_API_KEY": "••••••"}


def test_every_step_is_recorded_as_a_call_of_the_run(alice: User) -> None:
    run = ran(alice, workshop.step(workshop.make("echo")))
    call = Invocation.objects.get()
    assert (call.run_id, call.caller, call.user) == (run.pk, "sequence", alice)
    assert workshop.calls[0][2].depth == 1


def test_an_output_that_is_too_large_fails_the_run_clearly(alice: User) -> None:
    large = workshop.step(
        workshop.make("large"),
        inputMapping={"size": {"source": "static", "value": 600_000}},
        storeOutputAs="a",
    )
    final = {
        "one": {"source": "previousStep", "step": "a"},
        "two": {"source": "previousStep", "step": "a"},
    }
    run = ran(alice, large, final=final)
    assert run.error["code"] == "output_rejected"
    assert "1,200," in run.error["message"]


def test_a_log_that_is_too_large_is_shortened(alice: User) -> None:
    large = workshop.make("large")
    size = {"size": {"source": "static", "value": 600_000}}
    run = ran(
        alice, workshop.step(large, inputMapping=size), workshop.step(large, inputMapping=size)
    )
    assert run.status == "succeeded"
    assert run.output[0]["output"]["truncated"]


def test_text_that_cannot_be_stored_does_not_end_the_run(alice: User) -> None:
    run = ran(
        alice,
        workshop.step(
            workshop.make("echo"),
            inputMapping={"t": {"source": "template", "value": "{{ initial.text }}"}},
            storeOutputAs="a",
        ),
        final={"t": {"source": "previousStep", "step": "a", "path": "t"}},
        input={"text": "plain"},
    )
    assert run.output == {"t": "plain"}


def test_a_definition_that_cannot_be_read_fails_the_run(alice: User) -> None:
    sequence = factories.make_sequence(alice, definition={"format": 2, "steps": []})
    run = finished(workshop.run_of(sequence, alice))
    assert (run.status, run.error["code"]) == ("failed", "invalid_definition")


def test_a_fault_of_our_own_does_not_leave_the_run_running(
    alice: User, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(journey: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(playing, "walk", broken)
    run = ran(alice, workshop.step(workshop.make("echo")))
    assert (run.status, run.error["code"]) == ("failed", "run_stopped")
    assert "stopped unexpectedly" in caplog.text


def test_a_run_that_was_given_up_keeps_its_ending(alice: User) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    run = run_claim(workshop.run_of(sequence, alice).pk)
    assert run is not None
    over = {"status": "failed", "finished_at": timezone.now(), "lease": None, "lease_until": None}
    Run.objects.filter(pk=run.pk).update(**over)
    running.play(run, cancel=Event(), depth=0)
    assert run.status == "failed"
