"""Say in words how a tool fares: what the state means, why, who can mend it and how."""

from dataclasses import dataclass
from datetime import datetime

from registry.errors import ExportDrift
from registry.models import Tool
from registry.models.health import HealthState

ICONS = {
    HealthState.IMPORT_BROKEN: "alert",
    HealthState.EXECUTION_BROKEN: "alert",
    HealthState.NEEDS_SIGN_IN: "user",
    HealthState.NEEDS_KEY: "key",
    HealthState.UPSTREAM_DOWN: "clock",
}
MEANINGS = {
    HealthState.IMPORT_BROKEN: "This tool cannot be loaded.",
    HealthState.EXECUTION_BROKEN: "This tool loads, but fails when it is called.",
    HealthState.NEEDS_SIGN_IN: "The service behind this tool refuses the keys it is sent.",
    HealthState.NEEDS_KEY: "This tool looks for a key that it is not allowed to read yet.",
    HealthState.UPSTREAM_DOWN: "The service behind this tool does not answer.",
}
MENDED_BY = {
    HealthState.IMPORT_BROKEN: "The package's author, with a new version; whoever added the "
    "package, or a reviewer, imports it.",
    HealthState.EXECUTION_BROKEN: "The tool's author. One successful call shows that it is well "
    "again; agents do not find it until then.",
    HealthState.NEEDS_SIGN_IN: "Whoever holds the key: see under Credentials that it is right and "
    "still valid. One successful call shows that it is well again.",
    HealthState.NEEDS_KEY: "Whoever added the package, or a reviewer, on the package's page. Then "
    "each person adds a value of their own under Credentials.",
    HealthState.UPSTREAM_DOWN: "Nobody here: it comes back by itself. Agents are offered the tool "
    "again ten minutes after it last failed.",
}
DRIFT_MENDED_BY = "Whoever added the package, or a reviewer, in one step on the package's page."


@dataclass(frozen=True, kw_only=True)
class HealthNote:
    """What the page of a tool tells of a state in which it cannot be used."""

    grave: bool
    icon: str
    meaning: str
    reason: str
    advice: str
    mended_by: str
    code: str
    at: datetime | None


def health_note(tool: Tool) -> HealthNote | None:
    """Return what stands in the way of a tool, or None where nothing does."""
    state = tool.health_state
    if state not in MEANINGS:
        return None
    error = tool.health_error or {}
    drifted = error.get("code") == ExportDrift.code
    return HealthNote(
        grave=state in (HealthState.IMPORT_BROKEN, HealthState.EXECUTION_BROKEN),
        icon=ICONS[state],
        meaning=MEANINGS[state],
        reason=error.get("message", ""),
        advice="" if drifted or state == HealthState.NEEDS_KEY else error.get("hint", ""),
        mended_by=DRIFT_MENDED_BY if drifted else MENDED_BY[state],
        code=error.get("code", ""),
        at=tool.last_health_check_at,
    )
