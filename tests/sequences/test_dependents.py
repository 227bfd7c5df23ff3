"""What a change of a tool does to the sequences that call it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.models import AgentTool
from registry.impact.finding import impact_of
from registry.models import Proposal, Tool
from registry.services import tool_publish
from sequences.models import Run
from tests import factories
from tests.registry.impact.workshop import (
    QUERY,
    SEARCH_INPUT,
    SEARCH_OUTPUT,
    changed,
    make_search,
    searching,
    sequence_of,
    step,
    told,
)

HITS = {"source": "previousStep", "step": "found"}


@pytest.fixture
def search(db: None) -> Tool:
    return make_search()


@pytest.fixture
def show(db: None) -> Tool:
    """A tool that takes a list of `items` and a `title`."""
    schema = {
        "type": "object",
        "properties": {"items": {"type": "array"}, "title": {"type": "string"}},
    }
    return factories.make_tool(wire_name="show", input_schema=schema)


def without(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return {**schema, "properties": {k: v for k, v in schema["properties"].items() if k != name}}


def with_property(schema: dict[str, Any], name: str, rule: Any, **more: Any) -> dict[str, Any]:
    return {**schema, "properties": {**schema["properties"], name: rule}, **more}


def test_a_change_that_fits_breaks_nothing_but_is_listed(alice: User, search: Tool) -> None:
    searching(alice, search, title="Weekly")
    impact = changed(search, alice, description="Searches better.")
    assert [(item.name, item.how, item.breaks) for item in impact.sequences] == [
        ("Weekly", "step 1", False)
    ]
    assert impact.summary == "Nothing breaks by this."


def test_a_new_required_input_is_missing_in_the_step(alice: User, search: Tool) -> None:
    searching(alice, search, title="Weekly")
    schema = with_property(SEARCH_INPUT, "region", {"type": "string"}, required=["query", "region"])
    assert told(changed(search, alice, input_schema=schema)) == [
        (
            "Weekly",
            "step 1, input “region”",
            "“search” needs “region”. Add it and say where its value comes from.",
        )
    ]


def test_a_new_required_input_with_a_default_breaks_nothing(alice: User, search: Tool) -> None:
    searching(alice, search)
    region = {"type": "string", "default": "no"}
    schema = with_property(SEARCH_INPUT, "region", region, required=["query", "region"])
    assert not changed(search, alice, input_schema=schema).breaks


def test_an_input_that_goes_is_told_where_it_is_mapped(alice: User, search: Tool) -> None:
    searching(alice, search, inputs={"limit": {"source": "static", "value": 5}})
    (_, where, message), *rest = told(
        changed(search, alice, input_schema=without(SEARCH_INPUT, "limit"))
    )
    assert where == "step 1, input “limit”" and not rest
    assert message.startswith("“search” has no input “limit”. Its inputs: query.")


def test_an_input_that_goes_is_no_problem_where_others_are_allowed(alice: User) -> None:
    schema = {**SEARCH_INPUT, "additionalProperties": True}
    search = make_search(input_schema=schema)
    searching(alice, search, inputs={"limit": {"source": "static", "value": 5}})
    assert not changed(search, alice, input_schema=without(schema, "limit")).breaks


def test_a_static_value_is_checked_by_the_validator_itself(alice: User, search: Tool) -> None:
    searching(alice, search, inputs={"limit": {"source": "static", "value": 20}})
    schema = with_property(SEARCH_INPUT, "limit", {"type": "integer", "maximum": 10})
    assert told(changed(search, alice, input_schema=schema))[0][1:] == (
        "step 1, input “limit”",
        "The value of “limit” must be at most 10. Change it.",
    )


def test_an_input_of_the_sequence_is_compared_by_its_own_schema(alice: User, search: Tool) -> None:
    searching(alice, search)
    schema = with_property(SEARCH_INPUT, "query", {"type": "array"})
    assert told(changed(search, alice, input_schema=schema))[0][2] == (
        "“search” takes a list as “query”, but the sequence's input “text” is text. "
        "Map another value."
    )


def test_a_choice_of_the_sequences_input_that_is_taken_no_more_is_told(
    alice: User, search: Tool
) -> None:
    inputs = {"type": "object", "properties": {"text": {"enum": ["news", "web"]}}}
    searching(alice, search, input_schema=inputs)
    schema = with_property(SEARCH_INPUT, "query", {"enum": ["web"]})
    message = told(changed(search, alice, input_schema=schema))[0][2]
    assert message.startswith("The sequence's input “text” may be 'news', but “query” of “search”")


def test_a_template_gives_text(alice: User, search: Tool) -> None:
    searching(
        alice, search, inputs={"query": {"source": "template", "value": "{{ initial.text }}"}}
    )
    schema = with_property(SEARCH_INPUT, "query", {"type": "integer"})
    assert "but a template is text" in told(changed(search, alice, input_schema=schema))[0][2]


def test_what_later_steps_templates_and_the_output_read_is_looked_for(
    alice: User, search: Tool, show: Tool
) -> None:
    title = {"source": "template", "value": "{{ steps.found.total }} found"}
    sequence_of(
        alice,
        step(
            search,
            inputs={"query": QUERY},
            storeOutputAs="found",
            outputDisplaySuccess="{{ result.total }}",
        ),
        step(show, inputs={"items": {**HITS, "path": "hits[*].url"}, "title": title}),
        final={"n": {**HITS, "path": "total"}, "first": {**HITS, "path": "hits[0].url"}},
        title="Weekly",
    )
    impact = changed(search, alice, output_schema=without(SEARCH_OUTPUT, "total"))
    assert [(where, message) for _, where, message in told(impact)] == [
        (
            "step 1, its message on success",
            "Its template reads “result.total”. “total” is not in it. "
            "What is there: hits. Correct the template.",
        ),
        (
            "step 2, input “title”",
            "Its template reads “steps.found.total”. “total” is not in it. "
            "What is there: hits. Correct the template.",
        ),
        (
            "output “n”",
            "It reads “total” from the output of “found”. “total” is not in it. "
            "What is there: hits. Correct the path.",
        ),
    ]
    assert [trouble.breaks for _, trouble in impact.troubles] == [False, True, True]


def test_a_path_into_the_items_of_a_list_is_followed(alice: User, search: Tool, show: Tool) -> None:
    sequence_of(
        alice,
        step(search, inputs={"query": QUERY}, storeOutputAs="found"),
        step(show, inputs={"items": {**HITS, "path": "hits[*].url"}}),
    )
    hits = {"type": "array", "items": {"$ref": "#/$defs/hit"}}
    output = {
        "type": "object",
        "properties": {"hits": hits},
        "$defs": {"hit": {"type": "object", "properties": {"link": {"type": "string"}}}},
    }
    assert told(changed(search, alice, output_schema=output))[0][2] == (
        "It reads “hits[*].url” from the output of “found”. “url” is not in it. "
        "What is there: link. Correct the path."
    )


def test_what_a_schema_leaves_open_is_not_called_missing(
    alice: User, search: Tool, show: Tool
) -> None:
    sequence_of(
        alice,
        step(search, inputs={"query": QUERY}, storeOutputAs="found"),
        step(show, inputs={"items": {**HITS, "path": "hits"}}),
    )
    for output in (None, {}, {"type": "object"}, {"type": "object", "additionalProperties": True}):
        assert not changed(search, alice, output_schema=output).breaks


def test_two_tools_that_change_together_are_checked_together(
    alice: User, search: Tool, show: Tool
) -> None:
    sequence_of(
        alice,
        step(search, inputs={"query": QUERY}, storeOutputAs="found"),
        step(show, inputs={"items": {**HITS, "path": "hits"}}),
    )
    number = {"type": "object", "properties": {"items": {"type": "integer"}}}
    text = {"type": "object", "properties": {"hits": {"type": "string"}}}
    both = {
        search.pk: {"input_schema": SEARCH_INPUT, "output_schema": text, "definition": None},
        show.pk: {"input_schema": number, "output_schema": None, "definition": None},
    }
    impact = impact_of([show.pk], user=alice, proposed=both)
    assert told(impact)[0][2] == (
        "“show” takes a whole number as “items”, but “hits” of the output of “found” is text. "
        "Map another value."
    )


def test_what_was_broken_before_is_not_told_again(alice: User, search: Tool) -> None:
    searching(alice, search, inputs={"nonsense": {"source": "static", "value": 5}})
    assert not changed(search, alice, input_schema=without(SEARCH_INPUT, "limit")).breaks


def test_a_pin_keeps_a_step_but_not_when_the_tool_goes(alice: User, search: Tool) -> None:
    searching(alice, search, title="Weekly", step={"toolVersion": 1})
    schema = with_property(SEARCH_INPUT, "region", {"type": "string"}, required=["region"])
    impact = changed(search, alice, input_schema=schema)
    (item,) = impact.sequences
    assert item.kept and not impact.breaks
    assert [(use.pinned, use.kept) for _, use in impact.pins] == [(1, True)]

    impact = impact_of([search.pk], user=alice, gone=True)
    assert [(use.pinned, use.kept) for _, use in impact.pins] == [(1, False)]
    assert told(impact) == [
        (
            "Weekly",
            "step 1, its tool",
            "It calls “search”, which nobody could call any more. "
            "Choose another tool for this step, or take the step out.",
        )
    ]


def test_only_the_step_that_is_not_pinned_breaks(alice: User, search: Tool) -> None:
    sequence_of(
        alice,
        step(search, inputs={"query": QUERY}, toolVersion=1),
        step(search, inputs={"query": QUERY}),
    )
    schema = with_property(SEARCH_INPUT, "region", {"type": "string"}, required=["region"])
    impact = changed(search, alice, input_schema=schema)
    assert [where for _, where, _ in told(impact)] == ["step 2, input “region”"]
    assert impact.sequences[0].how == "step 1, pinned to v1, step 2"


def test_the_successor_of_a_tool_that_goes_is_named(alice: User, search: Tool) -> None:
    search.successor = make_search(wire_name="search_2")
    search.save()
    searching(alice, search)
    message = told(impact_of([search.pk], user=alice, gone=True))[0][2]
    assert "Choose “search_2” for this step" in message


def test_a_sequence_around_a_sequence_is_told_with_the_way_to_it(alice: User, search: Tool) -> None:
    inner = searching(alice, search, title="Inner")
    middle = sequence_of(alice, step(inner, inputs={"text": QUERY}), title="Middle")
    sequence_of(alice, step(middle, inputs={"text": QUERY}), title="Outer")
    impact = impact_of([search.pk], user=alice, gone=True)
    assert {(item.name, item.path) for item in impact.sequences} == {
        ("Inner", ()),
        ("Middle", ("Inner",)),
        ("Outer", ("Inner", "Middle")),
    }
    assert ("Middle", "step 1, its tool") in [(name, where) for name, where, _ in told(impact)]
    assert any("Mend “Inner” first." in message for *_, message in told(impact))


def test_a_sequence_that_changes_is_known_by_the_names_of_its_output(
    alice: User, search: Tool, show: Tool
) -> None:
    mapped = {"n": {**HITS, "path": "total"}}
    found = step(search, inputs={"query": QUERY}, storeOutputAs="found")
    inner = sequence_of(alice, found, final=mapped, title="Inner")
    sequence_of(
        alice,
        step(inner, inputs={"text": QUERY}, storeOutputAs="inner"),
        step(show, inputs={"items": {"source": "previousStep", "step": "inner", "path": "n"}}),
        title="Outer",
    )
    definition = {**(inner.definition or {}), "finalOutputMapping": {"count": mapped["n"]}}
    impact = changed(inner, alice, definition=definition)
    assert [(name, where) for name, where, _ in told(impact)] == [
        ("Outer", "step 2, input “items”")
    ]


def test_an_earlier_version_counts_where_an_agent_or_a_step_pins_it(
    alice: User, search: Tool
) -> None:
    calculator = factories.make_builtin("calculator")
    sequence = searching(alice, search, title="Weekly")
    sequence.definition = factories.make_sequence(alice).definition
    tool_publish(sequence, author=alice)
    assert sequence.version == 2 and str(calculator.pk) in str(sequence.definition)
    assert not impact_of([search.pk], user=alice, gone=True).sequences

    outer = sequence_of(alice, step(sequence, inputs={"text": QUERY}, toolVersion=1), title="Outer")
    agent = factories.make_agent(alice, name="Ada")
    AgentTool.objects.create(agent=agent, tool=sequence, pinned_version=1)
    impact = impact_of([search.pk], user=alice, gone=True)
    assert {(item.name, item.version, item.state) for item in impact.sequences} == {
        ("Weekly", 1, "pinned"),
        ("Outer", outer.version, "live"),
    }
    assert [(item.name, item.how, item.path) for item in impact.agents] == [
        ("Ada", "linked, pinned to v1", ("Weekly",))
    ]


def test_a_pin_to_a_version_that_does_not_call_it_is_not_touched(alice: User, search: Tool) -> None:
    factories.make_builtin("calculator")
    sequence = factories.make_sequence(alice, title="Weekly")
    sequence_of(alice, step(sequence, inputs={"text": QUERY}, toolVersion=1), title="Outer")
    sequence.definition = searching(alice, search, title="Other").definition
    tool_publish(sequence, author=alice)
    names = {item.name for item in impact_of([search.pk], user=alice, gone=True).sequences}
    assert names == {"Weekly", "Other"}


def test_a_version_that_waits_for_review_counts(alice: User, bob: User, search: Tool) -> None:
    factories.make_builtin("calculator")
    sequence = factories.make_sequence(alice, title="Weekly")
    live = sequence.definition
    sequence.definition = searching(alice, search, title="Other").definition
    tool_publish(sequence, author=alice)
    Tool.objects.filter(pk=sequence.pk).update(version=1, definition=live)
    Proposal.objects.create(tool=sequence, cause="edit", digest="x")
    impact = impact_of([search.pk], user=alice, gone=True)
    assert ("Weekly", 2, "staged") in [(i.name, i.version, i.state) for i in impact.sequences]
    Tool.objects.filter(pk=sequence.pk).update(visibility="public", review_status="approved")
    others = impact_of([search.pk], user=bob, gone=True)
    assert not others.sequences and others.hidden.sequences == 2


def test_runs_that_have_not_ended_are_counted(alice: User, search: Tool) -> None:
    sequence = searching(alice, search)
    for status in ("queued", "succeeded"):
        Run.objects.create(
            tool=sequence,
            tool_version=sequence.versions.get(),
            user=alice,
            caller="browser",
            status=status,
            finished_at=timezone.now() if status == "succeeded" else None,
        )
    assert impact_of([search.pk], user=alice, gone=True).runs_waiting == 1


def test_sequences_of_others_are_only_counted(alice: User, bob: User, search: Tool) -> None:
    searching(alice, search, title="Secret plan")
    impact = impact_of([search.pk], user=bob, gone=True)
    assert not impact.sequences and impact.hidden.words == "1 sequence of other people"
    assert impact.breaks and impact.summary == "This breaks 1 of other people."


def test_a_governor_is_told_of_all(alice: User, governor: User, search: Tool) -> None:
    searching(alice, search, title="Plan")
    impact = impact_of([search.pk], user=governor, gone=True)
    assert [(item.name, item.owner, item.url) for item in impact.sequences] == [
        ("Plan", "alice", "")
    ]


def test_a_deleted_sequence_counts_no_more(alice: User, search: Tool) -> None:
    sequence = searching(alice, search)
    Tool.objects.filter(pk=sequence.pk).update(deleted_at=timezone.now())
    assert impact_of([search.pk], user=alice, gone=True).is_empty
