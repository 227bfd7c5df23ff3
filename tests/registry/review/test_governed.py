"""What a governor decided of a tool is not taken back by what its package declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from registry.governing import governed_of, tool_govern
from registry.models.proposal import Cause
from registry.review.deciding import proposal_approve
from registry.services import package_allow_hosts
from tests.registry.review.making import approved, bring, package, row, tool, waiting

if TYPE_CHECKING:
    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db


def govern(by: User, *scopes: str, seconds: int = 30) -> None:
    wanted = governed_of(row())._replace(required_scopes=list(scopes), timeout_seconds=seconds)
    tool_govern(row(), wanted, by=by, reason="It sends mail.")


def test_a_scope_that_a_governor_added_survives_every_import(alice: User, governor: User) -> None:
    approved(alice, governor, tool(required_scopes=["shout:read"]))
    govern(governor, "shout:read", "mail:send", seconds=7)
    bring(alice, tool(required_scopes=["shout:write"]), version="1.1.0")
    proposal_approve(waiting(), by=governor, reason="Read it.", accept=["scopes_dropped"])
    assert row().required_scopes == ["mail:send", "shout:write"]
    bring(None, tool(required_scopes=[]), version="1.2.0")
    assert row().required_scopes == ["mail:send"]
    assert row().timeout_seconds == 7


def test_a_scope_that_a_governor_took_away_is_not_declared_back(
    alice: User, governor: User
) -> None:
    approved(alice, governor, tool(required_scopes=["https://old/Form", "shout:read"]))
    govern(governor, "shout:read")
    declared = ["https://old/Form", "shout:read", "shout:more"]
    bring(alice, tool(required_scopes=declared), version="1.1.0")
    proposal_approve(waiting(), by=governor, reason="Read it.")
    assert row().required_scopes == ["shout:more", "shout:read"]
    govern(governor, *declared)
    assert row().scopes_dropped == []


def test_an_import_that_repeats_what_is_declared_opens_no_review(
    alice: User, governor: User
) -> None:
    approved(alice, governor, tool(required_scopes=["shout:read"]))
    govern(governor, "mail:send")
    (entry,) = bring(alice, tool(required_scopes=["shout:read"]))
    assert entry["status"] == "unchanged"


def test_what_a_governor_decides_while_a_version_waits_holds_when_it_is_adopted(
    alice: User, governor: User
) -> None:
    approved(alice, governor, tool(required_scopes=["shout:read"]))
    bring(alice, tool("shout", "Louder.", required_scopes=["shout:loud"]), version="1.1.0")
    govern(governor, "shout:read", "mail:send", seconds=9)
    proposal_approve(waiting(), by=governor, reason="Read it.", accept=["scopes_dropped"])
    tool_now = row()
    assert tool_now.required_scopes == ["mail:send", "shout:loud"]
    assert (tool_now.description, tool_now.timeout_seconds) == ("Louder.", 9)


def test_a_package_that_waits_keeps_what_was_governed_when_it_is_written_again(
    alice: User, governor: User
) -> None:
    bring(alice, tool(required_scopes=["shout:read"]))
    govern(governor, "mail:send")
    bring(alice, tool(required_scopes=["shout:read", "shout:write"]), version="1.1.0")
    assert row().required_scopes == ["mail:send", "shout:write"]


def test_a_new_version_keeps_its_hosts_and_the_review_tells_of_them(
    alice: User, governor: User
) -> None:
    approved(alice, governor)
    package_allow_hosts(package(), ["api.example", "b.example"], by=governor)
    bring(alice, version="1.1.0", cause=Cause.SYNC)
    (found,) = [item for item in waiting().findings if item["code"] == "network_kept"]
    assert found["message"] == (
        "Its new code would have network to api.example, b.example, as it has now."
    )
    assert found["severity"] == "info"
    proposal_approve(waiting(), by=governor, reason="Read it.")
    assert package().allowed_hosts == ["api.example", "b.example"]
