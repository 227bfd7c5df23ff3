"""Deprecate a tool: say from which day on it is not to be used any more, and what is."""

from datetime import date

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.timezone import localdate

from config.lib.changes import decided
from config.lib.errors import InvalidInput, NotAllowed
from config.lib.ids import uuid_in
from config.lib.jsontext import clean_text
from registry.deprecated import day_in_words, deprecation_notice, is_retired
from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.selectors import BLOCKED, tools_visible_to

LONGEST_NOTE = 500
LONGEST_CHAIN = 50
"""Successors of successors that are followed."""


def may_deprecate(user: User, tool: Tool) -> bool:
    """Say whether a person may deprecate a tool: one that they made, or any for a governor."""
    made = tool.package_id is None and tool.owner_id == user.pk
    return made or user.has_perm("registry.change_tool")


def successor_named(user: User, text: str) -> Tool | None:
    """Return the visible tool of this wire name or id, None for an empty text.

    Raises InvalidInput that names what was not found.
    """
    wanted = clean_text(text).strip()
    if not wanted:
        return None
    tools = tools_visible_to(user)
    identity = uuid_in(wanted)
    found = tools.filter(pk=identity) if identity else tools.filter(wire_name=wanted)
    successor = found.first()
    if successor is None:
        raise _problem("successor", f"There is no tool “{wanted[:64]}” that you may see.")
    return successor


@transaction.atomic
def tool_deprecate(
    tool: Tool, *, by: User, on: date, successor: Tool | None = None, note: str = ""
) -> Tool:
    """Say from which day on a tool is deprecated; it makes no version, for it runs as before.

    Raises NotAllowed, and InvalidInput with the field that is wrong: a day that is over, a
    successor that is gone, deprecated itself, leads back here, or is hidden from those who see
    the tool.
    """
    stored = _locked(tool, by)
    note = clean_text(note).strip()
    if on < localdate() and on != stored.deprecated_on:
        raise _problem("on", f"{day_in_words(on)} is over. Choose today or a later day.")
    if len(note) > LONGEST_NOTE:
        raise _problem("note", f"It has {len(note)} characters; at most {LONGEST_NOTE} fit.")
    if successor is not None:
        _check_successor(stored, successor)
    stored.deprecated_on, stored.successor, stored.deprecation_note = on, successor, note
    _save(stored, by, f"{deprecation_notice(stored)} {note}".strip())
    return stored


@transaction.atomic
def tool_undeprecate(tool: Tool, *, by: User) -> Tool:
    """Take the deprecation back; the tool is found and offered again. Raises NotAllowed."""
    stored = _locked(tool, by)
    stored.deprecated_on, stored.successor, stored.deprecation_note = None, None, ""
    _save(stored, by, "Deprecated no more.")
    return stored


def _locked(tool: Tool, by: User) -> Tool:
    if not may_deprecate(by, tool):
        raise NotAllowed(
            "Only the owner of a tool, or a governor, deprecates it.", "Ask one of them."
        )
    return Tool.objects.select_for_update().get(pk=tool.pk)


def _save(tool: Tool, by: User, told: str) -> None:
    with decided(by, told):
        tool.save(update_fields=["deprecated_on", "successor", "deprecation_note", "updated_at"])
    LogEntry.objects.log_actions(by.pk, [tool], CHANGE, change_message=told, single_object=True)


def _check_successor(tool: Tool, successor: Tool) -> None:
    name = successor.wire_name
    if successor.pk == tool.pk:
        raise _problem("successor", "A tool cannot be its own successor. Name another one.")
    if successor.deleted_at is not None:
        raise _problem("successor", f"{name} was deleted. Name another tool.")
    if is_retired(successor):
        raise _problem("successor", f"{name} is deprecated itself. Name the tool to use now.")
    if not _seen_by_all_of(tool, successor):
        raise _problem(
            "successor",
            f"{name} is not seen by everybody who sees {tool.wire_name}. "
            "Share it as widely first, or name another tool.",
        )
    following: Tool | None = successor
    for _ in range(LONGEST_CHAIN):
        following = following.successor if following else None
        if following is None:
            return
        if following.pk == tool.pk:
            break
    raise _problem("successor", f"{name} names {tool.wire_name} as its successor in turn.")


def _seen_by_all_of(tool: Tool, successor: Tool) -> bool:
    """Say whether whoever sees the tool sees its successor."""
    package = successor.package
    statuses = (successor.review_status, package.review_status if package else None)
    if any(status in BLOCKED for status in statuses):
        return False
    approved = all(status in (ReviewStatus.APPROVED, None) for status in statuses)
    if successor.visibility == Visibility.PUBLIC and approved:
        return True
    if tool.visibility == Visibility.PUBLIC:
        return False
    if tool.visibility == Visibility.TEAM:
        return successor.visibility == Visibility.TEAM and successor.team_id == tool.team_id
    return successor.owner_id == tool.owner_id or successor.visibility != Visibility.PRIVATE


def _problem(field: str, message: str) -> InvalidInput:
    problems = [{"path": f"$.{field}", "message": message}]
    return InvalidInput(message, "Correct it and send it again.", problems=problems)
