"""Who sees which tools, packages, imports and calls."""

import pytest

from config.lib.errors import NotFound
from registry import selectors
from registry.context import CallContext
from registry.execution import invoke
from registry.filters import ToolFilters, categories_visible_to, tools_listed
from registry.loading import load_spec
from registry.models import ImportJob
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from tests.factories import make_package, make_sequence, make_tool

pytestmark = pytest.mark.django_db

STEPLESS = {"format": 1, "steps": []}


def sees(person, tool):
    return selectors.tools_visible_to(person).filter(pk=tool.pk).exists()


def test_a_private_tool_is_its_owners_alone(alice, bob, governor):
    tool = make_sequence(alice, definition=STEPLESS)

    assert [sees(person, tool) for person in (alice, bob, governor)] == [True, False, False]
    with pytest.raises(NotFound):
        selectors.tool_visible_to(bob, tool.pk)


def test_a_shared_tool_is_its_teams(alice, bob, charlie, team):
    tool = make_sequence(alice, definition=STEPLESS, visibility=Visibility.TEAM, team=team)

    assert [sees(person, tool) for person in (alice, bob, charlie)] == [True, True, False]
    with pytest.raises(NotFound, match="among yours"):
        selectors.tool_owned_by(bob, tool.pk)


def test_a_public_tool_needs_its_own_and_its_packages_approval(alice, charlie):
    waiting = make_package(review_status=ReviewStatus.CANDIDATE, added_by=alice)
    tools = [
        make_tool(),
        make_tool(review_status=ReviewStatus.CANDIDATE),
        make_tool(package=waiting),
    ]

    assert [sees(charlie, tool) for tool in tools] == [True, False, False]
    assert sees(alice, tools[2]), "who added a package tries it"


def test_packages_are_seen_when_approved_own_or_to_be_reviewed(alice, charlie, governor):
    package = make_package(review_status=ReviewStatus.CANDIDATE, added_by=alice)

    assert selectors.package_visible_to(alice, package.pk) == package
    assert selectors.package_visible_to(governor, package.pk) == package
    with pytest.raises(NotFound):
        selectors.package_visible_to(charlie, package.pk)


def test_an_import_is_seen_by_who_asked_and_by_reviewers(alice, charlie, governor):
    job = ImportJob.objects.create(ecosystem="npm", name="x", requested_by=alice)

    assert selectors.job_visible_to(alice, job.pk) == job
    assert selectors.job_visible_to(governor, job.pk) == job
    with pytest.raises(NotFound):
        selectors.job_visible_to(charlie, job.pk)


def test_a_persons_calls_are_theirs_alone(alice, bob):
    tool = make_tool()
    invoke(load_spec(tool), {"text": "x"}, CallContext(user=alice, caller=Caller.REST))

    assert selectors.invocations_of(tool, alice).count() == 1
    assert not selectors.invocations_of(tool, bob).exists()


def test_filters_are_read_from_a_query_string_and_written_back():
    filters = ToolFilters.of({"kind": "npm", "q": " web ", "page": "3", "other": "x"})

    assert filters == ToolFilters(q="web", kind="npm")
    assert filters.query() == "q=web&kind=npm"
    assert filters.query(kind="", health="broken") == "q=web&health=broken"
    assert filters.narrow
    assert not ToolFilters().narrow


def test_an_owner_is_named_or_is_me(alice, bob, team):
    tool = make_sequence(alice, definition=STEPLESS, visibility=Visibility.TEAM, team=team)

    assert list(tools_listed(bob, ToolFilters(owner="alice"))) == [tool]
    assert list(tools_listed(bob, ToolFilters(owner="me"))) == []


def test_better_matches_of_another_kind_do_not_hide_what_was_filtered_for(alice, monkeypatch):
    monkeypatch.setattr("registry.filters.MOST_FOUND", 2)
    for _ in range(5):
        make_tool(title="Send a postcard", description="Send a postcard.")
    mine = make_sequence(alice, title="Cards", description="Writes a text and sends a postcard.")

    found = tools_listed(alice, ToolFilters(q="send a postcard", kind="sequence"))
    assert list(found) == [mine]


def test_categories_are_those_of_visible_tools(alice, charlie):
    make_tool(category="text")
    make_tool(category="text")
    make_sequence(alice, definition=STEPLESS, category="private")

    assert categories_visible_to(charlie) == ["text"]
    assert categories_visible_to(alice) == ["private", "text"]


def test_a_tools_standing_says_the_same_as_the_lists(alice, bob, charlie, governor, team):
    """The rule is told twice, for lists in SQL and for one call in Python; here they meet."""
    from itertools import product

    from registry.models.package import ReviewStatus
    from registry.models.tool import Visibility
    from registry.selectors import tools_triable_by, tools_usable_by, tools_visible_to
    from registry.standing import Named, named, named_by_id, standing_of
    from tests.factories import make_package, make_sequence, make_tool

    owned = [
        make_tool(owner=alice, visibility=visibility, team=team, review_status=status)
        for visibility, status in product(Visibility, ReviewStatus)
    ]
    packaged = [
        make_tool(
            package=make_package(review_status=package_status, added_by=adder),
            review_status=status,
        )
        for status, package_status, adder in product(ReviewStatus, ReviewStatus, (None, bob))
    ]
    tools = [*owned, *packaged, make_sequence(alice)]
    made = {tool.pk for tool in tools}
    for user in (alice, bob, charlie, governor):
        usable = set(tools_usable_by(user).values_list("pk", flat=True))
        triable = set(tools_triable_by(user).values_list("pk", flat=True))
        assert {tool.pk for tool in tools if standing_of(tool.pk).usable_by(user)} == usable & made
        assert {t.pk for t in tools if standing_of(t.pk).triable_by(user)} == triable & made
        seen = set(tools_visible_to(user).values_list("pk", flat=True))
        assert {t.pk for t in tools if standing_of(t.pk).seen_by(user)} == seen & made
    for tool in tools:
        known = Named(tool, standing_of(tool.pk))
        assert named_by_id(tool.pk) == named(tool.wire_name) == known
