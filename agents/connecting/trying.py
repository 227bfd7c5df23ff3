"""Try a person's connection: with a token that lives as long as the trial, or one they have."""

from datetime import timedelta
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.utils import timezone

from agents.connecting.offered import Offered
from agents.oauth.scopes import FIRST
from agents.tokens import token_create, token_revoke
from config.lib.errors import Conflict, InvalidInput
from config.lib.types import JsonObject

if TYPE_CHECKING:
    from agents.connecting.trial import Step, Target

TOKEN_NAME = "Connection test"  # noqa: S105 -- what people see in the list while it lives
TOKEN_LIFE = timedelta(minutes=1)
"""Somewhat more than a trial may take, should the process end within it."""

AT_ONCE = 4
"""Trials of one process: each keeps a database connection while the server needs more of them."""

_free = BoundedSemaphore(AT_ONCE)


def connection_tried(
    user: User,
    target: "Target",
    offered: Offered,
    *,
    token: str = "",
    tool: str = "",
    arguments: JsonObject | None = None,
) -> "list[Step]":
    """Connect as a client does, list, and call a tool that only reads.

    Raises InvalidInput for another tool, and Conflict where too many try at once.
    """
    # the SDK takes most of a second to import; a server has it by then
    from agents.connecting.trial import tried

    if tool and tool not in {spec.wire_name for spec in offered.readers}:
        raise InvalidInput("Only a tool that reads can be tried here.", "Choose one of the list.")
    call = (tool, arguments or {}) if tool else None
    if not _free.acquire(blocking=False):
        raise Conflict("Others are testing their connections.", "Try again in a moment.")
    try:
        if token:
            return tried(target, token, call=call)
        made, text = token_create(
            user,
            name=TOKEN_NAME,
            scopes=[*FIRST, *offered.scopes],
            expires_at=timezone.now() + TOKEN_LIFE,
        )
        try:
            return tried(target, text, call=call)
        finally:
            token_revoke(user, made.pk)
    finally:
        _free.release()
