"""Write down calls as if they had been made."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from registry.models import Invocation, Tool
from registry.models.invocation import Caller


def record(tool: Tool, *, count: int = 1, at: datetime | None = None, **fields: Any) -> None:
    """Record calls of a tool, now or at `at`; a call with an `error_code` has failed."""
    code = fields.get("error_code", "")
    values = {
        "tool": tool,
        "tool_version": 1,
        "caller": Caller.REST,
        "outcome": "failed" if code else "succeeded",
        "phase": "execute",
        "arguments": {},
        "duration_ms": 10,
        **fields,
    }
    rows = [Invocation(**values) for _ in range(count)]
    if at is None:
        Invocation.objects.bulk_create(rows)
        return
    field = Invocation._meta.get_field("created_at")
    field.auto_now_add = False
    try:
        for row in rows:
            row.created_at = at
        Invocation.objects.bulk_create(rows)
    finally:
        field.auto_now_add = True
