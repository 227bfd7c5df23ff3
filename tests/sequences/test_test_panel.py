"""The part of the builder in which a draft is tested."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client

from registry.models import Tool
from sequences.drafts import draft_begin
from sequences.following import State
from sequences.forms.drafts import Draft, Row, StepDraft
from sequences.models import DraftOutput, Run, SequenceDraft
from sequences.running import execute
from sequences.views import testing
from tests.sequences import workshop

SCHEMA = json.dumps(
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
)


@pytest.fixture
def echo() -> Tool:
    return workshop.make("echo", visibility="public", review_status="approved")


@pytest.fixture
def draft(alice: User, echo: Tool) -> SequenceDraft:
    steps = [
        StepDraft(
            key="a",
            tool="echo",
            rows=[Row(name="t", source="initialInput", value="text")],
            store_as="one",
        ),
        StepDraft(
            key="b", tool="echo", rows=[Row(name="t", source="previousStep", value="one", path="t")]
        ),
    ]
    return draft_begin(alice, Draft(name="Twice", schema=SCHEMA, steps=steps))


@pytest.fixture
def browser(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def page_of(draft: SequenceDraft) -> str:
    return f"/sequences/drafts/{draft.pk}/test"


def send(browser: Client, draft: SequenceDraft, do: str, **fields: Any) -> Any:
    return browser.post(page_of(draft), {"test-form": "1", "do": do, **fields})


def test_the_page_names_each_step_and_that_it_was_not_tested(
    browser: Client, draft: SequenceDraft
) -> None:
    page = browser.get(page_of(draft)).content.decode()
    assert page.count("Not tested yet") == 2
    assert 'name="text"' in page


def test_a_test_is_started_with_the_input_of_the_form(
    browser: Client, draft: SequenceDraft
) -> None:
    answer = send(browser, draft, "until:b", text="hi")
    assert answer.status_code == 302
    run = Run.objects.get()
    assert (run.draft, run.input, run.status) == (draft, {"text": "hi"}, "queued")
    execute(run.pk)
    assert DraftOutput.objects.get(step_key="b").output == {"t": "hi"}
    assert browser.get(page_of(draft)).content.decode().count(">Tested<") == 2


def test_a_test_that_ends_while_its_page_is_read_is_shown_as_over(
    browser: Client, draft: SequenceDraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(browser, draft, "test", **{"field-text": "hi"})
    state_of = testing.state_of

    def then_over(run_id: UUID) -> State | None:
        state = state_of(run_id)
        execute(run_id)
        return state

    monkeypatch.setattr(testing, "state_of", then_over)
    page = browser.get(page_of(draft)).content.decode()
    assert "sse-connect" not in page


def test_a_button_outside_of_the_form_takes_the_input_of_the_last_test(
    browser: Client, draft: SequenceDraft
) -> None:
    send(browser, draft, "run", text="remembered")
    browser.post(page_of(draft), {"do": "step:a"})
    assert [run.input for run in Run.objects.all()] == [{"text": "remembered"}] * 2


def test_an_input_that_is_missing_is_told_beside_its_field(
    browser: Client, draft: SequenceDraft
) -> None:
    answer = send(browser, draft, "run", text="")
    assert answer.status_code == 422
    assert "is required" in answer.content.decode()
    assert not Run.objects.exists()


def test_an_output_that_is_no_json_is_told_and_nothing_is_kept(
    browser: Client, draft: SequenceDraft
) -> None:
    answer = send(browser, draft, "edit:a", text="x", **{"output-a": "{oh"})
    assert answer.status_code == 422
    assert "This is not JSON" in answer.content.decode()
    assert not DraftOutput.objects.exists()


def test_an_output_said_by_hand_is_shown_as_that_and_can_be_forgotten(
    browser: Client, draft: SequenceDraft
) -> None:
    send(browser, draft, "edit:a", text="x", **{"output-a": '{"t": "said"}'})
    assert "Edited by hand" in browser.get(page_of(draft)).content.decode()
    send(browser, draft, "forget:a", text="x")
    assert not DraftOutput.objects.exists()


def test_a_sample_is_kept_shown_and_taken_out(browser: Client, draft: SequenceDraft) -> None:
    send(browser, draft, "save", text="a sample", **{"sample-name": "first"})
    sample = draft.samples.get()
    assert (sample.name, sample.input) == ("first", {"text": "a sample"})
    shown = browser.get(f"{page_of(draft)}?sample={sample.pk}").content.decode()
    assert "a sample" in shown
    send(browser, draft, "drop", text="x", sample=str(sample.pk))
    assert not draft.samples.exists()


def test_a_sample_without_a_name_is_refused(browser: Client, draft: SequenceDraft) -> None:
    answer = send(browser, draft, "save", text="x", **{"sample-name": " "})
    assert answer.status_code == 422
    assert "A sample has a name" in answer.content.decode()


def test_a_button_that_is_not_known_does_nothing(browser: Client, draft: SequenceDraft) -> None:
    assert send(browser, draft, "explode:a:9", text="x").status_code == 302
    assert not Run.objects.exists()


def test_a_published_sequence_without_changes_gets_a_draft_for_its_tests(
    browser: Client, alice: User, echo: Tool
) -> None:
    sequence = workshop.sequence_of(alice, workshop.step(echo, key="a"))
    answer = browser.post(f"/sequences/{sequence.pk}/test", {"do": "run"})
    assert answer.status_code == 302
    assert Run.objects.get().draft == SequenceDraft.objects.get(tool=sequence)


def test_the_tests_of_somebody_else_are_not_found(
    client: Client, bob: User, draft: SequenceDraft
) -> None:
    client.force_login(bob)
    assert client.get(page_of(draft)).status_code == 404
    assert send(client, draft, "run", text="x").status_code == 404
    assert not Run.objects.exists()


def test_who_is_not_signed_in_is_asked_to(client: Client, draft: SequenceDraft) -> None:
    assert client.get(page_of(draft)).status_code == 302
