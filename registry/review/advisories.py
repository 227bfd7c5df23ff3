"""Tell a reviewer what registries know against a package and what it needs."""

from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.review.cues import BLOCK, INFO, WARN
from registry.review.texts import finding

ADVISORY = "advisory"
"""Code of what an import was told by the registry."""

UNKNOWN = "advisories_unknown"
NOT_OFFERED = "The registry offers no advisories, so none are known."
GRAVE = ("critical", "high")


def advisory_findings(state: Mapping[str, JsonValue]) -> Iterator[JsonObject]:
    """Yield a finding for each advisory that the import noted of the package."""
    package = state.get("package") or {}
    for item in package.get("findings") or []:
        if item.get("code") == ADVISORY:
            severity = BLOCK if item.get("severity") in GRAVE else WARN
            yield finding(ADVISORY, f"dependencies.{item['path']}", severity, item["message"])


def not_offered() -> JsonObject:
    """Return what a reviewer is told where nothing is known, rather than that there is nothing."""
    return finding(UNKNOWN, "dependencies", INFO, NOT_OFFERED)
