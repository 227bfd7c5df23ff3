"""A person describes a sequence in words, and a model drafts it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from registry.models import Tool
from sequences.forms.drafts import draft_from_json
from sequences.models import SequenceDraft
from sequences.proposals import PROPOSE, ProposalInvalid, document_of
from tests import factories
from tests.fakes.model_server import MODEL, Call, ModelServer, Reply

pytestmark = pytest.mark.django_db(transaction=True)

DESCRIBE = "/sequences/describe"
WORDS = "Clean up the white space of a text and count its words"
PROPOSAL: dict[str, Any] = {
    "name": "Clean and count",
    "description": "Cleans a text and counts its words.",
    "inputs": [{"name": "text", "type": "string", "description": "What is counted."}],
    "steps": [
        {
            "name": "clean",
            "title": "Clean it up",
            "tool": "trim_text",
            "inputs": {"text": {"input": "text"}, "collapse_spaces": {"value": True}},
        },
        {
            "name": "counted",
            "tool": "count_text",
            "inputs": {"text": {"step": "clean", "path": "text"}},
            "when": "size(steps.clean.text) > 0",
        },
    ],
    "output": {"words": {"step": "counted", "path": "count"}},
    "made_of_it": "Two steps: clean, then count.",
    "left_open": ["Nothing is sent anywhere."],
}


@pytest.fixture
def tools() -> list[Tool]:
    return [factories.make_builtin(name) for name in ("trim_text", "count_text", "hash_text")]


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


@pytest.fixture
def scripted(settings: Any, model: ModelServer, tools: list[Tool]) -> ModelServer:
    settings.OUTFITTER_MODEL = MODEL
    return model


def without_output(**changes: Any) -> dict[str, Any]:
    return {**PROPOSAL, **changes}


def said(client: Client, answer: Any) -> str:
    return client.get(answer["Location"]).content.decode()


def test_what_a_model_proposes_opens_as_a_draft(client, alice, scripted):
    scripted.calls(Call(PROPOSE, PROPOSAL))
    answer = client.post(DESCRIBE, {"words": WORDS, "model": MODEL})
    row = SequenceDraft.objects.get()
    assert answer["Location"] == f"/sequences/drafts/{row.pk}/edit"
    draft = draft_from_json(row.document)
    assert (draft.name, row.owner, row.tool) == ("Clean and count", alice, None)
    assert [step.tool for step in draft.steps] == ["trim_text", "count_text"]
    assert draft.steps[1].when == "size(steps.clean.text) > 0"
    assert row.revisions.get().label == "Described in words"
    html = said(client, answer)
    assert "Two steps: clean, then count." in html
    assert "Left open: Nothing is sent anywhere." in html


def test_the_model_is_told_of_tools_that_fit_and_of_one_way_to_answer(client, scripted):
    scripted.calls(Call(PROPOSE, PROPOSAL))
    client.post(DESCRIBE, {"words": WORDS, "model": MODEL})
    asked = scripted.requests[0]
    assert [tool["function"]["name"] for tool in asked["tools"]] == [PROPOSE]
    step = asked["tools"][0]["function"]["parameters"]["properties"]["steps"]["items"]
    assert {"trim_text", "count_text"} <= set(step["properties"]["tool"]["enum"])
    assert '"name": "trim_text"' in asked["messages"][0]["content"]
    assert asked["messages"][1]["content"] == WORDS


def test_what_is_wrong_goes_back_to_the_model_which_mends_it(client, scripted):
    wrong = without_output(
        steps=[
            {"name": "counted", "tool": "count_text", "inputs": {"text": {"step": "clean"}}},
        ]
    )
    scripted.calls(Call(PROPOSE, wrong))
    scripted.calls(Call(PROPOSE, PROPOSAL))
    answer = client.post(DESCRIBE, {"words": WORDS, "model": MODEL})
    told = scripted.requests[1]["messages"][-1]
    assert told["role"] == "tool"
    assert (
        "step 1, inputMapping.text: No earlier step stores its output as “clean”."
        in (told["content"])
    )
    assert SequenceDraft.objects.count() == 1
    assert "It took 2 tries." in said(client, answer)


def test_a_model_that_never_gets_it_right_leaves_the_words_and_the_tools(client, scripted):
    wrong = without_output(steps=[{"name": "a", "tool": "count_text", "inputs": {}}])
    for _ in range(3):
        scripted.calls(Call(PROPOSE, wrong))
    page = client.post(DESCRIBE, {"words": WORDS, "model": MODEL})
    html = page.content.decode()
    assert page.status_code == 422
    assert len(scripted.requests) == 3
    assert "The model tried 3 times, and its proposal was never valid." in html
    assert "“count_text” needs “text”" in html
    assert f"{WORDS}</textarea>" in html
    assert "trim_text" in html
    assert not SequenceDraft.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{broken", "JSON"),
        ({"name": "x"}, "is required"),
        (
            without_output(steps=[{"name": "a", "tool": "rm_rf", "inputs": {}}]),
            "trim_text",
        ),
        (
            without_output(steps=[{"name": "a"}]),
            "Step “a” needs either a tool or a question to ask.",
        ),
        (
            without_output(steps=[{"name": "a", "tool": "count_text", "inputs": {"text": {}}}]),
            "step a, input text: give exactly one of",
        ),
    ],
)
def test_a_proposal_that_cannot_be_read_is_told_to_the_model(client, scripted, arguments, told):
    scripted.calls(Call(PROPOSE, arguments))
    scripted.calls(Call(PROPOSE, PROPOSAL))
    answer = client.post(DESCRIBE, {"words": WORDS, "model": MODEL})
    assert answer.status_code == 302
    assert told in scripted.requests[1]["messages"][-1]["content"]


def test_words_in_place_of_a_proposal_are_the_reason(client, scripted):
    scripted.enqueue("I would rather not.")
    page = client.post(DESCRIBE, {"words": WORDS, "model": MODEL})
    assert page.status_code == 422
    assert "It said: “I would rather not.”" in page.content.decode()


def test_a_provider_that_fails_loses_no_words(client, scripted):
    scripted.enqueue(*[Reply(status=401, error={"message": "bad key"}) for _ in range(5)])
    page = client.post(DESCRIBE, {"words": WORDS, "model": MODEL})
    assert 400 <= page.status_code < 600
    assert f"{WORDS}</textarea>" in page.content.decode()
    assert "sk-scripted-secret-key" not in page.content.decode()


def test_the_demo_model_makes_a_simple_honest_draft(client, tools, alice):
    words = "Trim the white space of a text, then hash it and paint a picture of Venus"
    answer = client.post(DESCRIBE, {"words": words, "model": "demo/offline"})
    assert answer.status_code == 302, answer.content.decode()
    draft = draft_from_json(SequenceDraft.objects.get().document)
    assert [step.tool for step in draft.steps] == ["trim_text", "hash_text"]
    rows = {row.name: row for row in draft.steps[0].rows}
    assert (rows["text"].source, rows["text"].value) == ("initialInput", "text")
    rows = {row.name: row for row in draft.steps[1].rows}
    assert (rows["text"].source, rows["text"].value) == ("previousStep", "trim_text")
    html = said(client, answer)
    assert "It understands no language" in html
    assert "Left open: No tool fits “paint a picture of Venus”." in html


def test_words_that_no_tool_fits_are_said_to_fit_none(client, tools):
    page = client.post(DESCRIBE, {"words": "Xyzzy qwfp zxcv", "model": "demo/offline"})
    assert page.status_code == 422
    assert "Xyzzy qwfp zxcv</textarea>" in page.content.decode()


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"words": "  ", "model": "demo/offline"}, "Nothing was written."),
        ({"words": "x" * 4_001, "model": "demo/offline"}, "more than 4,000 characters"),
        ({"words": "count", "model": "openai/someone-elses"}, "This model is not offered."),
    ],
)
def test_bad_input_is_told(client, tools, settings, sent, told):
    settings.OUTFITTER_MODEL = "demo/offline"
    page = client.post(DESCRIBE, sent)
    assert page.status_code == 400
    assert told in page.content.decode()


def test_models_of_ones_own_agents_are_offered_and_of_nobody_else(client, alice, bob):
    factories.make_agent(alice, name="Mine", slug="mine", model="openai/mine")
    factories.make_agent(bob, name="His", slug="his", model="openai/his")
    html = client.get(DESCRIBE).content.decode()
    assert "openai/mine" in html
    assert "openai/his" not in html


def test_only_who_is_signed_in_describes(client_for):
    assert Client().get(DESCRIBE).status_code == 302


def test_a_question_in_place_of_a_tool_becomes_an_approval():
    document = document_of(
        without_output(
            steps=[
                PROPOSAL["steps"][0],
                {"name": "sure", "title": "Sure?", "ask": "Go on with {{ steps.clean.text }}?"},
            ],
            output={"ok": {"step": "sure", "path": "approved"}},
        ),
        {},
    )
    assert document.definition["steps"][1]["approval"] == {
        "title": "Sure?",
        "message": "Go on with {{ steps.clean.text }}?",
    }


def test_all_that_is_wrong_with_a_proposal_is_told_at_once():
    steps = [{"name": "a"}, {"name": "b", "tool": "t", "ask": "?"}]
    with pytest.raises(ProposalInvalid) as refused:
        document_of(without_output(steps=steps, output={"x": {}}), {})
    assert len(refused.value.problems) == 3
