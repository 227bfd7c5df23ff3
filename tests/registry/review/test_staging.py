"""What would change of an approved package waits beside what is live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import DatabaseError, transaction

from config.lib.errors import InvalidInput, NotAllowed
from registry.governing import governed_of, tool_govern
from registry.importing.variables import package_declare_env
from registry.models import Proposal
from registry.models.package import ReviewStatus
from registry.models.proposal import Cause, ProposalState
from registry.review.deciding import proposal_approve, proposal_quarantine, proposal_reject
from registry.review.errors import FindingsBlock, ProposalDecided
from registry.services import package_allow_hosts, package_review
from tests.registry.review.making import approved, bring, package, row, statuses, tool, waiting

if TYPE_CHECKING:
    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db


def test_a_new_package_is_written_at_once_and_waits(alice: User) -> None:
    assert statuses(bring(alice)) == {"shout": "added"}
    proposal = waiting()
    assert (proposal.package, proposal.before) == (package(), {})
    assert proposal.after["version"] == "1.0.0"
    assert proposal.versions == [
        {"tool": str(row().pk), "export": "shout", "number": 1, "live": None}
    ]
    assert package().review_status == ReviewStatus.CANDIDATE


def test_approving_makes_a_new_package_usable(alice: User, governor: User) -> None:
    approved(alice, governor)
    assert package().review_status == ReviewStatus.APPROVED
    assert row().unreviewed_versions == []
    assert Proposal.objects.get().decided_by == governor


def test_a_new_version_of_an_approved_package_is_staged(alice: User, governor: User) -> None:
    approved(alice, governor, tool(), tool("old"))
    report = bring(alice, tool(description="Screams."), tool("whisper"), version="2.0.0")
    assert statuses(report) == {"shout": "proposed", "whisper": "proposed", "old": "proposed"}
    live = package()
    assert (live.version, live.review_status) == ("1.0.0", ReviewStatus.APPROVED)
    shout = row()
    assert (shout.description, shout.version, shout.unreviewed_versions) == ("Shouts.", 1, [2])
    assert shout.versions.get(number=2).snapshot["package"]["version"] == "2.0.0"
    new = row("whisper")
    assert (new.review_status, new.unreviewed_versions) == (ReviewStatus.CANDIDATE, [1])
    proposal = waiting()
    assert proposal.before["version"] == "1.0.0"
    assert proposal.after["version"] == "2.0.0"
    assert proposal.removed == [str(row("old").pk)]
    assert row("old").deleted_at is None


def test_approving_adopts_what_was_staged(alice: User, governor: User) -> None:
    approved(alice, governor, tool(), tool("old"))
    bring(alice, tool(description="Screams."), tool("whisper"), version="2.0.0")
    proposal_approve(waiting(), by=governor, reason="")
    assert package().version == "2.0.0"
    shout = row()
    assert (shout.description, shout.version, shout.unreviewed_versions) == ("Screams.", 2, [])
    assert shout.versions.count() == 2
    whisper = row("whisper")
    assert (whisper.review_status, whisper.unreviewed_versions) == (ReviewStatus.APPROVED, [])
    assert row("old").deleted_at is not None


@pytest.mark.parametrize("decide", [proposal_reject, proposal_quarantine])
def test_refusing_keeps_what_is_live(alice: User, governor: User, decide: object) -> None:
    approved(alice, governor)
    changed = (tool(description="Steals."), tool("whisper"))
    bring(alice, *changed, version="2.0.0")
    with pytest.raises(InvalidInput):
        decide(waiting(), by=governor, reason=" ")  # type: ignore[operator]
    decide(waiting(), by=governor, reason="It steals.")  # type: ignore[operator]
    assert (package().version, package().review_status) == ("1.0.0", ReviewStatus.APPROVED)
    shout = row()
    assert (shout.description, shout.version, shout.blocked_versions) == ("Shouts.", 1, [2])
    assert row("whisper").deleted_at is not None
    assert statuses(bring(alice, *changed, version="2.0.0")) == {
        "shout": "rejected",
        "whisper": "rejected",
    }
    assert not Proposal.objects.filter(state=ProposalState.OPEN).exists()
    assert bring(governor, *changed, version="2.0.0")[0]["status"] == "proposed"
    proposal_approve(waiting(), by=governor, reason="It does not, after all.")
    assert (row().description, row("whisper").deleted_at) == ("Steals.", None)


def test_only_reviewers_decide(alice: User, governor: User) -> None:
    bring(alice)
    for decide in (proposal_approve, proposal_reject, proposal_quarantine):
        with pytest.raises(NotAllowed):
            decide(waiting(), by=alice, reason="Mine.")


def test_a_decision_is_taken_once_and_names_who_took_it(alice: User, governor: User) -> None:
    bring(alice)
    proposal = waiting()
    proposal_approve(proposal, by=governor, reason="")
    with pytest.raises(ProposalDecided, match="governor has approved it already"):
        proposal_reject(proposal, by=governor, reason="No.")
    with pytest.raises(DatabaseError), transaction.atomic():
        Proposal.objects.update(decision_reason="Another")


def test_a_newer_import_supersedes_an_older_one(alice: User, governor: User) -> None:
    approved(alice, governor)
    bring(alice, tool(description="Two."), tool("extra"), version="2.0.0")
    first = waiting()
    bring(alice, tool(description="Three."), version="3.0.0")
    first.refresh_from_db()
    assert first.state == ProposalState.SUPERSEDED
    assert waiting().versions[0]["number"] == 3
    assert row("extra").deleted_at is not None
    proposal_approve(waiting(), by=governor, reason="")
    assert (row().version, row().unreviewed_versions) == (3, [2])
    with pytest.raises(ProposalDecided, match="Something newer"):
        proposal_approve(first, by=governor, reason="")


def test_the_same_found_twice_opens_one_review(alice: User, governor: User) -> None:
    approved(alice, governor)
    bring(alice, tool(description="Two."), version="2.0.0")
    bring(alice, tool(description="Two."), version="2.0.0")
    assert Proposal.objects.count() == 2
    assert row().versions.count() == 2


def test_the_operator_applies_at_once(alice: User, governor: User) -> None:
    approved(alice, governor)
    bring(alice, tool(description="Two."), version="2.0.0")
    report = bring(None, tool(description="Two."), version="2.0.0")
    assert statuses(report) == {"shout": "updated"}
    assert (package().version, row().version, row().unreviewed_versions) == ("2.0.0", 2, [])
    assert not Proposal.objects.filter(state=ProposalState.OPEN).exists()


def test_reading_more_waits_while_the_tools_go_on(alice: User, governor: User) -> None:
    approved(alice, governor)
    package_declare_env(package(), [{"name": "PAYROLL_KEY"}], user=alice)
    assert (package().env, row().version) == ([], 1)
    proposal = waiting()
    assert (proposal.cause, proposal.after["env"][0]["name"]) == (Cause.EDIT, "PAYROLL_KEY")
    assert {item["code"] for item in proposal.findings if item["introduced"]} == {"new_secret"}
    proposal_approve(proposal, by=governor, reason="", accept=["new_secret"])
    assert [item["name"] for item in package().env] == ["PAYROLL_KEY"]
    assert row().versions.get(number=row().version).snapshot["package"]["env"]


def test_what_was_changed_meanwhile_stays(alice: User, governor: User) -> None:
    approved(alice, governor)
    bring(alice, tool(description="Two."), version="2.0.0")
    shorter = governed_of(row())._replace(timeout_seconds=7)
    tool_govern(row(), shorter, by=governor, reason="It hangs")
    package_allow_hosts(package(), ["a.example"], by=governor)
    proposal_approve(waiting(), by=governor, reason="")
    shout = row()
    assert (shout.description, shout.timeout_seconds, shout.version) == ("Two.", 7, 4)
    assert shout.unreviewed_versions == [2]
    assert package().allowed_hosts == ["a.example"]


def test_reviewing_a_whole_package_decides_its_open_proposal(alice: User, governor: User) -> None:
    bring(alice)
    package_review(package(), status=ReviewStatus.APPROVED, by=governor)
    first = Proposal.objects.get()
    assert (first.state, first.decided_by) == (ProposalState.APPROVED, governor)
    bring(alice, tool(description="Two."), version="2.0.0")
    package_review(package(), status=ReviewStatus.APPROVED, by=governor)
    assert waiting().after["version"] == "2.0.0"
    package_review(package(), status=ReviewStatus.QUARANTINED, by=governor, reason="It steals.")
    last = Proposal.objects.order_by("opened_at").last()
    assert last is not None
    assert (last.state, last.decision_reason) == (ProposalState.QUARANTINED, "It steals.")
    assert row().blocked_versions == [2]


def test_refusing_a_new_package_refuses_it_whole(alice: User, governor: User) -> None:
    bring(alice)
    proposal_reject(waiting(), by=governor, reason="No.")
    assert package().review_status == ReviewStatus.REJECTED
    bring(alice)
    assert not Proposal.objects.filter(state=ProposalState.OPEN).exists()
    bring(alice, tool(description="Better."), version="1.1.0")
    proposal_approve(waiting(), by=governor, reason="Better.")
    assert package().review_status == ReviewStatus.APPROVED
    assert row().unreviewed_versions == [1]


def test_findings_that_block_are_accepted_by_name(alice: User, governor: User) -> None:
    bring(alice)
    finding = {"code": "bidi", "path": "shout", "message": "Hidden.", "severity": "block"}
    old = {**finding, "code": "old", "introduced": False}
    Proposal.objects.update(findings=[{**finding, "introduced": True}, old])
    with pytest.raises(FindingsBlock) as refusal:
        proposal_approve(waiting(), by=governor, reason="")
    assert refusal.value.extra == {"codes": ["bidi"]}
    proposal_approve(waiting(), by=governor, reason="It is Hebrew.", accept=["bidi"])
    assert package().review_status == ReviewStatus.APPROVED
