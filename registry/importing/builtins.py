"""Keep the catalogue in step with the built-in tools of this release."""

import json

from django.db import transaction

from config.lib.types import JsonObject, JsonValue
from registry.builtins import BUILTINS, Builtin
from registry.code_tool import ROW, RUN_CODE
from registry.importing.rows import locked_package
from registry.models import Tool
from registry.models.package import Ecosystem, ReviewStatus, Tier
from registry.models.tool import Health, ToolKind, Visibility
from registry.review.rows import tool_put, tools_by_export, tools_retire

PACKAGE = "outfitter"

_COMMON: JsonObject = {"visibility": Visibility.PUBLIC, "import_health": Health.HEALTHY}


@transaction.atomic
def builtins_sync() -> list[Tool]:
    """Create, update or take out rows until they are what this release has; return the changed.

    A tool whose review a governor changed keeps that. Safe to run at any time and twice at once.
    """
    package, _ = locked_package(
        ecosystem=Ecosystem.BUILTIN,
        name=PACKAGE,
        defaults={
            "description": "The tools that ship with Outfitter.",
            "review_status": ReviewStatus.APPROVED,
            "tier": Tier.RICH,
        },
    )
    known = tools_by_export(package)
    changed = []
    rows = {builtin.name: _row_of(builtin) for builtin in BUILTINS.values()}
    rows[RUN_CODE] = {**ROW, "kind": ToolKind.CODE, **_COMMON}
    for name, values in rows.items():
        tool = known.get(name)
        if tool is None or tool.deleted_at or _differs(tool, values):
            review = {} if tool else {"review_status": ReviewStatus.APPROVED}
            changed.append(
                tool_put(
                    tool,
                    package,
                    name,
                    {**values, **review},
                    name=(None, name),
                    author=None,
                    reason="Built in",
                )
            )
    return [*changed, *tools_retire(package, keep=rows.keys())]


def _row_of(builtin: Builtin) -> JsonObject:
    return {
        "kind": ToolKind.BUILTIN,
        "title": builtin.title,
        "description": builtin.description,
        "category": builtin.category,
        "input_schema": dict(builtin.input_schema),
        "output_schema": dict(builtin.output_schema),
        "ai_agent": builtin.ai_agent,
        **_COMMON,
    }


def _differs(tool: Tool, values: JsonObject) -> bool:
    return any(
        _comparable(getattr(tool, field)) != _comparable(value) for field, value in values.items()
    )


def _comparable(value: JsonValue) -> JsonValue:
    """Return JSON with every number a float: PostgreSQL gives 1e300 back as a whole number."""
    return json.loads(json.dumps(value), parse_int=float)
