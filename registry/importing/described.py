"""Put together what a tool's row says, from its export and from its declaration."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from config.lib.jsontext import storable
from config.lib.types import JsonObject, JsonValue
from registry.errors import ExportDrift, ImportBroken, ToolError
from registry.importing.matching import Match
from registry.importing.unseen import without_unseen
from registry.models import Package
from registry.sandbox.contract import Description
from registry.schemas import check_schema

NO_INPUT: JsonObject = {"type": "object", "properties": {}}
LONGEST_TITLE = 120
LONGEST_DESCRIPTION = 20_000
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, kw_only=True)
class Described:
    """Field values of a tool's row, and the error that keeps it from being called, if any."""

    values: JsonObject
    error: JsonObject | None


def described_tool(match: Match, package: Package, description: Description) -> Described:
    """Describe one tool. The export's real schema wins over the declared parameters."""
    declared, exported = match.declared, match.exported
    problem = _problem(match, description)
    told = _seen(exported.description).strip()[:LONGEST_DESCRIPTION] if exported else ""
    values: JsonObject = {
        "title": title_of(match.export),
        "description": told or (declared.description if declared else "") or package.description,
        "category": (declared.category if declared else "") or package.category,
        "input_schema": NO_INPUT,
        "output_schema": declared.output_schema if declared else None,
        "ai_agent": declared.ai_agent if declared else {},
    }
    if declared and declared.input_schema and not check_schema(declared.input_schema):
        values["input_schema"] = declared.input_schema
    if exported:
        schema = _object_schema(_seen(exported.input_schema))
        if defects := check_schema(schema):
            said = f"{defects[0].path}: {defects[0].message}"
            problem = ImportBroken(f"Its input schema cannot be used: {said}")
        else:
            values["input_schema"] = schema
        if exported.output_schema and _is_schema(given := _seen(exported.output_schema)):
            values["output_schema"] = given
    if problem is None:
        return Described(values=values, error=None)
    problem.tool = f"{package.name}::{match.export}"
    return Described(values=values, error=storable(problem.as_dict()))


def _is_schema(given: JsonValue) -> bool:
    """Tell whether this is a schema at all; an output may be of any type."""
    around = {"type": "object", "properties": {"output": given}}
    return isinstance(given, dict) and not check_schema(around)


def _seen(said: Any) -> Any:
    """Return what a package says as it can be stored, without what nobody sees in it."""
    return without_unseen(storable(said))


def title_of(export: str) -> str:
    """Make a title of an export's name: `htmlToMarkdownTool` → `Html to markdown`."""
    words = [word if word.isupper() else word.lower() for word in _WORD.findall(export)]
    if len(words) > 1 and words[-1] == "tool":
        words.pop()
    title = " ".join(words) or export
    return (title[0].upper() + title[1:])[:LONGEST_TITLE]


def drift_error(declared: str, message: str, candidates: Sequence[str]) -> ExportDrift:
    """Return the error of a declared tool that is exported under another name."""
    use = " or ".join(f"“{name}”" for name in candidates)
    hint = f"Whoever added the package, or a reviewer, presses Use {use} on the package's page."
    return ExportDrift(message, hint, declared=declared, candidates=list(candidates))


def _problem(match: Match, description: Description) -> ToolError | None:
    """Return why a declared tool has no export."""
    if match.exported is not None:
        return None
    for problem in description.problems:
        if problem.export == match.export:
            return ImportBroken(f"“{match.export}” cannot be read: {problem.message}")
    if match.candidates:
        return drift_error(match.export, match.drift, match.candidates)
    return ImportBroken(match.drift)


def _object_schema(schema: JsonObject) -> JsonObject:
    """Say that the input is an object where a schema leaves it unsaid."""
    return schema if "type" in schema else {"type": "object", **schema}
