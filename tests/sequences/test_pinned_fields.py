"""The builder shows a pinned step with the inputs of the version that it is pinned to."""

import pytest

from registry.services import tool_publish
from sequences.forms.step_tools import tool_at, tools_chosen
from tests.factories import make_sequence, make_tool

pytestmark = pytest.mark.django_db

OLD = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}
NEW = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@pytest.fixture
def tool():
    tool = make_tool(input_schema=OLD, description="Reads words.")
    tool.input_schema, tool.description = NEW, "Reads a text."
    tool_publish(tool, author=None)
    return tool


def test_each_step_has_the_fields_of_its_own_version(alice, tool, django_assert_num_queries):
    pins = [(str(tool.pk), "1"), (tool.wire_name, ""), (tool.wire_name, "2")]
    chosen = tools_chosen(alice, pins)
    then = tool_at(chosen, str(tool.pk), "1")
    assert (list(then.fields), then.description, then.live) == (["words"], "Reads words.", 2)
    for name, version in pins[1:]:
        assert list(tool_at(chosen, name, version).fields) == ["text"]
    with django_assert_num_queries(2):
        tools_chosen(alice, pins)
    with django_assert_num_queries(1):
        tools_chosen(alice, pins[1:])


@pytest.mark.parametrize("version", ["9", "x", "-1", "1e3"])
def test_a_version_that_cannot_be_pinned_shows_the_live_fields(alice, tool, version):
    chosen = tools_chosen(alice, [(tool.wire_name, version)])
    assert list(tool_at(chosen, tool.wire_name, version).fields) == ["text"]


def test_the_page_names_the_inputs_of_the_pinned_version(alice, tool, client_for):
    step = {
        "stepNumber": 1,
        "toolToRunId": str(tool.pk),
        "toolVersion": 1,
        "inputMapping": {"words": {"source": "initialInput", "key": "text"}},
        "storeOutputAs": "answer",
    }
    sequence = make_sequence(alice, definition={"format": 1, "steps": [step]})
    page = client_for(alice).get(f"/sequences/{sequence.pk}/edit").content.decode()
    assert "Reads words." in page
    assert "Pinned to version 1, 2 is live" in page
    assert 'value="words"' in page
