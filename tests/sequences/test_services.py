"""Make and change sequences, and start their runs again."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from config.lib.errors import Conflict, InvalidInput
from registry.context import CallContext
from registry.errors import InvalidArguments, PermissionRefused
from registry.models import Proposal, Tool
from registry.models.invocation import Caller
from registry.review.deciding import proposal_approve
from registry.review.drafts import draft_of
from registry.services import tool_review
from sequences import running, runs, services
from sequences.definition import DefinitionInvalid
from sequences.models import Run
from tests import factories
from tests.sequences import workshop


def make(owner: User, *steps: Any, **fields: Any) -> Tool:
    numbered = [{**step, "stepNumber": place} for place, step in enumerate(steps, 1)]
    values: dict[str, Any] = {
        "name": "Count and shout",
        "description": "Counts, then shouts.",
        "definition": {"format": 1, "steps": numbered},
        "input_schema": workshop.OPEN_SCHEMA,
        **fields,
    }
    return services.sequence_create(owner, **values)


def change(tool: Tool, author: User, **fields: Any) -> Tool:
    values: dict[str, Any] = {
        "name": tool.title,
        "description": tool.description,
        "definition": tool.definition,
        "input_schema": tool.input_schema,
        "visibility": tool.visibility,
        "team": tool.team,
        **fields,
    }
    return services.sequence_update(tool, author=author, **values)


def messages_of(error: pytest.ExceptionInfo[DefinitionInvalid]) -> dict[str | None, str]:
    return {problem.field: problem.message for problem in error.value.problems}


def browser(user: User, **fields: Any) -> CallContext:
    return CallContext(user=user, caller=Caller.BROWSER, **fields)


def test_a_new_sequence_is_published_under_a_name_models_can_call(alice: User) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")))
    assert (tool.kind, tool.wire_name, tool.version) == ("sequence", "count_and_shout", 1)
    assert tool.definition is not None
    assert tool.definition["steps"][0]["timeoutSeconds"] == 30
    assert (tool.visibility, tool.timeout_seconds) == ("private", 300)


def test_two_sequences_of_one_name_get_two_wire_names(alice: User) -> None:
    step = workshop.step(workshop.make("echo"))
    assert make(alice, step).wire_name != make(alice, step).wire_name


def test_each_change_is_a_new_version_and_none_is_none(alice: User) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")))
    assert change(tool, alice).version == 1
    assert change(tool, alice, description="Now it only counts.").version == 2
    assert tool.versions.count() == 2


def test_everything_that_is_wrong_is_told_at_once(alice: User) -> None:
    with pytest.raises(DefinitionInvalid) as error:
        make(alice, {"toolToRunId": "nonsense"}, name=" ", description="", visibility="secret")
    told = messages_of(error)
    assert told["name"] == "Give the sequence a name."
    assert told["description"].startswith("Say what the sequence does")
    assert told["visibility"] == "Choose one of private, team, public."
    assert "does not exist, or you may not use it" in told["toolToRunId"]


def test_a_name_and_a_description_have_a_limit(alice: User) -> None:
    step = workshop.step(workshop.make("echo"))
    with pytest.raises(DefinitionInvalid) as error:
        make(alice, step, name="x" * 121, description="x" * 4001)
    assert messages_of(error)["name"] == "The name has 121 characters; at most 120 fit."
    assert "at most 4000 fit" in messages_of(error)["description"]


@pytest.mark.parametrize("definition", [None, [], "text", {"format": 1}, {"format": 1, "steps": 3}])
def test_a_definition_of_another_shape_is_refused(alice: User, definition: Any) -> None:
    with pytest.raises(DefinitionInvalid):
        make(alice, definition=definition)


def test_more_than_a_hundred_steps_are_refused(alice: User) -> None:
    with pytest.raises(DefinitionInvalid, match="at most 100 steps"):
        make(alice, *[workshop.step(workshop.make("echo"))] * 101)


@pytest.mark.parametrize(
    "schema", [None, [], {"type": "string"}, {"type": "object", "properties": 3}]
)
def test_an_input_schema_of_another_shape_is_refused(alice: User, schema: Any) -> None:
    with pytest.raises(DefinitionInvalid) as error:
        make(alice, workshop.step(workshop.make("echo")), input_schema=schema)
    assert "input schema" in messages_of(error)["inputSchema"]


def test_a_tool_of_somebody_else_is_refused(alice: User, bob: User) -> None:
    private = workshop.make("echo", owner=bob, visibility="private")
    with pytest.raises(DefinitionInvalid, match="you may not use it"):
        make(alice, workshop.step(private))


def test_a_sequence_that_calls_itself_is_refused(alice: User) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")))
    with pytest.raises(DefinitionInvalid, match="cannot call itself"):
        change(tool, alice, definition={"format": 1, "steps": [workshop.step(tool)]})


def test_a_sequence_that_calls_itself_through_another_is_refused(alice: User) -> None:
    inner = make(alice, workshop.step(workshop.make("echo")), name="Inner")
    outer = make(alice, workshop.step(inner), name="Outer")
    with pytest.raises(DefinitionInvalid, match="calls, through others, the one you are editing"):
        change(inner, alice, definition={"format": 1, "steps": [workshop.step(outer)]})


def test_a_pinned_version_that_did_not_call_back_is_no_circle(alice: User) -> None:
    echo = workshop.make("echo")
    inner = make(alice, workshop.step(echo), name="Inner")
    outer = make(alice, workshop.step(echo), name="Outer")
    change(outer, alice, definition={"format": 1, "steps": [workshop.step(inner)]})
    step = workshop.step(outer, toolVersion=1)
    assert change(inner, alice, definition={"format": 1, "steps": [step]}).version == 2


def test_sequences_stand_inside_one_another_five_deep_at_most(alice: User) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")), name="Level 1")
    for level in range(2, 6):
        tool = make(alice, workshop.step(tool), name=f"Level {level}")
    with pytest.raises(DefinitionInvalid, match="more than 5 deep"):
        make(alice, workshop.step(tool), name="Level 6")


def test_a_team_must_be_one_of_your_own(alice: User, team: Group) -> None:
    step = workshop.step(workshop.make("echo"))
    assert make(alice, step, visibility="team", team=team).team == team
    for other in (None, factories.make_team("others")):
        with pytest.raises(DefinitionInvalid) as error:
            make(alice, step, visibility="team", team=other)
        assert messages_of(error)["team"].startswith("Choose one of your own teams")


def test_a_public_sequence_goes_on_while_each_change_waits(alice: User, governor: User) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")), visibility="public")
    assert tool.review_status == "candidate"
    proposal_approve(Proposal.objects.get(), by=governor, reason="")
    tool.refresh_from_db()
    assert tool.review_status == "approved"
    assert change(tool, alice).version == tool.version
    assert not Proposal.objects.filter(state="open").exists()

    draft = change(tool, alice, description="Something else.")
    assert (draft.version, draft.live_version, draft.description) == (2, 1, "Something else.")
    tool.refresh_from_db()
    assert (tool.version, tool.review_status) == (1, "approved")
    assert tool.description != "Something else."
    again = change(draft_of(tool), alice, description="Yet another.")
    assert again.version == 3
    proposal_approve(Proposal.objects.get(state="open"), by=governor, reason="")
    tool.refresh_from_db()
    assert (tool.version, tool.description) == (3, "Yet another.")
    assert tool.unreviewed_versions == [2]


def test_a_change_does_not_lift_a_quarantine(alice: User) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")))
    tool_review(tool, status="quarantined")
    assert change(tool, alice, description="Harmless.").review_status == "quarantined"


def test_arguments_are_checked_before_a_run_is_made(alice: User) -> None:
    schema = factories.TEXT_SCHEMA
    tool = make(alice, workshop.step(workshop.make("echo")), input_schema=schema)
    for arguments in ({}, {"text": 3}, [], "text", None):
        with pytest.raises(InvalidArguments):
            runs.run_start(tool, arguments, context=browser(alice))
    assert not Run.objects.exists()


def test_a_sequence_of_somebody_else_cannot_be_run(alice: User, charlie: User) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")))
    with pytest.raises(PermissionRefused):
        runs.run_start(tool, {}, context=browser(charlie))


@pytest.fixture
def failed(alice: User) -> Run:
    """A run whose second step failed."""
    tool = make(
        alice,
        workshop.step(workshop.make("echo"), storeOutputAs="said"),
        workshop.step(workshop.make("fail")),
    )
    run = runs.run_start(tool, {"n": 1}, context=browser(alice))
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "failed"
    return run


def test_a_retry_takes_over_the_steps_before(alice: User, failed: Run) -> None:
    workshop.calls.clear()
    again = runs.run_retry(failed, context=browser(alice), from_step=2)
    assert again.input == {"n": 1}
    running.execute(again.pk)
    again.refresh_from_db()
    assert again.retry_of == failed
    assert [step.status for step in again.steps.order_by("number")] == ["reused", "failed"]
    assert [name for name, *_ in workshop.calls] == ["fail"]


def test_a_retry_with_the_current_version_runs_what_was_mended(alice: User, failed: Run) -> None:
    tool = failed.tool
    assert tool.definition is not None
    echo = Tool.objects.get(wire_name="echo")
    mapping = {"t": {"source": "previousStep", "step": "said"}}
    mended = {**tool.definition["steps"][1], "toolToRunId": str(echo.pk), "inputMapping": mapping}
    steps = [tool.definition["steps"][0], mended]
    change(tool, alice, definition={"format": 1, "steps": steps})
    again = runs.run_retry(failed, context=browser(alice), from_step=2, version="current")
    running.execute(again.pk)
    again.refresh_from_db()
    assert again.status == "succeeded"
    assert again.tool_version.number == 2


def test_a_step_that_was_changed_cannot_be_taken_over(alice: User, failed: Run) -> None:
    tool = failed.tool
    assert tool.definition is not None
    first, second = tool.definition["steps"]
    steps = [{**first, "timeoutSeconds": 5}, second]
    change(tool, alice, definition={"format": 1, "steps": steps})
    with pytest.raises(InvalidInput, match="Step 1 is not what it was in this run"):
        runs.run_retry(failed, context=browser(alice), from_step=2, version="current")


def test_a_step_that_was_not_run_or_failed_cannot_be_taken_over(alice: User) -> None:
    fail, echo = workshop.step(workshop.make("fail")), workshop.step(workshop.make("echo"))
    run = runs.run_start(make(alice, fail, echo, echo), {}, context=browser(alice))
    running.execute(run.pk)
    run.refresh_from_db()
    for number in (2, 3):
        with pytest.raises(InvalidInput, match="Step 1 has no output that could be kept"):
            runs.run_retry(run, context=browser(alice), from_step=number)
    for number in (4, -1):
        with pytest.raises(InvalidInput, match=f"There is no step {number} in this version"):
            runs.run_retry(run, context=browser(alice), from_step=number)


def test_a_failure_that_the_run_went_past_is_taken_over_as_such(alice: User) -> None:
    passed = workshop.step(workshop.make("fail"), continueOnFailure=True, storeOutputAs="lost")
    tool = make(alice, passed, workshop.step(workshop.make("echo")))
    run = runs.run_start(tool, {}, context=browser(alice))
    running.execute(run.pk)
    run.refresh_from_db()
    again = runs.run_retry(run, context=browser(alice), from_step=2)
    running.execute(again.pk)
    assert [step.status for step in again.steps.order_by("number")] == ["failed", "succeeded"]


def test_a_run_that_goes_on_cannot_be_retried(alice: User) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")))
    run = runs.run_start(tool, {}, context=browser(alice))
    with pytest.raises(Conflict, match="not over yet"):
        runs.run_retry(run, context=browser(alice))


def test_a_retry_has_no_more_rights_than_the_run_had(alice: User, failed: Run) -> None:
    limited = frozenset({"a", "b"})
    cases = [
        (None, None, None),
        (["a", "c"], None, ["a", "c"]),
        (None, limited, ["a", "b"]),
        (["a", "c"], limited, ["a"]),
    ]
    for before, asking, after in cases:
        failed.scopes = before
        again = runs.run_retry(failed, context=browser(alice, scopes=asking))
        assert again.scopes == after


def test_the_run_of_a_deleted_sequence_cannot_be_retried(alice: User, failed: Run) -> None:
    services.sequence_delete(failed.tool)
    with pytest.raises(PermissionRefused, match="no longer available"):
        runs.run_retry(failed, context=browser(alice))


def test_a_wire_name_that_was_just_taken_is_told(alice: User) -> None:
    step = workshop.step(workshop.make("echo"))
    stale = make(alice, step)
    services.sequence_delete(Tool.objects.get(pk=stale.pk))
    make(alice, step)
    with pytest.raises(Conflict, match="just taken the name count_and_shout"):
        change(stale, alice, description="Saved by a tab that did not see it go.")


def test_a_change_that_waits_is_told_to_its_owner_and_read_in_full_by_who_decides(
    alice: User, bob: User, governor: User, client_for: Callable[[User], Client]
) -> None:
    tool = make(alice, workshop.step(workshop.make("echo")), visibility="public")
    proposal = Proposal.objects.get()
    read = client_for(governor).get(f"/admin/registry/proposal/{proposal.pk}/change/")
    assert "<p>It calls <a" in read.content.decode() and "echo</a>." in read.content.decode()
    assert "&quot;toolToRunId&quot;" in read.content.decode()
    proposal_approve(proposal, by=governor, reason="")
    assert "You edit version" not in edited(client_for(alice), tool)

    change(Tool.objects.get(pk=tool.pk), alice, description="Something else.")
    assert "You edit version 2. Everybody else keeps version 1" in edited(client_for(alice), tool)
    waits = "Change waits for review"
    assert waits in client_for(alice).get("/sequences/").content.decode()
    assert waits not in client_for(bob).get("/sequences/").content.decode()


def edited(client: Client, tool: Tool) -> str:
    return client.get(f"/sequences/{tool.pk}/edit").content.decode()
