"""Read what an MCP server says of its tools; what is odd is told as a finding."""

import re
from dataclasses import dataclass

from config.lib.jsontext import storable
from config.lib.types import JsonObject
from registry.errors import ImportBroken
from registry.importing.described import LONGEST_DESCRIPTION, LONGEST_TITLE, NO_INPUT, title_of
from registry.importing.unseen import unseen_finding, without_unseen
from registry.mcp.client import Listing
from registry.schemas import check_schema

MOST_TOOLS = 200
SAID = ("title", "description", "input_schema", "output_schema", "ai_agent")
"""The fields of a tool's row that its server writes."""

_NAME = re.compile(r"[\w./$:-]{1,128}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class OfferedTool:
    """One tool as its row will say it; `problem` keeps it from being called."""

    name: str
    values: JsonObject
    annotations: JsonObject
    problem: str = ""

    def error(self, package: str) -> JsonObject | None:
        """Return the health error of the row."""
        if not self.problem:
            return None
        told = ImportBroken(self.problem, tool=f"{package}::{self.name}").as_dict()
        error: JsonObject = storable(told)
        return error


def offered_tools(listing: Listing) -> tuple[list[OfferedTool], list[JsonObject]]:
    """Return the tools that can be rows, and findings `[{code, path, message}]`."""
    findings = [_finding("server", "tools/list", problem) for problem in listing.problems]
    tools: dict[str, OfferedTool] = {}
    for raw in storable(listing.tools):
        name = str(raw.get("name", ""))
        if not _NAME.fullmatch(name):
            findings.append(_finding("name", name[:128], "Its name cannot be used for a tool."))
        elif name in tools:
            findings.append(_finding("name", name, "Two tools have this name; the first is used."))
        elif len(tools) == MOST_TOOLS:
            findings.append(_finding("server", name, f"Only {MOST_TOOLS} tools are imported."))
            break
        else:
            seen = without_unseen(raw)
            if seen != raw:
                findings.append(unseen_finding(name))
            tools[name] = _tool(name, seen, findings)
    return list(tools.values()), findings


def _tool(name: str, raw: JsonObject, findings: list[JsonObject]) -> OfferedTool:
    annotations = raw.get("annotations") or {}
    title = raw.get("title") or annotations.get("title") or title_of(name)
    description = str(raw.get("description") or "").strip()
    if not description:
        findings.append(_finding("description", name, "It does not say what it does."))
    schema, problem = _input_schema(raw.get("inputSchema"))
    if problem:
        findings.append(_finding("schema", name, problem))
    output_schema = raw.get("outputSchema")
    if output_schema is not None and check_schema(output_schema):
        findings.append(
            _finding("schema", name, "Its output schema cannot be used; it is left out.")
        )
        output_schema = None
    hints = {key: value for key, value in annotations.items() if isinstance(value, bool)}
    return OfferedTool(
        name=name,
        values={
            "title": str(title).strip()[:LONGEST_TITLE] or name,
            "description": (description or str(title))[:LONGEST_DESCRIPTION],
            "input_schema": schema,
            "output_schema": output_schema,
            "ai_agent": _guidance(hints),
        },
        annotations=annotations,
        problem=problem,
    )


def _input_schema(schema: JsonObject | None) -> tuple[JsonObject, str]:
    given = schema if schema is None or "type" in schema else {"type": "object", **schema}
    if given is None:
        return NO_INPUT, "It has no input schema."
    if defects := check_schema(given):
        told = f"Its input schema cannot be used: {defects[0].path}: {defects[0].message}"
        return NO_INPUT, told
    return given, ""


def _guidance(hints: JsonObject) -> JsonObject:
    """Keep the server's own hints, and say in words what a model should mind."""
    if not hints:
        return {}
    guidance: JsonObject = {"annotations": hints}
    if hints.get("destructiveHint") and not hints.get("readOnlyHint"):
        guidance["limitations"] = "It may change or delete things for good."
    return guidance


def _finding(code: str, path: str, message: str) -> JsonObject:
    return {"code": code, "path": path, "message": message}
