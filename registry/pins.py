"""Which version of a tool an agent's link or a step may be held to."""

from django.contrib.auth.models import User

from config.lib.errors import InvalidInput
from registry.loading import load_spec
from registry.models import Tool
from registry.models.tool import Visibility
from registry.selectors import is_made_by
from registry.specs import ToolSpec

LARGEST = 2**31 - 1
"""The largest number that the column of a version holds."""

MOST_OFFERED = 30
"""The newest versions that a list offers; an older one is typed."""


class PinRefused(InvalidInput):
    """This version cannot be pinned."""

    code = "pin_refused"
    default_hint = "Pin an approved version of the tool, or none: then the live one is used."


def pinned_spec(tool: Tool, number: int, *, user: User) -> ToolSpec:
    """Return the tool as it was in a version that a person may pin.

    Raises ToolUnavailable when there is no such version, and PinRefused when review refused it,
    or when it was never approved and the tool is somebody else's.
    """
    if not 0 < number <= LARGEST:
        raise PinRefused(f"{tool.wire_name} has no version {number}.")
    spec = load_spec(tool, number)
    if number in tool.blocked_versions:
        raise PinRefused(f"A reviewer refused version {number} of {tool.wire_name}.")
    if number in _out_of_reach(tool, user):
        raise PinRefused(f"Version {number} of {tool.wire_name} was never approved.")
    return spec


def numbers_to_pin(tool: Tool, user: User) -> list[int]:
    """Return the newest versions that a person may pin, the newest first; it asks no database."""
    newest = max([tool.version, *tool.unreviewed_versions])
    barred = {*tool.blocked_versions, *_out_of_reach(tool, user)}
    numbers = (number for number in range(newest, 0, -1) if number not in barred)
    return [number for number, _ in zip(numbers, range(MOST_OFFERED), strict=False)]


def _out_of_reach(tool: Tool, user: User) -> list[int]:
    if tool.visibility != Visibility.PUBLIC or is_made_by(user, tool):
        return []
    return tool.unreviewed_versions
