"""What it means that a tool is deprecated: from a day on it is found no more, but still runs."""

from datetime import date

from django.db.models import Q
from django.utils.timezone import localdate

from registry.models import Tool


def is_retired(tool: Tool) -> bool:
    """Say whether the day has come from which the tool is neither found nor offered."""
    return tool.deprecated_on is not None and tool.deprecated_on <= localdate()


def retired() -> Q:
    """Return the condition of tools that are neither found nor offered any more."""
    return Q(deprecated_on__isnull=False, deprecated_on__lte=localdate())


def deprecation_notice(tool: Tool) -> str:
    """Return in one sentence since when a tool is deprecated and what to use; else nothing.

    Models read it, so it holds nothing that its owner wrote: the note is for people.
    """
    if tool.deprecated_on is None:
        return ""
    successor = tool.successor
    lives = successor is not None and successor.deleted_at is None
    return notice_of(tool.deprecated_on, successor.wire_name if successor and lives else "")


def notice_of(day: date, successor: str) -> str:
    """Return that sentence for a tool deprecated on `day`; `successor` names one that lives."""
    since = "since" if day <= localdate() else "from"
    use = f": use {successor} instead" if successor else ""
    return f"Deprecated {since} {day_in_words(day)}{use}."


def day_in_words(day: date) -> str:
    """Return a day as pages and messages write it: 1 Dec 2026."""
    return f"{day.day} {day:%b %Y}"
