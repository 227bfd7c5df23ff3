"""Who finds what is told once more by the columns of the index; here it meets the database."""

from __future__ import annotations

from itertools import product

import pytest
from django.utils import timezone

from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.search.facts import Audience, Circumstances, Narrowing
from registry.search.reader import Progress, Reader
from registry.selectors import approved, tools_usable_by
from tests.factories import make_package, make_sequence, make_tool

pytestmark = pytest.mark.django_db


def test_the_columns_say_the_same_as_the_lists_of_what_may_be_used(
    alice, bob, charlie, governor, team
):
    tools = [
        make_tool(owner=owner, visibility=visibility, team=team, review_status=status)
        for owner, visibility, status in product((alice, bob), Visibility, ReviewStatus)
    ]
    tools += [
        make_tool(
            package=make_package(review_status=package_status, added_by=adder),
            review_status=status,
            owner=owner,
        )
        for status, package_status, adder, owner in product(
            ReviewStatus, ReviewStatus, (None, bob), (None, alice)
        )
    ]
    stopped = {"stopped_at": timezone.now(), "stopped_reason": "It leaks."}
    tools += [
        make_sequence(alice),
        make_tool(**stopped),
        make_tool(package=make_package(**stopped)),
        make_tool(deleted_at=timezone.now()),
    ]
    replica = Reader.of_all(Progress(), sees_own=True).replica
    now = Circumstances(today=timezone.now().date())
    for user in (alice, bob, charlie, governor):
        usable = tools_usable_by(user)
        found = usable.filter(approved()) | usable.filter(owner__isnull=False)
        teams = frozenset(user.groups.values_list("pk", flat=True))
        audience = Audience(person=user.pk, teams=teams)
        seen = replica.columns.masks(audience, Narrowing(), now, down_since=0.0).visible
        named = [tool for tool in tools if str(tool.pk) in replica.engine]
        told = {tool.pk for tool in named if seen[replica.engine.slot(str(tool.pk))]}
        made = {tool.pk for tool in tools}
        assert told == made & set(found.values_list("pk", flat=True))
