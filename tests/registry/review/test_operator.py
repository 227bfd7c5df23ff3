"""What the operator imports at the command line is applied at once, and kept as a decision."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command

from registry.importing.npm import Imported
from registry.models import AuditEvent, ImportJob, Proposal
from registry.models.proposal import ProposalState
from registry.review.applied import REASON
from registry.review.deciding import proposal_reject
from tests.registry.review.making import (
    NAME,
    approved,
    bring,
    package,
    row,
    statuses,
    tool,
    waiting,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db


def test_what_the_operator_applies_is_kept_as_an_approved_proposal(
    alice: User, governor: User
) -> None:
    approved(alice, governor, tool(), tool("whisper"))
    bring(None, tool(description="Two."), tool("hum"), version="2.0.0")
    record = Proposal.objects.get(decision_reason=REASON)
    assert (record.state, record.decided_by, record.opened_by) == ("approved", None, None)
    assert (record.before["version"], record.after["version"]) == ("1.0.0", "2.0.0")
    live = {entry["export"]: (entry["live"], entry["number"]) for entry in record.versions}
    assert live == {"shout": (1, 2), "hum": (None, 1)}
    assert record.removed == [str(row("whisper").pk)]
    assert "tool_removed" in {finding["code"] for finding in record.findings}
    bring(None, tool(description="Two."), tool("hum"), version="2.0.0")
    assert Proposal.objects.filter(decision_reason=REASON).count() == 1


def test_what_was_rejected_and_then_applied_counts_as_approved(alice: User, governor: User) -> None:
    approved(alice, governor)
    bring(alice, version="2.0.0")
    proposal_reject(waiting(), by=governor, reason="Not yet.")
    bring(None, version="2.0.0")
    bring(None, version="3.0.0")
    assert statuses(bring(alice, version="2.0.0")) == {"shout": "proposed"}
    assert waiting().after["version"] == "2.0.0"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command with an import that finds what a test says; return what it wrote."""

    def run(*tools: Any, version: str, options: tuple[str, ...] = ()) -> str:
        def importer(job: ImportJob, stage: Any) -> Imported:
            report = bring(job.requested_by, *tools, version=version)
            return Imported(package=package(), report=report)

        monkeypatch.setattr("registry.importing.npm.npm_import_job", importer)
        out = StringIO()
        call_command("import_package", "npm", NAME, *options, stdout=out)
        return out.getvalue()

    return run


def test_the_command_names_the_decision_and_the_audit_names_the_command(
    alice: User, governor: User, command: Any
) -> None:
    approved(alice, governor)
    told = command(tool(description="Two."), version="2.0.0")
    record = Proposal.objects.get(decision_reason=REASON)
    assert f"applied without a review, and is kept as decision {record.pk}" in told
    events = AuditEvent.objects.filter(model="registry.proposal", object_id=str(record.pk))
    assert [event.operation for event in events] == ["insert"]
    told = command(tool(description="Two."), version="2.0.0")
    assert "nothing that a review decides on has changed" in told


def test_approving_at_the_command_line_says_who_decided(command: Any) -> None:
    command(version="1.0.0", options=("--approve",))
    proposal = Proposal.objects.get(state=ProposalState.APPROVED)
    assert proposal.decision_reason == "Approved by the operator at the command line."
