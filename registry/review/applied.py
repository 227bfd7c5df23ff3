"""Keep what the operator applied without a review among the decisions, as approved by nobody."""

from copy import copy
from dataclasses import dataclass

from django.utils import timezone

from registry.models import Package, Proposal, Tool
from registry.models.proposal import Cause, ProposalState
from registry.review.found import package_values, pinned
from registry.review.staging import entry, scanned
from registry.schemas import canonical_digest

REASON = "Applied by the operator at the command line, without a review."


@dataclass(frozen=True, kw_only=True)
class Live:
    """An approved package as it was: copies of its row and of those of its living tools."""

    package: Package
    tools: list[Tool]


def live_of(package: Package) -> Live:
    """Return the package as it is, before it is written."""
    return Live(package=copy(package), tools=_living(package))


def applied_record(package: Package, before: Live, *, cause: Cause) -> Proposal | None:
    """Write down what was applied as a proposal that is decided; None where nothing changed.

    The caller holds the lock on the package.
    """
    now = _living(package)
    digest = canonical_digest(pinned(package, now))
    if digest == canonical_digest(pinned(before.package, before.tools)):
        return None
    known = {tool.pk: tool.version for tool in before.tools}
    left = {tool.pk for tool in now}
    return Proposal.objects.create(
        package=package,
        cause=cause,
        state=ProposalState.APPROVED,
        digest=digest,
        before=package_values(before.package),
        after=package_values(package),
        versions=[
            entry(tool, tool.version, known.get(tool.pk))
            for tool in now
            if tool.version != known.get(tool.pk)
        ],
        removed=[str(pk) for pk in known if pk not in left],
        findings=scanned(before.package, before.tools, package, now),
        decided_at=timezone.now(),
        decision_reason=REASON,
    )


def _living(package: Package) -> list[Tool]:
    return list(Tool.objects.filter(package=package, deleted_at=None).order_by("export_name"))
