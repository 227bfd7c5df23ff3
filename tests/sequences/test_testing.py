"""Tests of a draft, before it is published."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from config.lib.errors import InvalidInput, NotFound
from config.lib.types import JsonObject
from registry.errors import InvalidArguments
from registry.models import Tool
from sequences.definition import DefinitionInvalid
from sequences.models import DraftOutput, Run, SequenceDraft
from sequences.running import execute
from sequences.test_board import board_of
from sequences.testing import (
    NotTestedYet,
    Trial,
    item_start,
    output_edit,
    output_forget,
    trial_start,
)
from tests.sequences import workshop

OPEN = {"type": "object", "properties": {"text": {"type": "string"}}}


def said(name: str, path: str = "") -> JsonObject:
    return {"source": "previousStep", "step": name, "path": path}


def definition_of(echo: Tool) -> JsonObject:
    """Return three steps, each of which hands on what the one before gave."""
    text = {"t": {"source": "initialInput", "key": "text"}}
    return {
        "format": 1,
        "steps": [
            workshop.step(echo, 1, key="a", inputMapping=text, storeOutputAs="one"),
            workshop.step(
                echo, 2, key="b", inputMapping={"t": said("one", "t")}, storeOutputAs="two"
            ),
            workshop.step(
                echo, 3, key="c", inputMapping={"t": said("two", "t")}, storeOutputAs="three"
            ),
        ],
        "finalOutputMapping": {"all": said("three", "t")},
    }


@pytest.fixture
def draft(alice: User) -> SequenceDraft:
    return SequenceDraft.objects.create(owner=alice, document={})


def try_out(draft: SequenceDraft, definition: JsonObject, given: Any = None, **fields: Any) -> Run:
    trial = Trial(
        draft=draft,
        definition=definition,
        input_schema=OPEN,
        given={"text": "hi"} if given is None else given,
        **fields,
    )
    return finished(trial_start(trial, user=draft.owner))


def finished(run: Run) -> Run:
    execute(run.pk)
    run.refresh_from_db()
    return run


def statuses(run: Run) -> list[str]:
    return list(
        run.steps.filter(iteration=None).order_by("number").values_list("status", flat=True)
    )


def test_the_whole_of_a_draft_is_run_by_the_worker_and_its_outputs_are_kept(
    draft: SequenceDraft,
) -> None:
    run = try_out(draft, definition_of(workshop.make("echo")))
    assert (run.status, run.output, run.tool, run.draft) == (
        "succeeded",
        {"all": "hi"},
        None,
        draft,
    )
    kept = {row.step_key: row.output for row in draft.outputs.all()}
    assert kept == {"a": {"t": "hi"}, "b": {"t": "hi"}, "c": {"t": "hi"}}


def test_a_test_up_to_a_step_leaves_out_what_comes_behind_it(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    definition["steps"][2]["toolToRunId"] = "not chosen yet"
    run = try_out(draft, definition, last="b")
    assert statuses(run) == ["succeeded", "succeeded"]


def test_one_step_takes_what_the_steps_before_it_gave(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    try_out(draft, definition, last="b")
    workshop.calls.clear()
    run = try_out(draft, definition, first="c", last="c")
    assert statuses(run) == ["skipped", "reused", "succeeded"] or statuses(run) == [
        *("reused", "reused", "succeeded")
    ]
    assert len(workshop.calls) == 1
    assert run.steps.get(number=3).output == {"t": "hi"}


def test_a_step_whose_sources_were_not_tested_says_which_one(draft: SequenceDraft) -> None:
    with pytest.raises(NotTestedYet) as caught:
        try_out(draft, definition_of(workshop.make("echo")), first="b", last="b")
    assert "reads what step 1 gives, which has not been tested yet" in caught.value.message
    assert not Run.objects.exists()


def test_what_was_tested_before_a_change_counts_no_more(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    try_out(draft, definition)
    definition["steps"][0]["inputMapping"]["more"] = {"source": "static", "value": 1}
    with pytest.raises(NotTestedYet, match="step 2 gives, which has changed since"):
        try_out(draft, definition, first="c")


def test_a_message_a_title_or_a_place_may_change_without_another_test(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    try_out(draft, definition)
    definition["steps"][0] |= {"title": "First", "outputDisplaySuccess": "Done"}
    definition["steps"][0]["parallel"] = {"group": "block_1", "branch": "branch_1"}
    assert try_out(draft, definition, first="b").status == "succeeded"


def test_an_edited_output_is_what_the_steps_behind_it_get(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    try_out(draft, definition)
    output_edit(draft, definition, "a", {"t": "edited"})
    run = try_out(draft, definition, first="b")
    assert run.output == {"all": "edited"}
    assert DraftOutput.objects.get(step_key="a").is_edited
    try_out(draft, definition)
    assert not DraftOutput.objects.get(step_key="a").is_edited


def test_an_edited_output_of_a_step_that_is_not_there_is_refused(draft: SequenceDraft) -> None:
    with pytest.raises(NotFound, match="no such step"):
        output_edit(draft, definition_of(workshop.make("echo")), "nope", 1)


def test_an_output_that_is_too_large_is_refused(draft: SequenceDraft) -> None:
    with pytest.raises(InvalidInput, match="at most 1,000,000"):
        output_edit(draft, definition_of(workshop.make("echo")), "a", "x" * 1_000_001)


def test_a_forgotten_output_has_to_be_tested_again(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    try_out(draft, definition)
    output_forget(draft, "a")
    with pytest.raises(NotTestedYet):
        try_out(draft, definition, first="b")


def test_steps_that_are_wrong_are_told_before_anything_is_called(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    definition["steps"][1]["inputMapping"] = {"t": said("nobody")}
    with pytest.raises(DefinitionInvalid, match="step 2"):
        try_out(draft, definition)
    assert not workshop.calls


def test_an_input_that_does_not_fit_is_told_with_its_place(draft: SequenceDraft) -> None:
    with pytest.raises(InvalidArguments) as caught:
        try_out(draft, definition_of(workshop.make("echo")), {"text": 3})
    assert caught.value.extra["problems"][0]["path"] == "$.text"


def test_a_failed_step_is_kept_with_its_error_and_not_taken_over(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    definition["steps"][0]["toolToRunId"] = str(workshop.make("fail").pk)
    run = try_out(draft, definition)
    assert run.status == "failed"
    assert DraftOutput.objects.get(step_key="a").error["message"] == "It is broken."
    with pytest.raises(NotTestedYet):
        try_out(draft, definition, first="b")


def looped(echo: Tool) -> JsonObject:
    items = {"source": "static", "value": ["x", "y"]}
    step = workshop.step(
        echo, 1, key="l", forEach={"items": items}, inputMapping={"t": {"source": "item"}}
    )
    return {"format": 1, "steps": [step]}


@pytest.mark.django_db(transaction=True)
def test_the_items_of_a_loop_are_tested_one_by_one(draft: SequenceDraft) -> None:
    trial = Trial(
        draft=draft,
        definition=looped(workshop.make("echo")),
        input_schema=OPEN,
        given={},
        last="l",
    )
    run = finished(item_start(trial, 1, user=draft.owner))
    assert run.steps.get(iteration=None).output == [{"t": "y"}]
    assert DraftOutput.objects.get(step_key="l__item1").output == [{"t": "y"}]
    with pytest.raises(InvalidInput, match="There is no item 3; there are 2"):
        item_start(trial, 2, user=draft.owner)


def test_outputs_are_kept_by_the_time_the_end_of_a_test_is_told(
    draft: SequenceDraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = workshop.make("echo")
    seen: list[int] = []
    monkeypatch.setattr(
        "sequences.step_rows.tell", lambda run_id: seen.append(DraftOutput.objects.count())
    )
    try_out(draft, definition_of(echo))
    assert seen[-1] == 3


def test_a_step_is_told_to_be_behind_once_what_it_reads_was_edited(draft: SequenceDraft) -> None:
    definition = definition_of(workshop.make("echo"))
    test = try_out(draft, definition)
    output_edit(draft, definition, "b", {"t": "other"})
    states = [step.state for step in board_of(draft, definition, {}, test)]
    assert states == ["fresh", "edited", "behind"]
    try_out(draft, definition, first="c", last="c")
    assert [step.state for step in board_of(draft, definition, {}, None)][2] == "fresh"


def test_a_step_whose_fallback_was_used_is_told_from_one_that_went_well(
    draft: SequenceDraft,
) -> None:
    definition = definition_of(workshop.make("echo"))
    failing = str(workshop.make("fail").pk)
    definition["steps"][2] |= {"toolToRunId": failing, "fallback": {"value": {"t": "instead"}}}
    test = try_out(draft, definition)
    told = board_of(draft, definition, {}, test)[2]
    assert (told.words, told.badge) == ("Failed; its fallback was used", "is-warn")
    assert "instead" in told.text
