"""Runs that test a draft: of any definition, up to some step, with outputs that are known."""

from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from config.lib.types import JsonObject
from sequences.models import Run, RunStep
from tests.sequences import workshop
from tests.sequences.workshop import fixed, go_on, statuses, step


def draft_run(alice: User, *steps: JsonObject, final: Any = None, **fields: Any) -> Run:
    numbered = [{**item, "stepNumber": place} for place, item in enumerate(steps, 1)]
    definition: JsonObject = {"format": 1, "steps": numbered}
    if final is not None:
        definition["finalOutputMapping"] = final
    return Run.objects.create(definition=definition, user=alice, caller="browser", **fields)


def test_a_draft_runs_without_any_published_tool(alice: User) -> None:
    run = go_on(draft_run(alice, step(workshop.make("echo"), inputMapping=fixed(n=1))))
    assert (run.status, run.tool, run.output[0]["output"]) == ("succeeded", None, {"n": 1})


def test_a_test_up_to_a_step_gives_the_output_of_that_step(alice: User) -> None:
    echo = workshop.make("echo")
    final = {"x": {"source": "previousStep", "step": "last"}}
    steps = [step(echo, inputMapping=fixed(n=n)) for n in range(2)]
    behind = step(echo, storeOutputAs="last")
    run = go_on(draft_run(alice, *steps, behind, final=final, until_step=2))
    assert (run.status, run.output) == ("succeeded", {"n": 1})
    assert len(workshop.calls) == 2


def test_a_test_up_to_a_step_that_left_nothing_gives_the_log(alice: User) -> None:
    run = go_on(draft_run(alice, step(workshop.make("echo"), disabled=True), until_step=1))
    assert [entry["status"] for entry in run.output] == ["skipped"]


def test_outputs_that_are_known_are_taken_over(alice: User) -> None:
    echo = workshop.make("echo")
    read = {"n": {"source": "previousStep", "step": "first", "path": "n"}}
    run = draft_run(
        alice,
        step(echo, storeOutputAs="first"),
        step(echo, inputMapping=read),
        until_step=2,
    )
    RunStep.objects.create(
        run=run, number=1, status="reused", output={"n": 9}, started_at=timezone.now()
    )
    run = go_on(run)
    assert (run.output, statuses(run)) == ({"n": 9}, {1: "reused", 2: "succeeded"})
    assert len(workshop.calls) == 1


def test_one_iteration_of_a_loop_is_taken_over_and_the_others_are_done(alice: User) -> None:
    loop = {"items": {"source": "static", "value": [1, 2]}}
    doubling = step(workshop.make("double"), forEach=loop, inputMapping={"n": {"source": "item"}})
    run = draft_run(alice, doubling, until_step=1)
    RunStep.objects.create(
        run=run, number=1, iteration=0, status="reused", output=70, started_at=timezone.now()
    )
    assert go_on(run).output == [70, 4]


def test_a_draft_that_cannot_be_read_fails_its_test(alice: User) -> None:
    run = Run.objects.create(definition={"format": 1, "steps": []}, user=alice, caller="browser")
    assert go_on(run).error["code"] == "invalid_definition"
