"""What is approved is what was shown, and nothing that a governor decided is lost by approving."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from config.lib.errors import Conflict
from registry.governing import governed_of, tool_govern
from registry.models import Package, Proposal, ToolVersion
from registry.models.package import ReviewStatus
from registry.models.proposal import ProposalState
from registry.review.deciding import blocking_codes, proposal_approve
from registry.review.errors import FindingsBlock
from registry.review.standing import package_decide, review_obstacle
from tests.registry.review.making import approved, bring, package, row, tool, waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from django.test import Client

pytestmark = pytest.mark.django_db


def test_scopes_that_a_governor_asked_for_before_the_approval_stay(
    alice: User, governor: User
) -> None:
    bring(alice)
    wanted = governed_of(row())._replace(required_scopes=["mail:send"], timeout_seconds=7)
    tool_govern(row(), wanted, by=governor, reason="It sends mail.")
    proposal_approve(waiting(), by=governor, reason="Read it.")
    assert (row().required_scopes, row().timeout_seconds) == (["mail:send"], 7)
    assert row().version not in row().unreviewed_versions


def test_scopes_that_a_governor_asked_of_a_staged_new_tool_stay(
    alice: User, governor: User
) -> None:
    approved(alice, governor)
    bring(alice, tool(), tool("whisper"), version="2.0.0")
    wanted = governed_of(row("whisper"))._replace(required_scopes=["mail:send"])
    tool_govern(row("whisper"), wanted, by=governor, reason="It sends mail.")
    proposal_approve(waiting(), by=governor, reason="Read it.")
    assert row("whisper").required_scopes == ["mail:send"]


def test_a_first_proposal_is_not_approved_when_its_rows_say_something_else(
    alice: User, governor: User
) -> None:
    bring(alice)
    Package.objects.update(description="Something that nobody has seen.")
    with pytest.raises(Conflict, match="is not what was proposed"):
        proposal_approve(waiting(), by=governor, reason="Read it.")
    assert package().review_status == ReviewStatus.CANDIDATE
    assert waiting().state == ProposalState.OPEN


def test_bulk_approval_takes_only_what_was_on_the_page(
    alice: User, governor: User, client_for: Callable[[User], Client]
) -> None:
    bring(alice)
    client = client_for(governor)
    url = reverse("admin:registry_package_changelist")
    chosen = {"action": "approve", "_selected_action": [str(package().pk)]}
    page = client.post(url, chosen)
    sent = {
        **chosen,
        "decide": "1",
        "reason": "Read it.",
        "seen": page.context["seen"],
    }
    bring(alice, tool(description="Steals."), version="1.0.1")
    answer = client.post(url, sent, follow=True)
    assert "has changed since" in answer.content.decode()
    assert package().review_status == ReviewStatus.CANDIDATE
    page = client.post(url, chosen)
    client.post(url, {**sent, "seen": page.context["seen"]})
    assert package().review_status == ReviewStatus.APPROVED


def test_bulk_approval_without_what_was_seen_is_refused(
    alice: User, governor: User, client_for: Callable[[User], Client]
) -> None:
    bring(alice)
    client = client_for(governor)
    url = reverse("admin:registry_package_changelist")
    chosen = {"action": "approve", "_selected_action": [str(package().pk)]}
    client.post(url, {**chosen, "decide": "1", "reason": "Read it."})
    assert package().review_status == ReviewStatus.CANDIDATE


def test_what_was_proposed_beside_a_version_that_was_taken_back_is_not_mixed_with_it(
    alice: User, governor: User
) -> None:
    approved(alice, governor)
    bring(alice, tool(description="Screams."), version="2.0.0")
    proposal_approve(waiting(), by=governor, reason="Read it.")
    bring(alice, tool(description="Yells."), version="2.0.0", artifact="artifact-2.0.0")
    proposal = waiting()
    Package.objects.update(version="1.0.0", artifact="artifact-1.0.0", integrity="sha512-1.0.0")
    with pytest.raises(Conflict, match="was changed since"):
        proposal_approve(proposal, by=governor, reason="Read it.")
    assert row().description == "Screams."
    bring(alice, tool(description="Yells."), version="2.0.0")
    assert waiting().pk != proposal.pk
    proposal_approve(waiting(), by=governor, reason="Read it.")
    assert (package().version, row().description) == ("2.0.0", "Yells.")
    assert Proposal.objects.get(pk=proposal.pk).state == ProposalState.SUPERSEDED
    assert ToolVersion.objects.get(tool=row(), number=row().version).snapshot["package"][
        "artifact"
    ] == ("artifact-2.0.0")


def test_what_blocked_an_approval_is_not_gone_round_by_refusing_it_first(
    alice: User, governor: User
) -> None:
    hidden = "Shouts.\u202e"
    bring(alice, tool(description=hidden))
    with pytest.raises(FindingsBlock):
        package_decide(package(), ReviewStatus.APPROVED, by=governor, reason="Fine.")
    package_decide(package(), ReviewStatus.REJECTED, by=governor, reason="Odd.")
    assert "accepted" in review_obstacle(package(), ReviewStatus.APPROVED)
    with pytest.raises(FindingsBlock):
        package_decide(package(), ReviewStatus.APPROVED, by=governor, reason="Fine.")
    bring(governor, tool(description=hidden))
    codes = blocking_codes(waiting())
    proposal_approve(waiting(), by=governor, reason="Read it.", accept=codes)
    package_decide(package(), ReviewStatus.QUARANTINED, by=governor, reason="Wait.")
    package_decide(package(), ReviewStatus.APPROVED, by=governor, reason="Fine after all.")
    assert package().review_status == ReviewStatus.APPROVED
