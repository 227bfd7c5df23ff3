"""Scan what is proposed: what a reviewer must see before they let it near a model.

`scan` is pure: the same proposal always has the same findings.
"""

from collections.abc import Iterable, Iterator, Mapping

from config.lib.types import JsonObject, JsonValue
from registry.review.advisories import advisory_findings
from registry.review.changes import change_findings
from registry.review.cues import BLOCK, INFO, WARN
from registry.review.names import name_findings
from registry.review.texts import finding, text_findings

MOST_FINDINGS = 200
_ORDER = {BLOCK: 0, WARN: 1, INFO: 2}


def scan(
    before: Mapping[str, JsonValue],
    after: Mapping[str, JsonValue],
    *,
    taken: Mapping[str, str] | None = None,
) -> list[JsonObject]:
    """Return the findings about `after`, the gravest first.

    Both sides are `{package: {version, integrity, env, settings, manifest, allowed_hosts, …} or
    None, tools: {export: snapshot}}`, snapshots as of `registry.specs.snapshot_of`; `before` is
    what is approved, or empty. `taken` names whose a tool's name already is (`names.names_taken`).

    A finding is `{code, path, message, severity: block|warn|info, introduced}`. What was approved
    already is not introduced, and never blocks.
    """
    known = {_identity(item) for item in _said(before)}
    found = [_known(item) if _identity(item) in known else item for item in _said(after)]
    found += name_findings(before, after, taken or {})
    found += change_findings(before, after)
    unique = {_identity(item): item for item in found}.values()
    return _bounded(sorted(unique, key=_gravest_first))


def _said(state: Mapping[str, JsonValue]) -> Iterator[JsonObject]:
    yield from text_findings(state)
    yield from advisory_findings(state)


def blocking(findings: Iterable[Mapping[str, JsonValue]]) -> list[Mapping[str, JsonValue]]:
    """Return the findings that a reviewer has to accept, each by its code, before approval."""
    return [item for item in findings if item["introduced"] and item["severity"] == BLOCK]


def _known(item: JsonObject) -> JsonObject:
    severity = WARN if item["severity"] == BLOCK else item["severity"]
    return {**item, "severity": severity, "introduced": False}


def _identity(item: Mapping[str, JsonValue]) -> tuple[str, str, str]:
    return item["code"], item["path"], item["message"]


def _gravest_first(item: Mapping[str, JsonValue]) -> tuple[bool, int]:
    return not item["introduced"], _ORDER[item["severity"]]


def _bounded(findings: list[JsonObject]) -> list[JsonObject]:
    """Keep as many as a person can read; the last one says how many more there were."""
    if len(findings) <= MOST_FINDINGS:
        return findings
    left = len(findings) - MOST_FINDINGS
    severity = BLOCK if blocking(findings[MOST_FINDINGS:]) else INFO
    told = f"{left} more findings are not listed; the gravest are."
    more = finding("more_findings", "", severity, told)
    return [*findings[:MOST_FINDINGS], more]
