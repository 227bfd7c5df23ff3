"""What mends a step whose tool has changed, and the buttons that do it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import localdate

from registry.models import Tool
from registry.services import tool_delete, tool_publish
from sequences.forms.drafts import draft_from_json
from sequences.models import SequenceDraft
from sequences.opened import opened_tool
from sequences.repairing import draft_repairs, sequences_troubled
from sequences.repairs import Called, Given, Repair, Version, misfits, repairs_of
from tests.sequences import workshop
from tests.sequences.test_builder import fields_of

OLD = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
RENAMED = {
    "type": "object",
    "properties": {"city_name": {"type": "string"}, "unit": {"type": "string"}},
    "required": ["city_name"],
    "additionalProperties": False,
}


def called(now: dict[str, Any] | None, *before: dict[str, Any], **more: Any) -> Called:
    live = Version(len(before) + 1, now) if now else None
    earlier = tuple(Version(n, schema) for n, schema in enumerate(before, 1))[::-1]
    return Called(name="forecast", live=live, earlier=earlier, **more)


def labels(given: dict[str, Given], tool: Called, pinned: int | None = None) -> list[str]:
    found = repairs_of(given, tool, pinned=pinned)
    return [repair.label for repair in found.repairs] if found else []


def test_a_step_that_fits_needs_nothing():
    assert repairs_of({"city": Given()}, called(OLD, OLD)) is None


def test_what_never_fitted_is_no_change_of_the_tool():
    assert misfits({"place": Given()}, OLD) != []
    assert repairs_of({"place": Given()}, called(OLD, OLD)) is None


def test_an_input_under_a_new_name_is_offered_first_after_the_version_that_fits():
    found = repairs_of({"city": Given()}, called(RENAMED, OLD))
    assert found is not None
    assert found.breaks
    assert found.told == (
        "“forecast” now needs “city_name”.",
        "“forecast” has no input “city” any more.",
    )
    assert [repair.label for repair in found.repairs] == [
        "Keep to version 1, which fits",
        "Give what “city” gave to “city_name”",
        "Take “city” out",
        "Make “city_name” an input of the sequence",
    ]


def without_closing(schema: dict[str, Any]) -> dict[str, Any]:
    """As the tools are that people make, which take further inputs without a word."""
    return {key: value for key, value in schema.items() if key != "additionalProperties"}


def test_an_input_under_a_new_name_is_offered_where_the_schema_is_open_too():
    tool = called(without_closing(RENAMED), without_closing(OLD))
    found = repairs_of({"city": Given()}, tool)
    assert found is not None
    assert found.breaks
    assert "“forecast” has no input “city” any more." in found.told
    assert labels({"city": Given()}, tool)[:3] == [
        "Keep to version 1, which fits",
        "Give what “city” gave to “city_name”",
        "Take “city” out",
    ]


def test_a_value_that_an_open_schema_loses_is_told_and_breaks_nothing():
    now = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    given = {"city": Given(), "unit": Given()}
    found = repairs_of(given, called(now, without_closing(OLD)))
    assert found is not None
    assert not found.breaks
    assert labels(given, called(now, without_closing(OLD))) == ["Take “unit” out"]
    takes_any = {**now, "additionalProperties": True}
    assert repairs_of(given, called(takes_any, without_closing(OLD))) is None


def test_the_only_missing_input_is_meant_however_it_is_called():
    schema = {**OLD, "properties": {"where": {"type": "string"}}, "required": ["where"]}
    assert "Give what “city” gave to “where”" in labels({"city": Given()}, called(schema, OLD))


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ({"enum": ["C", "F"]}, 'Give “unit” its first choice: "C"'),
        ({"const": "C"}, 'Give “unit” the only choice: "C"'),
        ({"type": "string", "examples": ["K"]}, 'Give “unit” its example: "K"'),
    ],
)
def test_a_new_required_input_is_filled_by_what_its_schema_says(spec, label):
    schema = {
        **OLD,
        "properties": {**OLD["properties"], "unit": spec},
        "required": ["city", "unit"],
    }
    found = labels({"city": Given()}, called(schema, OLD))
    assert found == [
        "Keep to version 1, which fits",
        label,
        "Make “unit” an input of the sequence",
    ]


def test_a_new_required_input_with_a_default_breaks_nothing():
    unit = {"type": "string", "default": "C"}
    schema = {
        **OLD,
        "properties": {**OLD["properties"], "unit": unit},
        "required": ["city", "unit"],
    }
    assert repairs_of({"city": Given()}, called(schema, OLD)) is None


def test_a_fixed_value_of_another_type_goes_back_to_the_default():
    schema = {
        **OLD,
        "properties": {"city": {"type": "string"}, "unit": {"type": "integer", "default": 1}},
    }
    given = {"city": Given(), "unit": Given(is_fixed=True, value="C")}
    found = repairs_of(given, called(schema, OLD))
    assert found is not None
    assert found.told[0].startswith("The value of “unit” no longer fits “forecast”: it ")
    assert [repair.label for repair in found.repairs] == [
        "Keep to version 1, which fits",
        "Give “unit” its default: 1",
        "Leave “unit” out",
        "Make “unit” an input of the sequence",
    ]


def test_the_newest_version_that_fits_is_the_one_to_keep_to():
    assert labels({"city": Given()}, called(RENAMED, OLD, OLD, RENAMED))[0] == (
        "Keep to version 2, which fits"
    )


def test_a_tool_that_is_gone_gives_way_to_its_successor():
    gone = called(None, successor="weather", successor_schema=OLD)
    found = repairs_of({"city": Given()}, gone)
    assert found is not None
    assert found.breaks
    assert found.repairs == (
        Repair(kind="replace", to="weather", label="Call “weather” in its place"),
    )
    other = called(None, successor="weather", successor_schema=RENAMED)
    assert labels({"city": Given()}, other) == ["Call “weather” in its place; its inputs differ"]
    assert labels({"city": Given()}, called(None)) == []


def test_a_deprecated_tool_still_runs_and_its_successor_is_offered():
    tool = called(OLD, notice="It is deprecated.", successor="weather", successor_schema=OLD)
    found = repairs_of({"city": Given()}, tool)
    assert found is not None
    assert (found.breaks, found.told) == (False, ("It is deprecated.",))
    assert [repair.kind for repair in found.repairs] == ["replace"]


def test_a_step_that_is_held_back_may_follow_where_it_fits():
    assert labels({"city": Given()}, called(OLD, OLD), 1) == [
        "Follow the live version (2): its inputs fit"
    ]
    behind = repairs_of({"city": Given()}, called(RENAMED, OLD), pinned=1)
    assert behind is not None
    assert (behind.breaks, behind.repairs) == (False, ())


def test_a_version_that_may_not_be_called_any_more_is_left():
    found = repairs_of({"city": Given()}, called(OLD, OLD, barred=frozenset({1})), pinned=1)
    assert found is not None
    assert found.breaks
    assert [repair.kind for repair in found.repairs] == ["follow"]


# in the builder and in the list


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


@pytest.fixture
def forecast() -> Tool:
    return workshop.make("echo", wire_name="forecast", title="Forecast", input_schema=OLD)


@pytest.fixture
def sequence(alice: User, forecast: Tool) -> Tool:
    given = {"city": {"source": "initialInput", "key": "place"}}
    return workshop.sequence_of(
        alice,
        workshop.step(forecast, inputMapping=given),
        title="Plans",
        input_schema={"type": "object", "properties": {"place": {"type": "string"}}},
    )


def change(tool: Tool, schema: dict[str, Any]) -> None:
    tool.input_schema = schema
    tool_publish(tool, author=None, reason="Renamed.")


def offered(alice: User, sequence: Tool) -> dict[str, str]:
    draft = opened_tool(alice, sequence.pk).draft
    return {label: action for step in draft_repairs(alice, draft) for action, label in step.buttons}


def pressed(client: Client, sequence: Tool, action: str) -> Any:
    url = f"/sequences/{sequence.pk}/edit"
    sent = fields_of(client.get(url))
    return client.post(url, {**sent, "action": action})


def drafted(sequence: Tool) -> Any:
    return draft_from_json(SequenceDraft.objects.get(tool=sequence).document)


def test_the_builder_says_what_changed_and_mends_it(client, alice, sequence, forecast):
    assert "Tools have changed" not in client.get(f"/sequences/{sequence.pk}/edit").content.decode()
    change(forecast, RENAMED)
    html = client.get(f"/sequences/{sequence.pk}/edit").content.decode()
    assert "Tools have changed" in html
    assert "“forecast” now needs “city_name”." in html
    actions = offered(alice, sequence)
    page = pressed(client, sequence, actions["Give what “city” gave to “city_name”"])
    assert "Tools have changed" not in page.content.decode()
    rows = {row.name: row for row in drafted(sequence).steps[0].rows}
    assert (rows["city_name"].source, rows["city_name"].value) == ("initialInput", "place")
    assert "city" not in rows
    label = SequenceDraft.objects.get().revisions.order_by("-number")[0].label
    assert label == "Step 1: Give what “city” gave to “city_name”"
    pressed(client, sequence, "undo")
    assert {row.name for row in drafted(sequence).steps[0].rows} >= {"city"}


def test_a_step_is_held_to_the_version_that_fits(client, alice, sequence, forecast):
    change(forecast, RENAMED)
    actions = offered(alice, sequence)
    pressed(client, sequence, actions["Keep to version 1, which fits"])
    assert drafted(sequence).steps[0].version == "1"
    assert offered(alice, sequence) == {}


def test_a_new_input_is_asked_of_whoever_runs_the_sequence(client, alice, sequence, forecast):
    more = {**OLD, "required": ["city", "unit"]}
    change(forecast, more)
    pressed(client, sequence, offered(alice, sequence)["Make “unit” an input of the sequence"])
    draft = drafted(sequence)
    rows = {row.name: row for row in draft.steps[0].rows}
    assert (rows["unit"].source, rows["unit"].value) == ("initialInput", "unit")
    assert '"unit": {' in draft.schema
    assert offered(alice, sequence) == {}


def test_a_value_comes_from_the_schema(client, alice, sequence, forecast):
    unit = {"type": "string", "enum": ["C", "F"]}
    properties = {**OLD["properties"], "unit": unit}
    change(forecast, {**OLD, "properties": properties, "required": ["city", "unit"]})
    pressed(client, sequence, offered(alice, sequence)['Give “unit” its first choice: "C"'])
    rows = {row.name: row for row in drafted(sequence).steps[0].rows}
    assert (rows["unit"].source, rows["unit"].value) == ("static", "C")


def test_an_input_that_is_gone_is_taken_out(client, alice, sequence, forecast):
    without = {"type": "object", "properties": {}, "additionalProperties": False}
    change(forecast, without)
    pressed(client, sequence, offered(alice, sequence)["Take “city” out"])
    assert [row for row in drafted(sequence).steps[0].rows if row.source] == []


def test_a_successor_takes_the_place_of_a_deleted_tool(client, alice, sequence, forecast):
    weather = workshop.make("echo", wire_name="weather", input_schema=OLD)
    Tool.objects.filter(pk=forecast.pk).update(deprecated_on=localdate(), successor=weather)
    forecast.refresh_from_db()
    tool_delete(forecast)
    pressed(client, sequence, offered(alice, sequence)["Call “weather” in its place"])
    assert drafted(sequence).steps[0].tool == "weather"


def test_a_repair_that_is_offered_no_more_changes_nothing(client, sequence):
    page = pressed(client, sequence, "repair-0-0123456789ab")
    assert "This is not offered any more" in page.content.decode()
    assert not SequenceDraft.objects.exists()


def test_the_list_says_which_sequences_are_to_be_mended(client, alice, sequence, forecast):
    assert sequences_troubled(alice, [sequence]) == {}
    change(forecast, RENAMED)
    assert sequences_troubled(alice, [sequence]) == {
        sequence.pk: "Step 1: “forecast” now needs “city_name”."
    }
    assert "Step 1: “forecast” now needs “city_name”." in (
        client.get("/sequences/").content.decode()
    )


def test_a_list_of_sequences_that_are_well_costs_few_queries(
    alice, sequence, django_assert_max_num_queries
):
    tools = [workshop.sequence_of(alice, workshop.step(workshop.make("echo"))) for _ in range(1)]
    with django_assert_max_num_queries(4):
        sequences_troubled(alice, [sequence, *tools])
