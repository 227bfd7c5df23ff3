"""Versions, wire names, deletion and review."""

import pytest

from registry.models import ToolVersion
from registry.models.package import ReviewStatus
from registry.selectors import tools_usable_by
from registry.services import (
    free_wire_name,
    package_review,
    tool_delete,
    tool_publish,
    tool_review,
)
from registry.standing import standing_of
from tests.factories import make_package, make_tool

pytestmark = pytest.mark.django_db


def test_publishing_an_unchanged_tool_makes_no_version(alice):
    tool = make_tool()

    assert tool_publish(tool, author=alice).number == 1
    assert ToolVersion.objects.count() == 1


def test_a_change_is_the_next_version_with_its_author_and_reason(alice):
    tool = make_tool()
    tool.description = "Something else."
    version = tool_publish(tool, author=alice, reason="Clearer")

    assert (version.number, version.author, version.reason) == (2, alice, "Clearer")
    assert version.snapshot["description"] == "Something else."
    assert ToolVersion.objects.get(tool=tool, number=1).snapshot["description"] != "Something else."


def test_a_new_version_of_the_package_is_a_new_version_of_its_tools(alice):
    tool = make_tool()
    tool.package.version = "2.0.0"
    tool.package.save()

    assert tool_publish(tool, author=alice).snapshot["package"]["version"] == "2.0.0"
    assert tool.version == 2


def test_what_does_not_decide_how_a_tool_runs_makes_no_version(alice):
    tool = make_tool()
    tool.import_health = "broken"

    assert tool_publish(tool, author=alice).number == 1


def test_a_deleted_tool_frees_its_wire_name():
    tool = make_tool(wire_name="count_words")
    assert free_wire_name(None, "count words") != "count_words"
    assert free_wire_name(None, "count words", tool_id=tool.pk) == "count_words"

    tool_delete(tool)
    assert free_wire_name(None, "count words") == "count_words"
    assert ToolVersion.objects.filter(tool=tool).exists()


@pytest.mark.parametrize("status", [ReviewStatus.REJECTED, ReviewStatus.QUARANTINED])
def test_a_review_stops_a_tool_or_a_whole_package(alice, status):
    package = make_package(added_by=alice)
    first, second = make_tool(package=package), make_tool(package=package)

    tool_review(first, status=status)
    assert list(tools_usable_by(alice)) == [second]
    package_review(package, status=status)
    assert not tools_usable_by(alice).exists()
    package_review(package, status=ReviewStatus.APPROVED)
    assert list(tools_usable_by(alice)) == [second]


def test_only_what_was_the_present_version_when_it_was_approved_is_vouched_for(alice):
    package = make_package(review_status=ReviewStatus.CANDIDATE, added_by=alice)
    tool = make_tool(package=package)
    tool.description = "What a reviewer sees."
    tool_publish(tool, author=alice)
    assert [standing_of(tool.pk).vouches_for(number) for number in (1, 2)] == [False, False]

    package_review(package, status=ReviewStatus.APPROVED)
    assert [standing_of(tool.pk).vouches_for(number) for number in (1, 2)] == [False, True]

    tool.refresh_from_db()
    tool.description = "Published by a reviewer, so approved as it is."
    tool_publish(tool, author=None)
    tool_review(tool, status=ReviewStatus.APPROVED)
    assert [standing_of(tool.pk).vouches_for(number) for number in (1, 2, 3)] == [False, True, True]
