"""What registries know against the packages that an import installed."""

from dataclasses import dataclass

from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.review.advisories import ADVISORY, not_offered
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Advisory


@dataclass(frozen=True, kw_only=True)
class Advised:
    """`findings` stay with the package; `notes` are for the reviewer of this one proposal."""

    findings: list[JsonObject]
    notes: list[JsonObject]


def advised_of(artifact: str) -> Advised:
    """Ask for advisories, for some seconds at most; an import never fails for want of them."""
    try:
        told = sandbox().advisories(artifact=artifact)
    except DomainError:
        return Advised(findings=[], notes=[not_offered()])
    found = [_finding(advisory) for advisory in told.known]
    return Advised(findings=found, notes=[] if told.offered else [not_offered()])


def _finding(advisory: Advisory) -> JsonObject:
    versions = ", ".join(advisory.versions)
    affected = f" Affected: {advisory.range}." if advisory.range else ""
    where = " ".join(part for part in (advisory.id, advisory.url) if part)
    title = advisory.title.rstrip(".") or "A known weakness"
    return {
        "code": ADVISORY,
        "path": advisory.package,
        "message": f"{title} ({advisory.severity}). Here: {versions}.{affected} {where}".strip(),
        "severity": advisory.severity,
    }
