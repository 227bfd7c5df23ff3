"""What registries know against the packages that an import installed, as findings of it."""

from config.lib.errors import DomainError
from config.lib.types import JsonObject
from registry.review.advisories import ADVISORY, UNKNOWN
from registry.sandbox.client import sandbox
from registry.sandbox.contract import Advisory

NOT_OFFERED = "The registry offers no advisories, so none are known."


def advisory_findings(artifact: str) -> list[JsonObject]:
    """Ask for advisories, for some seconds at most; an import never fails for want of them."""
    try:
        told = sandbox().advisories(artifact=artifact)
    except DomainError:
        return [_unknown()]
    found = [_finding(advisory) for advisory in told.known]
    return found if told.offered else [*found, _unknown()]


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


def _unknown() -> JsonObject:
    return {"code": UNKNOWN, "path": "", "message": NOT_OFFERED}
