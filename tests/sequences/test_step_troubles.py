"""A sequence whose step cannot be called is told as such, and not offered to models."""

import pytest
from django.utils import timezone

from registry.models.package import ReviewStatus
from registry.models.tool import Health
from registry.search.service import search
from registry.services import tool_delete
from registry.step_troubles import step_troubles
from registry.stopping import package_stop, tool_stop
from tests.factories import make_builtin, make_sequence, make_tool

pytestmark = pytest.mark.django_db

NEED = "paint the garden fence"


def calling(owner, *tools, **fields):
    steps = [
        {
            "stepNumber": number,
            "toolToRunId": str(tool.pk),
            "inputMapping": {"text": {"source": "initialInput", "key": "text"}},
            "storeOutputAs": f"answer{number}",
        }
        for number, tool in enumerate(tools, start=1)
    ]
    return make_sequence(owner, definition={"format": 1, "steps": steps}, **fields)


def trouble(sequence):
    return step_troubles([sequence]).get(sequence.pk, "")


def test_what_keeps_a_step_from_being_called_is_named(alice, governor):
    fine, tool = make_tool(), make_tool()
    sequence = calling(alice, fine, tool)
    assert trouble(sequence) == ""
    tool_stop(tool, by=governor, reason="It leaks.")
    assert trouble(sequence) == "Step 2 calls a tool that a governor has stopped"
    package_stop(fine.package, by=governor, reason="It leaks.")
    assert trouble(sequence) == "Step 1 calls a tool that a governor has stopped"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"import_health": Health.BROKEN}, "that is broken"),
        ({"review_status": ReviewStatus.REJECTED}, "that a reviewer has refused"),
        ({"deleted_at": timezone.now()}, "that was deleted"),
    ],
)
def test_each_trouble_has_its_words(alice, fields, said):
    assert trouble(calling(alice, make_tool(**fields))) == f"Step 1 calls a tool {said}"


def test_a_refused_version_and_a_tool_that_is_not_there_are_told(alice):
    tool = make_tool(blocked_versions=[7])
    sequence = calling(alice, tool)
    sequence.definition["steps"][0]["toolVersion"] = 7
    assert trouble(sequence) == "Step 1 calls a version that a reviewer has refused"
    sequence.definition["steps"][0]["toolToRunId"] = "no id"
    assert trouble(sequence) == "Step 1 calls a tool that is not there"


def test_a_sequence_inside_another_brings_its_trouble_along(alice, django_assert_max_num_queries):
    tool = make_tool()
    inner = calling(alice, tool)
    outer = calling(alice, make_builtin("calculator"), inner)
    tool_delete(tool)
    with django_assert_max_num_queries(3):
        told = step_troubles([outer, inner, tool])
    assert told[outer.pk] == "Step 2 calls a sequence that cannot run now"
    assert told[inner.pk] == "Step 1 calls a tool that was deleted"


def test_a_sequence_that_calls_itself_through_another_comes_to_an_end(alice):
    first = calling(alice, make_tool())
    second = calling(alice, first)
    first.definition["steps"][0]["toolToRunId"] = str(second.pk)
    first.save()
    assert trouble(second) == ""


def test_search_leaves_it_out_and_its_page_and_the_builder_say_why(alice, client_for):
    tool = make_tool()
    sequence = calling(alice, tool, title=NEED, description=NEED)
    assert [hit.tool_id for hit in search(NEED, user=alice).found] == [sequence.pk]
    tool_type = type(tool)
    tool_type.objects.filter(pk=tool.pk).update(import_health=Health.BROKEN)

    (hit,) = search(NEED, user=alice).hits
    assert (hit.injected, hit.reason) == (False, "broken: Step 1 calls a tool that is broken")
    client = client_for(alice)
    page = client.get(f"/tools/{sequence.pk}/").content.decode()
    assert "It cannot run now." in page
    assert "Step 1 calls a tool that is broken" in page
    builder = client.get(f"/sequences/{sequence.pk}/edit").content.decode()
    assert "This is a tool that is broken: the step cannot run" in builder

    tool_type.objects.filter(pk=tool.pk).update(import_health=Health.HEALTHY)
    assert search(NEED, user=alice).found
