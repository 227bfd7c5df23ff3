"""What else reads a definition knows questions, and steps that are switched off."""

import json
from typing import Any

import jsonschema
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from registry.impact.finding import impact_of
from registry.models import Tool
from registry.services import tool_delete
from registry.step_troubles import step_troubles
from sequences import services
from sequences.definition import DefinitionInvalid, json_schema, parse, to_json
from tests.registry.impact.workshop import changed, told
from tests.sequences import workshop

pytestmark = pytest.mark.django_db
ASK: dict[str, Any] = {"approval": {"title": "Go on?"}, "storeOutputAs": "asked"}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def make(owner: User, *steps: Any, **fields: Any) -> Tool:
    numbered = [{**step, "stepNumber": place} for place, step in enumerate(steps, 1)]
    definition = {"format": 1, "steps": numbered}
    values: dict[str, Any] = {"name": "Some", "description": "Does it.", "definition": definition}
    return services.sequence_create(owner, **{**values, "input_schema": TEXT, **fields})


@pytest.fixture
def counts(db: None) -> Tool:
    output = {"type": "object", "properties": {"total": {"type": "integer"}}}
    return workshop.make("echo", wire_name="count", input_schema=TEXT, output_schema=output)


def test_a_sequence_that_only_asks_is_saved_and_can_run(alice: User) -> None:
    tool = make(alice, ASK)
    assert tool.definition["steps"][0]["toolToRunId"] is None
    assert not step_troubles([tool])
    outer = make(alice, workshop.step(tool), name="Outer")
    assert outer.version == 1


def test_a_value_of_another_type_is_told_at_save(alice: User, counts: Tool) -> None:
    total = {"source": "previousStep", "step": "n", "path": "total"}
    with pytest.raises(DefinitionInvalid) as caught:
        make(
            alice,
            workshop.step(counts, storeOutputAs="n"),
            workshop.step(counts, inputMapping={"text": total}),
        )
    (problem,) = caught.value.problems
    assert (problem.step, problem.field) == (2, "inputMapping.text")
    assert "“count” takes text as “text”, but “total” of the output of “n”" in problem.message


def test_one_thing_is_told_once_at_save(alice: User, counts: Tool) -> None:
    nowhere = {"source": "expression", "value": "steps.nope.total"}
    with pytest.raises(DefinitionInvalid) as caught:
        make(alice, workshop.step(counts, inputMapping={"text": nowhere}))
    (problem,) = caught.value.problems
    assert "No earlier step stores its output as “nope”" in problem.message


def test_a_message_that_reads_nothing_does_not_keep_from_saving(alice: User, counts: Tool) -> None:
    step = workshop.step(counts, outputDisplaySuccess="{{ result.nope }}")
    assert make(alice, step).version == 1


def test_what_a_sequence_inside_gives_is_known_at_save(alice: User, counts: Tool) -> None:
    inner = make(
        alice,
        workshop.step(counts, storeOutputAs="n"),
        definition={
            "format": 1,
            "steps": [workshop.step(counts, storeOutputAs="n")],
            "finalOutputMapping": {"total": {"source": "previousStep", "step": "n"}},
        },
    )
    read = {"text": {"source": "previousStep", "step": "inner", "path": "nope"}}
    with pytest.raises(DefinitionInvalid, match="What is there: total"):
        make(
            alice,
            workshop.step(inner, storeOutputAs="inner"),
            workshop.step(counts, inputMapping=read),
        )


def test_a_circle_through_a_step_that_is_switched_off_is_none(alice: User, counts: Tool) -> None:
    first = make(alice, workshop.step(counts), name="First")
    second = make(alice, workshop.step(first), name="Second")
    steps = [workshop.step(second, disabled=True), workshop.step(counts, number=2)]
    fields: dict[str, Any] = {
        "author": alice,
        "name": "First",
        "description": "Does it.",
        "input_schema": TEXT,
        "visibility": "private",
    }
    services.sequence_update(first, definition={"format": 1, "steps": steps}, **fields)
    del steps[0]["disabled"]
    with pytest.raises(DefinitionInvalid, match="would never end"):
        services.sequence_update(first, definition={"format": 1, "steps": steps}, **fields)


def test_a_step_that_is_switched_off_keeps_no_sequence_from_running(
    alice: User, counts: Tool
) -> None:
    gone = workshop.make("fail")
    tool = make(alice, workshop.step(gone, disabled=True), workshop.step(counts))
    assert not impact_of([gone.pk], user=alice, gone=True).breaks
    tool_delete(gone)
    assert not step_troubles([tool])


def test_a_question_that_reads_what_a_tool_no_longer_gives_is_told(
    alice: User, counts: Tool
) -> None:
    ask = {"approval": {"message": "{{ steps.n.total }} words. Send?"}}
    make(alice, workshop.step(counts, storeOutputAs="n"), ask, name="Weekly")
    output = {"type": "object", "properties": {"sum": {"type": "integer"}}}
    ((name, where, message),) = told(changed(counts, alice, output_schema=output))
    assert (name, where) == ("Weekly", "step 2, its question")
    assert "“total” is not in it. What is there: sum." in message


def test_a_condition_and_a_loop_that_a_change_breaks_are_told(alice: User, counts: Tool) -> None:
    loop = {"forEach": {"items": {"source": "expression", "value": "[steps.n.total]"}}}
    make(
        alice,
        workshop.step(counts, storeOutputAs="n"),
        workshop.step(counts, when="steps.n.total > 1", **loop),
    )
    output = {"type": "object", "properties": {"sum": {"type": "integer"}}}
    wheres = [where for _, where, _ in told(changed(counts, alice, output_schema=output))]
    assert sorted(wheres) == ["step 2, its condition", "step 2, its loop"]


def test_the_json_schema_of_the_format_is_served(client: Client, alice: User) -> None:
    client.force_login(alice)
    schema = client.get("/api/v1/sequences/schema/").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    step = {"stepNumber": 1, "toolToRunId": "t", "when": "true"}
    jsonschema.validate({"format": 1, "steps": [step]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"format": 1, "steps": [{**step, "until": 1}]}, schema)


def test_the_schema_asks_for_a_token(client: Client) -> None:
    assert client.get("/api/v1/sequences/schema/").status_code in (401, 403)


def test_every_example_of_the_reference_is_a_definition() -> None:
    page = (settings.BASE_DIR / "docs/reference/sequences.md").read_text()
    blocks = [part.split("```")[0] for part in page.split("```json\n")[1:]]
    whole = [data for text in blocks if "steps" in (data := json.loads(text))]
    assert len(whole) >= 1
    for data in whole:
        assert parse(to_json(parse(data))) == parse(data)
    fields = _fields()
    assert not [name for name in fields if f"`{name}" not in page]


def _fields() -> list[str]:
    """Return all names that a definition knows."""

    schema = json_schema()
    parts = [schema, *schema["$defs"].values()]
    return [name for part in parts for name in part["properties"]]
