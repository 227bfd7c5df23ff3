"""Facts that the database itself holds."""

import pytest
from django.db import IntegrityError, ProgrammingError, transaction

from registry.models import Invocation, Tool
from registry.models.invocation import Caller, Outcome
from registry.models.tool import ToolKind, Visibility
from tests.factories import make_package, make_tool

pytestmark = pytest.mark.django_db


def refused(error=IntegrityError):
    """Expect the database to refuse, and keep the test's transaction usable."""

    class Refused:
        def __enter__(self):
            self.point = transaction.atomic()
            self.raises = pytest.raises(error)
            info = self.raises.__enter__()
            self.point.__enter__()
            return info

        def __exit__(self, *problem):
            self.point.__exit__(*problem)
            return self.raises.__exit__(*problem)

    return Refused()


def test_a_published_version_cannot_change_or_go():
    version = make_tool().versions.get()
    version.reason = "rewritten"
    with refused(ProgrammingError):
        version.save()
    with refused(ProgrammingError):
        version.delete()


def test_an_invocation_cannot_change_or_go(alice):
    row = Invocation.objects.create(
        tool=make_tool(),
        tool_version=1,
        caller=Caller.REST,
        user=alice,
        outcome=Outcome.SUCCEEDED,
        phase="execute",
        arguments={},
        duration_ms=1,
    )
    with refused(ProgrammingError):
        Invocation.objects.filter(pk=row.pk).update(duration_ms=2)
    with refused(ProgrammingError):
        row.delete()


def test_a_failed_invocation_must_name_its_error(alice):
    with refused():
        Invocation.objects.create(
            tool=make_tool(),
            tool_version=1,
            caller=Caller.REST,
            user=alice,
            outcome=Outcome.FAILED,
            phase="execute",
            arguments={},
            duration_ms=1,
        )


def test_two_living_tools_cannot_share_a_wire_name():
    make_tool(wire_name="twin")
    with refused():
        make_tool(wire_name="twin")


def test_a_deleted_tool_leaves_its_wire_name_free():
    from registry.services import tool_delete

    tool_delete(make_tool(wire_name="twin"))
    assert make_tool(wire_name="twin").wire_name == "twin"


@pytest.mark.parametrize("name", ["", "with space", "9lives", "a" * 65, "é"])
def test_a_wire_name_that_a_model_could_not_send_is_refused(name):
    with refused(Exception):
        make_tool(wire_name=name)


def test_one_package_has_an_export_once():
    package = make_package()
    make_tool(package=package, export_name="a")
    with refused():
        make_tool(package=package, export_name="a")


def test_a_private_tool_has_an_owner():
    with refused():
        make_tool(visibility=Visibility.PRIVATE, owner=None)


def test_a_tool_shared_with_a_team_names_the_team(alice):
    with refused():
        make_tool(visibility=Visibility.TEAM, owner=alice, team=None)


def test_only_a_sequence_stands_without_a_package(alice):
    with refused():
        make_tool(package=None)
    with refused():
        make_tool(kind=ToolKind.SEQUENCE, package=make_package(), definition={"format": 1})


def test_a_package_is_there_once_an_ecosystem():
    make_package(name="twice")
    with refused():
        make_package(name="twice")


def test_publishing_the_same_definition_makes_no_second_version(alice):
    from registry.services import tool_publish

    tool = make_tool()
    tool_publish(tool, author=alice)
    tool.description = "Something else."
    tool_publish(tool, author=alice, reason="reworded")

    assert Tool.objects.get(pk=tool.pk).version == 2
    assert list(tool.versions.order_by("number").values_list("number", flat=True)) == [1, 2]
