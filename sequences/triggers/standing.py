"""May a sequence be started for somebody now?"""

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from config.lib.errors import DomainError, NotAllowed
from config.lib.types import JsonObject
from registry.context import CallContext
from registry.errors import ToolStopped
from registry.models import Tool
from registry.models.invocation import Caller
from registry.running import stop_in
from registry.selectors import tools_usable_by
from registry.standing import standing_of
from sequences.context import OwnerInactive
from sequences.models import Schedule, Webhook


class SequenceGone(DomainError):
    """The sequence was deleted."""

    code = "sequence_gone"
    default_hint = "Delete this, or choose another sequence."


ENDS = (OwnerInactive, SequenceGone, ToolStopped)
"""What does not pass by itself: it switches a schedule or a webhook off."""


def require_startable(trigger: Schedule | Webhook) -> None:
    """Raise what ends a trigger, or NotAllowed where its owner may not use the sequence now."""
    tool, owner = trigger.tool, trigger.owner
    if not owner.is_active:
        raise OwnerInactive
    if tool.deleted_at:
        raise SequenceGone
    standing = standing_of(tool.pk)
    if standing is not None and (stop := stop_in(standing)):
        raise stop.error(tool.wire_name)
    require_usable(owner, tool)


def require_usable(user: User, tool: Tool) -> None:
    """Raise NotAllowed for a sequence that a person may not use."""
    if not tools_usable_by(user).filter(pk=tool.pk).exists():
        raise NotAllowed(
            f"{tool.title} is not yours to use now.", "Ask its owner to share it with you."
        )


def context_for(trigger: Schedule | Webhook) -> CallContext:
    """Return the rights that a run of this trigger has: its owner's, as whoever saved it had."""
    caller = Caller.SCHEDULE if isinstance(trigger, Schedule) else Caller.WEBHOOK
    scopes = None if trigger.scopes is None else frozenset(trigger.scopes)
    return CallContext(user=trigger.owner, caller=caller, scopes=scopes)


def told(error: DomainError) -> JsonObject:
    """Return an error as `last_error` keeps it: `{code, message, hint, at}`."""
    shape = error.as_dict()
    kept = {key: shape[key] for key in ("code", "message", "hint")}
    return {**kept, "at": timezone.now().isoformat()}


class SwitchedOff(DomainError):
    """A governor switched this off."""

    code = "switched_off"
    default_hint = "Ask why before you switch it on again."


def switch_off(rows: QuerySet[Schedule] | QuerySet[Webhook]) -> int:
    """Switch off what governance does not want to start runs; return how many there were."""
    values: JsonObject = {"enabled": False, "last_error": told(SwitchedOff())}
    if rows.model is Schedule:
        values["next_at"] = None
    return rows.filter(enabled=True).update(**values)
