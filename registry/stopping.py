"""Stop a tool or a package everywhere at once, and let it run again.

A call that comes after the commit is refused: every call reads how its tool stands. A call that
runs is ended: the commit notifies every process (`registry.running`).
"""

from functools import partial
from typing import TypeVar

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from config.lib.changes import decided
from config.lib.errors import Conflict, InvalidInput, NotAllowed
from config.lib.jsontext import clean_text
from registry.models import Package, Tool
from registry.models.stoppable import LONGEST_REASON
from registry.services import artifact_forget

Stopped = TypeVar("Stopped", Tool, Package)


def tool_stop(tool: Tool, *, by: User | None, reason: str) -> Tool:
    """Stop a tool: nobody can call it, and the calls that run end within about a second.

    `by` is empty for the operator at the command line. Raises NotAllowed for whoever does not
    govern tools, InvalidInput without a reason, and Conflict where it is stopped already.
    """
    return _stop(tool, "registry.change_tool", by, reason)


def tool_resume(tool: Tool, *, by: User | None, reason: str) -> Tool:
    """Let a stopped tool run again; review and scopes hold as before."""
    return _resume(tool, "registry.change_tool", by, reason)


def package_stop(package: Package, *, by: User | None, reason: str) -> Package:
    """Stop all tools of a package, as `tool_stop` does one, and drop the sandboxes kept ready."""
    return _stop(package, "registry.change_package", by, reason)


def package_resume(package: Package, *, by: User | None, reason: str) -> Package:
    """Let the tools of a stopped package run again, but for those stopped one by one."""
    return _resume(package, "registry.change_package", by, reason)


@transaction.atomic
def _stop(item: Stopped, permission: str, by: User | None, reason: str) -> Stopped:
    reason = checked_reason(reason, by, permission)
    row = _locked(item)
    if row.stopped_at is not None:
        raise Conflict(
            f"{_name(row)} is stopped already, since {row.stopped_at:%Y-%m-%d %H:%M} UTC: "
            f"{row.stopped_reason}",
            "Nothing was changed. Resume it first to give another reason.",
        )
    with decided(by, reason):
        _write(item, row, by, f"Stopped: {reason}", stopped_reason=reason, stopped_by=by)
    artifact = row.artifact if isinstance(row, Package) else ""
    if artifact:
        transaction.on_commit(partial(artifact_forget, artifact))
    return item


@transaction.atomic
def _resume(item: Stopped, permission: str, by: User | None, reason: str) -> Stopped:
    reason = checked_reason(reason, by, permission)
    row = _locked(item)
    if row.stopped_at is None:
        raise Conflict(f"{_name(row)} is not stopped.", "There is nothing to resume.")
    with decided(by, reason):
        _write(item, row, by, f"Resumed: {reason}", stopped_reason="", stopped_by=None)
    return item


def checked_reason(reason: str, by: User | None, permission: str) -> str:
    """Return the reason of a governed change, trimmed.

    Raises NotAllowed for whoever does not govern, and InvalidInput for none or too long a one.
    """
    if by is not None and not by.has_perm(permission):
        raise NotAllowed("Only a governor may do this.", "Ask a governor.")
    reason = clean_text(reason).strip()
    if not reason:
        raise InvalidInput(
            "A reason is needed.",
            "Say in a few words why; everybody who meets it reads it.",
            problems=[{"path": "$.reason", "message": "is empty"}],
        )
    if len(reason) > LONGEST_REASON:
        raise InvalidInput(
            f"The reason has {len(reason):,} characters; at most {LONGEST_REASON} fit.",
            "Say it in fewer words.",
            problems=[{"path": "$.reason", "message": f"is longer than {LONGEST_REASON}"}],
        )
    return reason


def _locked(item: Stopped) -> Stopped:
    return type(item)._default_manager.select_for_update().get(pk=item.pk)


def _write(
    item: Stopped,
    row: Stopped,
    by: User | None,
    told: str,
    *,
    stopped_reason: str,
    stopped_by: User | None,
) -> None:
    for one in (row, item):
        one.stopped_at = timezone.now() if stopped_reason else None
        one.stopped_reason, one.stopped_by = stopped_reason, stopped_by
    row.save(update_fields=["stopped_at", "stopped_reason", "stopped_by", "updated_at"])
    if by is not None:
        LogEntry.objects.log_actions(by.pk, [row], CHANGE, change_message=told, single_object=True)


def _name(item: Tool | Package) -> str:
    return item.wire_name if isinstance(item, Tool) else item.name
