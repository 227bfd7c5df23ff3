"""Tell a reviewer what registries know against a package and what it needs."""

from collections.abc import Iterator, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.review.cues import BLOCK, INFO, WARN
from registry.review.texts import finding

ADVISORY, UNKNOWN = "advisory", "advisories_unknown"
"""Codes of what an import was told, or not told, by the registry."""

GRAVE = ("critical", "high")


def advisory_findings(state: Mapping[str, JsonValue]) -> Iterator[JsonObject]:
    """Yield a finding for each advisory that the import noted of the package."""
    package = state.get("package") or {}
    for item in package.get("findings") or []:
        if item.get("code") == ADVISORY:
            severity = BLOCK if item.get("severity") in GRAVE else WARN
            yield finding(ADVISORY, f"dependencies.{item['path']}", severity, item["message"])
        elif item.get("code") == UNKNOWN:
            yield finding(UNKNOWN, "dependencies", INFO, item["message"])
