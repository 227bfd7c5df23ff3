"""What a governor decides of one tool: scopes, limits and what a call costs."""

from collections.abc import Collection
from decimal import Decimal
from typing import NamedTuple

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction

from config.lib.changes import decided
from config.lib.errors import InvalidInput
from config.lib.types import JsonObject
from registry.models import Tool
from registry.scopes import problems_at, scope_problems
from registry.services import tool_publish
from registry.stopping import checked_reason

MOST_CALLS = 100_000
LONGEST_CALL = 300
DEAREST_CALL = Decimal(100_000)


class Governed(NamedTuple):
    """All that is decided here; a change names the whole of it.

    `calls_per_minute` None means the site's default, `cost_per_call` is in US dollars.
    """

    required_scopes: list[str]
    calls_per_minute: int | None
    cost_per_call: Decimal | None
    timeout_seconds: int


WORDS = {
    "required_scopes": "Required scopes",
    "calls_per_minute": "Calls a minute",
    "cost_per_call": "Cost of a call",
    "timeout_seconds": "Time limit",
}
PATHS = {
    "required_scopes": "$.requiredScopes",
    "calls_per_minute": "$.callsPerMinute",
    "cost_per_call": "$.costPerCall",
    "timeout_seconds": "$.timeoutSeconds",
}


def governed_of(tool: Tool) -> Governed:
    """Return what holds now."""
    return Governed(**{name: getattr(tool, name) for name in Governed._fields})


@transaction.atomic
def tool_govern(tool: Tool, wanted: Governed, *, by: User, reason: str) -> Tool:
    """Change what is governed of a tool; return it as it then is, read anew.

    It holds from the next call on, whatever version is called, and whatever a package declares
    when it is imported anew. Scopes and the time limit are part of what a tool is, so they make
    its next version; a limit and a cost do not. Raises NotAllowed, or InvalidInput with
    `extra["problems"]` for a missing reason or values that cannot be.
    """
    reason = checked_reason(reason, by, "registry.change_tool")
    wanted = wanted._replace(required_scopes=sorted(set(wanted.required_scopes)))
    row = Tool.objects.select_for_update(of=("self",)).select_related("package").get(pk=tool.pk)
    before = governed_of(row)
    if problems := _problems(wanted, {*before.required_scopes, *row.scopes_dropped}):
        raise InvalidInput(
            "The tool's limits are not valid.", "Correct the named fields.", problems=problems
        )
    changed = [name for name in Governed._fields if getattr(before, name) != getattr(wanted, name)]
    if not changed:
        return row
    for name in changed:
        setattr(row, name, getattr(wanted, name))
    _keep_apart(row, before)
    apart = ("scopes_added", "scopes_dropped", "timeout_governed")
    with decided(by, reason):
        row.save(update_fields=[*changed, *apart, "updated_at"])
        if {"required_scopes", "timeout_seconds"} & set(changed):
            tool_publish(row, author=by, reason=f"Governed: {reason}"[:200])
    told = "; ".join(f"{WORDS[name]}: {_told(row, name)}" for name in changed)
    LogEntry.objects.log_actions(
        by.pk, [row], CHANGE, change_message=f"{told}. {reason}", single_object=True
    )
    return row


def _keep_apart(row: Tool, before: Governed) -> None:
    """Note what differs from what the package declares, so that no import takes it back."""
    declared = {*before.required_scopes, *row.scopes_dropped} - set(row.scopes_added)
    row.scopes_added = sorted(set(row.required_scopes) - declared)
    row.scopes_dropped = sorted(declared - set(row.required_scopes))
    row.timeout_governed |= row.timeout_seconds != before.timeout_seconds


def _problems(wanted: Governed, known: Collection[str]) -> list[JsonObject]:
    wrong = scope_problems(wanted.required_scopes, known)
    problems = problems_at(PATHS["required_scopes"], wrong)
    calls, cost = wanted.calls_per_minute, wanted.cost_per_call
    if calls is not None and not 1 <= calls <= MOST_CALLS:
        problems += problems_at(
            PATHS["calls_per_minute"],
            [f"must be 1 to {MOST_CALLS:,}, or empty; stop the tool to let nobody call it"],
        )
    if cost is not None and not (cost.is_finite() and 0 <= cost <= DEAREST_CALL):
        problems += problems_at(
            PATHS["cost_per_call"], [f"must be 0 to {DEAREST_CALL:,} US dollars, or empty"]
        )
    if not 1 <= wanted.timeout_seconds <= LONGEST_CALL:
        problems += problems_at(PATHS["timeout_seconds"], [f"must be 1 to {LONGEST_CALL} seconds"])
    return problems


def _told(tool: Tool, name: str) -> str:
    value = getattr(tool, name)
    if name == "required_scopes":
        return ", ".join(value) or "none"
    if value is None:
        return "not set" if name == "cost_per_call" else "the site's default"
    return f"{value} s" if name == "timeout_seconds" else str(value)
