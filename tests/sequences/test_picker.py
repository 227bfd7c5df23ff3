"""What a step may read, picked from real values, and what a row is told at once."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from registry.models import Tool
from sequences.forms.drafts import Draft, Row, StepDraft, draft_from_json, draft_to_json
from sequences.forms.picker import picker_of
from sequences.forms.previews import check_at
from sequences.forms.reach import Reach, reach_of, readable
from sequences.models import DraftOutput, Run, RunStep, SampleInput, SequenceDraft
from sequences.picking import Node, Spot, schema_tree, value_tree
from sequences.samples import Origin
from tests.sequences import workshop

pytestmark = pytest.mark.django_db
SCHEMA = (
    '{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"},'
    ' "tags": {"type": "array", "items": {"type": "string"}}}}'
)
PLACES = {"places": [{"name": "Oslo", "my size": 1}, {"name": "Bergen", "my size": 2}], "n": 2}
TAKES = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "times": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}


def labels(node: Node) -> dict[str, Node]:
    """Return all nodes of a tree by their expression."""
    found = {node.spot.expression: node}
    for child in node.children:
        found |= labels(child)
    return found


def test_a_tree_of_values_says_how_to_read_each_of_them() -> None:
    tree = labels(value_tree(PLACES, Spot("steps", "found"), "all"))
    assert tree["steps.found.places"].sample == "2 items"
    assert tree["steps.found.places[0].name"].sample == "“Oslo”"
    assert tree['steps.found.places[*]."my size"'].is_each
    odd = tree['steps.found.places[1]."my size"']
    assert odd.spot.source == ("previousStep", "found", 'places[1]."my size"')
    assert odd.spot.condition == 'steps.found.places[1]["my size"]'
    assert tree["steps.found.places[*].name"].spot.condition == ""


def test_every_path_of_a_tree_reads_the_value_that_it_shows() -> None:
    from sequences.mapping import evaluate

    data = {"a b": [{"é": {'"': 1}}, 2], "x-y": [[3]], "items": "text", "0": None}
    for expression in labels(value_tree(data, Spot("initial"), "all")):
        evaluate(expression, {"initial": data})


def test_a_tree_of_a_schema_follows_references_and_lists() -> None:
    schema = {
        "type": "object",
        "properties": {"all": {"type": "array", "items": {"$ref": "#/$defs/one"}}},
        "$defs": {"one": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    }
    tree = labels(schema_tree(schema, Spot("steps", "a"), "all"))
    assert tree["steps.a.all[*].id"].kind == "whole number"
    assert "steps.a.all[0].id" in tree


def test_a_huge_value_is_shown_in_part() -> None:
    tree = value_tree({str(n): list(range(100)) for n in range(1000)}, Spot("initial"), "all")
    assert len(labels(tree)) < 1_000
    assert tree.cut >= 900


def test_branches_of_one_block_do_not_read_one_another() -> None:
    steps = [
        StepDraft(key="a"),
        StepDraft(key="b"),
        StepDraft(key="c", beside="same"),
        StepDraft(key="d", beside="beside"),
        StepDraft(key="e", beside="same"),
        StepDraft(key="f"),
    ]
    keys = ["".join(step.key for step in readable(steps, place)) for place in range(6)]
    assert keys == ["", "a", "ab", "a", "ad", "abcde"]


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create(username="olga")


@pytest.fixture
def echo(db: None) -> Tool:
    return workshop.make("echo", title="Echo", input_schema=TAKES)


def draft_of(owner: User, echo: Tool, *rows: Row, **fields: Any) -> SequenceDraft:
    """Make a draft of two steps, the second with these rows."""
    second = StepDraft(key="two", tool=echo.wire_name, rows=list(rows), **fields)
    draft = Draft(
        schema=SCHEMA,
        steps=[StepDraft(key="one", tool=echo.wire_name, store_as="found"), second],
    )
    return SequenceDraft.objects.create(owner=owner, document=draft_to_json(draft))


def reach(draft: SequenceDraft, owner: User) -> Reach:
    origin = Origin(draft=draft.pk, tool=draft.tool_id)
    return reach_of(draft_from_json(draft.document), origin, owner)


def gave(draft: SequenceDraft, value: Any, key: str = "one", **fields: Any) -> DraftOutput:
    return DraftOutput.objects.create(draft=draft, step_key=key, digest="", output=value, **fields)


def of_second(draft: SequenceDraft, owner: User) -> tuple[Reach, dict[str, Node]]:
    known = reach(draft, owner)
    trees = [section.tree for section in picker_of(known, 1).sections if section.tree]
    return known, {key: node for tree in trees for key, node in labels(tree).items()}


def test_inputs_are_offered_with_the_values_of_the_sample(owner: User, echo: Tool) -> None:
    draft = draft_of(owner, echo)
    SampleInput.objects.create(draft=draft, name="north", input={"city": "Oslo"})
    _, nodes = of_second(draft, owner)
    assert nodes["initial.city"].sample == "“Oslo”"
    assert nodes["initial.days"].kind == "whole number"
    assert nodes["initial.city"].spot.source == ("initialInput", "city", "")


def test_outputs_of_the_draft_come_before_those_of_runs(owner: User, echo: Tool) -> None:
    sequence = workshop.sequence_of(owner, workshop.step(echo, key="one", storeOutputAs="found"))
    draft = draft_of(owner, echo)
    SequenceDraft.objects.filter(pk=draft.pk).update(tool=sequence)
    draft.refresh_from_db()
    now = timezone.now()
    for minutes, text in ((5, "older"), (1, "newer")):
        run = workshop.run_of(sequence, owner)
        RunStep.objects.create(
            run=run,
            number=1,
            key="one",
            tool=echo,
            status="succeeded",
            output={"from": text},
            started_at=now - timedelta(minutes=minutes),
        )
    known, nodes = of_second(draft, owner)
    assert nodes["steps.found.from"].sample == "“newer”"
    assert known.seen["one"].where == "the last run"
    gave(draft, {"from": "the test"}, is_edited=True)
    known, nodes = of_second(draft, owner)
    assert nodes["steps.found.from"].sample == "“the test”"
    assert known.seen["one"].where == "what you wrote"


def test_what_other_people_ran_is_never_shown(owner: User, echo: Tool) -> None:
    other = User.objects.create(username="otto")
    sequence = workshop.sequence_of(owner, workshop.step(echo, storeOutputAs="found"))
    draft = draft_of(owner, echo)
    SequenceDraft.objects.filter(pk=draft.pk).update(tool=sequence)
    draft.refresh_from_db()
    run = workshop.run_of(sequence, other, input={"city": "secret"})
    RunStep.objects.create(
        run=run,
        number=1,
        key="one",
        tool=echo,
        status="succeeded",
        output={"secret": 1},
        started_at=timezone.now(),
    )
    assert Run.objects.count() == 1
    known, nodes = of_second(draft, owner)
    assert known.seen == {} and known.initial == {}
    assert not any("secret" in key for key in nodes)


def test_without_an_output_its_schema_is_offered_or_a_test(owner: User, echo: Tool) -> None:
    draft = draft_of(owner, echo)
    sections = picker_of(reach(draft, owner), 1).sections
    assert sections[1].hint == "Its tool does not say what it gives. Run a test to see it."
    Tool.objects.filter(pk=echo.pk).update(
        output_schema={"type": "object", "properties": {"id": {"type": "integer"}}}
    )
    _, nodes = of_second(draft, owner)
    assert nodes["steps.found.id"].kind == "whole number"


def test_an_output_without_a_name_gets_one_when_it_is_picked(owner: User, echo: Tool) -> None:
    draft = draft_of(owner, echo, store_as="echo")
    draft.document["steps"][0]["store_as"] = ""
    draft.save()
    section = picker_of(reach(draft, owner), 1).sections[1]
    assert (section.store_field, section.store_as) == ("steps-0-store_as", "echo_2")


def test_the_item_of_a_loop_is_offered_with_its_first_value(owner: User, echo: Tool) -> None:
    each = Row(source="previousStep", value="found", path="places")
    draft = draft_of(owner, echo, each=each)
    gave(draft, PLACES)
    _, nodes = of_second(draft, owner)
    assert nodes["item.name"].sample == "“Oslo”"
    assert nodes["item.name"].spot.source == ("item", "", "name")


def checked(draft: SequenceDraft, owner: User, at: str = "steps-1-in-0") -> Any:
    return check_at(reach(draft, owner), at)


def test_a_row_shows_what_it_gives_now(owner: User, echo: Tool) -> None:
    row = Row(name="text", source="previousStep", value="found", path="places[0].name")
    draft = draft_of(owner, echo, row)
    assert checked(draft, owner).note == (
        "Run a test to see it: step 1 (Echo) has given nothing yet."
    )
    gave(draft, PLACES)
    check = checked(draft, owner)
    assert (check.shown, check.kind, check.problems, check.fixes) == ("Oslo", "text", (), ())


@pytest.mark.parametrize(
    ("name", "path", "problem", "fixes"),
    [
        (
            "text",
            "places",
            "It is a list now, 2 items, and “text” must be text, not a list.",
            [("Use it as text", "template", "{{ steps.found.places }}")],
        ),
        (
            "times",
            "numbers",
            "It is a list now, 2 items, and “times” must be a whole number, not a list.",
            [
                ("Use the first item, [0]", "previousStep", "found"),
                ("Repeat the step for each item", "item", ""),
            ],
        ),
        (
            "text",
            "places[*].name",
            "“echo” takes text as “text”, but “places[*].name” of the output of “found” is a list. "
            "Map another value.",
            [
                ("Use the first item, [0]", "previousStep", "found"),
                ("Repeat the step for each item", "item", ""),
                ("Use it as text", "template", "{{ steps.found.places[*].name }}"),
            ],
        ),
        (
            "times",
            "digits",
            "It is text now, “12”, and “times” must be a whole number, not text.",
            [("Use it as a number", "expression", "to_number(steps.found.digits)")],
        ),
        (
            "tags",
            "digits",
            "It is text now, “12”, and “tags” must be a list, not text.",
            [("Use it as a list of one", "expression", "[steps.found.digits]")],
        ),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_what_would(
    owner: User, echo: Tool, name: str, path: str, problem: str, fixes: list[tuple[str, ...]]
) -> None:
    draft = draft_of(owner, echo, Row(name=name, source="previousStep", value="found", path=path))
    gave(draft, {**PLACES, "numbers": [1, 2], "digits": "12"})
    check = checked(draft, owner)
    assert check.problems == (problem,)
    assert [(fix.label, fix.source, fix.value) for fix in check.fixes] == fixes


def test_a_mismatch_is_told_by_the_schemas_before_anything_was_run(owner: User, echo: Tool) -> None:
    draft = draft_of(owner, echo, Row(name="text", source="initialInput", value="days"))
    check = checked(draft, owner)
    assert check.problems == (
        "“echo” takes text as “text”, but the sequence's input “days” is a whole number. "
        "Map another value.",
    )
    assert [fix.value for fix in check.fixes] == ["{{ initial.days }}"]


def test_what_is_wrong_elsewhere_does_not_hide_what_is_told_of_a_row(
    owner: User, echo: Tool
) -> None:
    draft = draft_of(owner, echo, Row(name="text", source="initialInput", value="town"))
    first = draft.document["steps"][0]
    first |= {"store_as": "not a name", "timeout": "soon", "tool": "", "when": "((("}
    draft.save()
    assert checked(draft, owner).problems[0].startswith("The sequence has no input “town”.")


@pytest.mark.parametrize(
    ("field", "text", "shown", "problem"),
    [
        ("success", "Found {{ result.n }}: {{ input.text }}", "Found 7: Oslo", ""),
        ("failure", "Sorry: {{ error.message }}", "Sorry: (why it failed)", ""),
        ("when", "steps.found.n > 1", "true: the step runs", ""),
        ("when", "steps.found.n > 9", "false: the step is skipped", ""),
        ("when", "steps.found.n", "", "The condition gives '2', not true or false."),
        ("success", "{{ result.", "", "The template is not valid."),
    ],
)
def test_texts_show_what_they_say_now(
    owner: User, echo: Tool, field: str, text: str, shown: str, problem: str
) -> None:
    row = Row(name="text", source="previousStep", value="found", path="places[0].name")
    draft = draft_of(owner, echo, row, **{field: text})
    gave(draft, PLACES)
    gave(draft, {"n": 7}, key="two")
    check = checked(draft, owner, f"steps-1-{field}")
    assert check.shown == shown
    assert "".join(check.problems).startswith(problem)
    assert bool(check.problems) == bool(problem)


def test_in_a_loop_the_message_tells_of_the_first_item(owner: User, echo: Tool) -> None:
    draft = draft_of(
        owner,
        echo,
        Row(name="text", source="item", path="name"),
        each=Row(source="previousStep", value="found", path="places"),
        success="Item {{ index }} gave {{ result.n }}",
    )
    gave(draft, PLACES)
    gave(draft, [{"n": 7}, {"n": 8}], key="two")
    assert checked(draft, owner, "steps-1-success").shown == "Item 0 gave 7"


def test_a_template_is_shown_as_it_would_be_filled(owner: User, echo: Tool) -> None:
    row = Row(name="text", source="template", value="In {{ initial.city }}: {{ steps.found.n }}")
    draft = draft_of(owner, echo, row)
    SampleInput.objects.create(draft=draft, name="north", input={"city": "Oslo"})
    gave(draft, PLACES)
    assert checked(draft, owner).shown == "In Oslo: 2"


def test_an_approval_offers_its_answer(owner: User, echo: Tool) -> None:
    draft = draft_of(owner, echo)
    draft.document["steps"][0] |= {"kind": "approval", "tool": "", "ask_title": "Send it?"}
    draft.save()
    _, nodes = of_second(draft, owner)
    assert nodes["steps.found.approved"].kind == "true or false"


# ---- over HTTP


def url(draft: SequenceDraft, page: str) -> str:
    return f"/sequences/drafts/{draft.pk}/{page}"


@pytest.fixture
def signed_in(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client


def test_the_picker_is_shown_for_a_row(signed_in: Client, owner: User, echo: Tool) -> None:
    draft = draft_of(owner, echo)
    gave(draft, PLACES)
    page = signed_in.get(url(draft, "picker?step=two&row=steps-1-in-0")).content.decode()
    assert 'data-path="places[0].name"' in page
    assert "data-each" in page


def test_a_row_is_checked_as_it_is_typed(signed_in: Client, owner: User, echo: Tool) -> None:
    draft = draft_of(owner, echo)
    form = {
        "schema": SCHEMA,
        "steps-0-tool": "echo",
        "steps-0-key": "one",
        "steps-0-in-0-name": "text",
        "steps-0-in-0-source": "template",
        "steps-0-in-0-value": "<b>{{ 'x' }}</b>",
    }
    page = signed_in.post(url(draft, "check?at=steps-0-in-0"), form).content.decode()
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    both = signed_in.post(url(draft, "checks"), form).content.decode()
    assert 'id="steps-0-in-0-check" hx-swap-oob="innerHTML"' in both


@pytest.mark.parametrize("page", ["picker", "check", "checks"])
def test_nobody_reads_the_draft_of_another_person(
    client: Client, owner: User, echo: Tool, page: str
) -> None:
    draft = draft_of(owner, echo)
    client.force_login(User.objects.create(username="otto"))
    assert client.post(url(draft, page)).status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "picker?row=steps-99-in-7&step=nowhere",
        "picker?field=steps-99-in-7-value",
        "picker?row=%00",
        "check?at=steps-999-in-0",
        "check?at=final-7",
        "check",
    ],
)
def test_places_that_are_not_there_are_no_error(
    signed_in: Client, owner: User, echo: Tool, query: str
) -> None:
    assert signed_in.post(url(draft_of(owner, echo), query)).status_code == 200


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("expression", "[@,@]" + "|[@,@]" * 60),
        ("expression", "((((((" * 100),
        ("template", "{{ " * 400),
        ("template", "{{ initial }}" * 300),
        ("expression", "to_number('1e999')"),
        ("static", "[" * 4000),
        ("nonsense", "x"),
    ],
)
def test_no_text_breaks_a_preview(
    signed_in: Client, owner: User, echo: Tool, source: str, value: str
) -> None:
    draft = draft_of(owner, echo, Row(name="text", source=source, value=value))
    draft.document["steps"][1] |= {"when": value[:400], "success": value}
    draft.save()
    assert signed_in.get(url(draft, "checks")).status_code == 200
    assert signed_in.get(url(draft, "picker?step=two&row=steps-1-in-0")).status_code == 200
