"""Lay a proposal out for the person who decides on it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from config.lib.types import JsonObject, JsonValue
from registry.differences import DifferencesDisplay, differences, display_of
from registry.differences.found import Difference, Part, within
from registry.differences.packages import package_differences, value_differences
from registry.models import Proposal, Tool, ToolVersion
from registry.review.deciding import blocking_codes
from registry.review.queue import Tally, proposals_in_lines, tally_of, told

MOST_TOOLS = 40
"""Tools that are laid out on one page; of the others the page gives the names."""

MOST_EARLIER = 8
_ALSO = ("description", "category", "allowed_hosts", "frameworks")

_IDS = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


@dataclass(frozen=True, kw_only=True)
class FindingGroup:
    """Findings of one weight; `state` is that of their badge."""

    title: str
    state: str
    items: Sequence[JsonObject]


@dataclass(frozen=True, kw_only=True)
class ToolChange:
    """One tool as it is proposed; `shown` are the differences from the live one, None if new."""

    name: str
    tool_id: str
    number: int
    live: int | None
    snapshot: JsonObject
    shown: DifferencesDisplay | None
    error: str

    @property
    def definition(self) -> str:
        """Return what a tool that a person made does, as JSON text without what is left open."""
        told = self.snapshot.get("definition")
        return json.dumps(_said(told), indent=2, ensure_ascii=False) if told else ""

    @property
    def called(self) -> list[Tool]:
        """Return the tools that the definition names by their ids, as a sequence's steps do."""
        found = set(_IDS.findall(self.definition))
        return list(Tool.objects.filter(pk__in=found).order_by("wire_name")) if found else []

    @property
    def inputs(self) -> list[JsonObject]:
        """Return the arguments of a new tool: `{name, type, required, description}`."""
        schema = self.snapshot.get("input_schema") or {}
        required = schema.get("required") or ()
        properties = schema.get("properties")
        return [
            {
                "name": name,
                "type": _type(value),
                "required": name in required,
                "description": value.get("description", "") if isinstance(value, dict) else "",
            }
            for name, value in (properties.items() if isinstance(properties, dict) else ())
        ]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """All that a reviewer reads of one proposal."""

    told: str
    tally: Tally
    blocking: list[str]
    findings: list[FindingGroup]
    known: Sequence[JsonObject]
    package: DifferencesDisplay | None
    tools: list[ToolChange]
    others: list[str]
    removed: list[Tool]
    earlier: list[tuple[Proposal, str]]


def picture_of(proposal: Proposal) -> Picture:
    """Return what a proposal would change, what was found in it, and what was decided before."""
    entries = proposal.versions[:MOST_TOOLS]
    return Picture(
        told=told(proposal),
        tally=tally_of(proposal.findings),
        blocking=blocking_codes(proposal),
        findings=_findings(proposal.findings),
        known=[item for item in proposal.findings if not item.get("introduced")],
        package=_package(proposal),
        tools=_tools(entries),
        others=[str(entry.get("export") or "") for entry in proposal.versions[MOST_TOOLS:]],
        removed=list(Tool.objects.filter(pk__in=proposal.removed).order_by("wire_name", "pk")),
        earlier=_earlier(proposal),
    )


def _findings(findings: Sequence[JsonObject]) -> list[FindingGroup]:
    new = [item for item in findings if item.get("introduced")]
    groups = [
        FindingGroup(
            title=title, state=state, items=[item for item in new if item["severity"] == severity]
        )
        for severity, title, state in (
            ("block", "To be accepted one by one", "failed"),
            ("warn", "To be read with care", "warn"),
            ("info", "To be known", ""),
        )
    ]
    return [group for group in groups if group.items]


def _package(proposal: Proposal) -> DifferencesDisplay | None:
    before, after = proposal.before, proposal.after
    if not after:
        return None
    found: list[Difference] = [*package_differences(before or None, after)]
    for name in _ALSO:
        old, new = before.get(name) or None, after.get(name) or None
        found += value_differences(old, new, f"$.{name}")
    return display_of(list(within(Part.PACKAGE, iter(found)))) if found else None


def _tools(entries: Sequence[JsonObject]) -> list[ToolChange]:
    wanted = Q(pk=None)
    for entry in entries:
        numbers = [number for number in (entry["number"], entry.get("live")) if number]
        wanted |= Q(tool_id=entry["tool"], number__in=numbers)
    versions = {
        (str(version.tool_id), version.number): version.snapshot
        for version in ToolVersion.objects.filter(wanted)
    }
    return [_change(entry, versions) for entry in entries]


def _change(entry: JsonObject, versions: Mapping[tuple[str, int], JsonObject]) -> ToolChange:
    after = _own(versions.get((entry["tool"], entry["number"]), {}))
    live = entry.get("live")
    before = versions.get((entry["tool"], live)) if live else None
    shown = display_of(differences(_own(before), after)) if before is not None and after else None
    return ToolChange(
        name=str(entry.get("export") or after.get("export_name") or after.get("title") or ""),
        tool_id=entry["tool"],
        number=entry["number"],
        live=live,
        snapshot=after,
        shown=shown,
        error=str((entry.get("error") or {}).get("message") or ""),
    )


def _said(value: JsonValue) -> JsonValue:
    """Leave out what is empty or null, all the way down."""
    if isinstance(value, dict):
        return {name: _said(item) for name, item in value.items() if item not in (None, "", [], {})}
    return [_said(item) for item in value] if isinstance(value, list) else value


def _own(snapshot: JsonObject) -> JsonObject:
    """Leave out what a tool shares with its package, which is told once for all of them."""
    return {**snapshot, "package": None} if snapshot else {}


def _type(value: object) -> str:
    kind = value.get("type", "") if isinstance(value, dict) else ""
    return " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _earlier(proposal: Proposal) -> list[tuple[Proposal, str]]:
    subject = {"package": proposal.package_id, "tool": proposal.tool_id}
    others = proposals_in_lines().filter(**subject).exclude(pk=proposal.pk)
    found = others.order_by("-opened_at", "pk")[:MOST_EARLIER]
    return [(item, told(item)) for item in found]
