"""A governor limits a tool while a change of it waits: neither is lost by the other."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from registry.governing import governed_of, tool_govern
from registry.models import Tool
from registry.models.tool import Visibility
from registry.review.deciding import proposal_approve, proposal_reject
from registry.review.drafts import draft_of, tool_write
from registry.specs import snapshot_of
from tests.factories import make_sequence
from tests.registry.review.making import approved, bring, row, tool, waiting

if TYPE_CHECKING:
    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db

LIMITS = {"required_scopes": ["mail.send"], "calls_per_minute": 7, "timeout_seconds": 60}


def govern(item: Tool, by: User) -> Tool:
    wanted = governed_of(item)._replace(**LIMITS, cost_per_call=Decimal("0.5"))
    return tool_govern(item, wanted, by=by, reason="It sends mail.")


def write(item: Tool, words: str) -> Tool:
    """Save a change of a public sequence, as its owner does."""
    assert item.owner is not None and item.definition is not None
    return tool_write(
        item,
        author=item.owner,
        name=item.title,
        description=words,
        definition=item.definition,
        input_schema=item.input_schema,
        visibility=Visibility.PUBLIC,
        team=None,
    )


def stored(item: Tool) -> Tool:
    return Tool.objects.get(pk=item.pk)


@pytest.fixture
def drafted(alice: User) -> Tool:
    """A public sequence in use, of which a change waits."""
    item = make_sequence(alice, visibility=Visibility.PUBLIC, description="Old words.")
    write(item, "New words.")
    return stored(item)


def test_governing_leaves_the_draft_waiting_and_its_words_out_of_use(
    drafted: Tool, governor: User
) -> None:
    govern(drafted, governor)
    live, proposal = stored(drafted), waiting()
    assert (live.description, live.required_scopes) == ("Old words.", ["mail.send"])
    assert (live.version, live.unreviewed_versions) == (3, [2])
    assert proposal.versions[0]["number"] == 2
    assert draft_of(live).description == "New words."


def test_approving_a_draft_keeps_what_was_governed_since(drafted: Tool, governor: User) -> None:
    govern(drafted, governor)
    proposal_approve(waiting(), by=governor, reason="Better words.")
    live = stored(drafted)
    assert live.description == "New words."
    assert {name: getattr(live, name) for name in LIMITS} == LIMITS
    assert live.cost_per_call == Decimal("0.5")
    version = live.versions.get(number=live.version)
    assert version.snapshot == snapshot_of(live)
    assert version.snapshot["required_scopes"] == ["mail.send"]
    assert live.version not in live.unreviewed_versions


def test_refusing_a_draft_keeps_what_was_governed_since(drafted: Tool, governor: User) -> None:
    govern(drafted, governor)
    proposal_reject(waiting(), by=governor, reason="Worse words.")
    live = stored(drafted)
    assert (live.description, live.required_scopes) == ("Old words.", ["mail.send"])
    assert live.blocked_versions == [2]


def test_a_draft_that_is_saved_after_governing_keeps_what_was_governed(
    drafted: Tool, governor: User
) -> None:
    govern(drafted, governor)
    write(stored(drafted), "Newest words.")
    proposal_approve(waiting(), by=governor, reason="")
    live = stored(drafted)
    assert live.description == "Newest words."
    assert {name: getattr(live, name) for name in LIMITS} == LIMITS


def test_governing_after_an_approval_keeps_what_was_approved(drafted: Tool, governor: User) -> None:
    proposal_approve(waiting(), by=governor, reason="")
    live = govern(drafted, governor)  # read before the approval
    assert (live.description, live.required_scopes) == ("New words.", ["mail.send"])


def test_a_tool_of_a_package_keeps_what_was_governed_while_its_update_waited(
    alice: User, governor: User
) -> None:
    approved(alice, governor)
    bring(alice, tool(description="Screams."), version="2.0.0")
    govern(row(), governor)
    assert row().description == "Shouts."
    proposal_approve(waiting(), by=governor, reason="")
    assert row().description == "Screams."
    assert {name: getattr(row(), name) for name in LIMITS} == LIMITS
