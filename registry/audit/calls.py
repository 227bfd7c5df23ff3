"""Find recorded calls: the same filters for the page, the export and the REST API."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from config.lib.errors import InvalidInput
from config.lib.ids import uuid_in
from config.lib.masking import MASK
from config.lib.numbers import whole_number
from config.lib.secret_names import names_a_secret
from config.lib.text_filters import TextFilters
from config.lib.types import JsonValue
from registry.audit.paging import between
from registry.models import Invocation, Tool
from registry.models.invocation import Decision, Outcome

DECISIONS = [(each.value, each.label) for each in Decision]
"""What a call can be filtered by."""

_NEVER = Q(pk=None)


@dataclass(frozen=True, kw_only=True)
class CallFilters(TextFilters):
    """What was asked for; an empty text does not narrow.

    `tool` is a wire name or an id, `agent` a slug or an id, `user` a username or `me`; `since`
    and `until` are days or times.
    """

    tool: str = ""
    version: str = ""
    agent: str = ""
    user: str = ""
    caller: str = ""
    outcome: str = ""
    error: str = ""
    decision: str = ""
    since: str = ""
    until: str = ""


def sees_all_calls(user: User) -> bool:
    """Tell whether a person sees that calls of others were made, and how they ended."""
    return user.has_perm("registry.view_invocation")


def sees_content(user: User, call: Invocation) -> bool:
    """Tell whether a person sees what a call was given and gave."""
    return call.user_id == user.pk or user.has_perm("registry.view_invocation_content")


def for_reader(user: User, call: Invocation) -> Invocation:
    """Return a call as a person may read it; not to be saved.

    One's own stands as it was recorded. Of others' calls a person without
    `view_invocation_content` reads nothing that was given or answered, and everybody else not
    what stands under the name of a secret.
    """
    if call.user_id == user.pk:
        return call
    if sees_content(user, call):
        call.arguments, call.output = masked_by_name(call.arguments), masked_by_name(call.output)
        call.error = masked_by_name(call.error)
        return call
    call.arguments, call.output = None, None
    if call.error:
        call.error = {"code": call.error_code, "message": "", "hint": "", "extra": {}}
    return call


def calls_listed(user: User, filters: CallFilters) -> QuerySet[Invocation]:
    """Return the calls that a person may see and that pass the filters; raise InvalidInput."""
    where = between("created_at", filters.since, filters.until)
    if filters.user == "me" or not sees_all_calls(user):
        where &= Q(user=user)
    if filters.user not in ("", "me"):
        where &= _one_of("user_id", User.objects.filter(username=filters.user))
    if filters.tool:
        where &= _of_tool(filters.tool)
    if filters.agent:
        where &= _of_agent(filters.agent)
    if filters.version:
        where &= _of_version(filters)
    if filters.error or filters.outcome == Outcome.FAILED:
        where &= ~Q(error_code="")  # what the partial index is of
    if filters.decision not in ("", Decision.ALLOWED):
        where &= ~Q(decision=Decision.ALLOWED)
    exact = {
        "caller": filters.caller,
        "outcome": filters.outcome,
        "error_code": filters.error,
        "decision": filters.decision,
    }
    where &= Q(**{name: text for name, text in exact.items() if text})
    return Invocation.objects.filter(where).select_related("tool", "user")


def masked_by_name(value: JsonValue) -> JsonValue:
    """Return a JSON value without what stands under the name of a secret."""
    if isinstance(value, dict):
        return {
            key: MASK if _hides(key, inner) else masked_by_name(inner)
            for key, inner in value.items()
        }
    return [masked_by_name(item) for item in value] if isinstance(value, list) else value


def agent_names(ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return the names of these agents; those that are gone have none."""
    wanted = {agent_id for agent_id in ids if agent_id is not None}
    names: dict[UUID, str] = _agents().names_of(wanted) if wanted else {}
    return names


def _hides(key: str, value: JsonValue) -> bool:
    return isinstance(value, str | int | float) and value != "" and names_a_secret(key)


def _of_version(filters: CallFilters) -> Q:
    # Versions of all tools together mean nothing, and no index leads to them.
    if not filters.tool:
        raise InvalidInput("A version is one of a tool.", "Name the tool as well.")
    number = whole_number(filters.version)
    return _NEVER if number is None else Q(tool_version=number)


def _of_tool(text: str) -> Q:
    key = uuid_in(text)
    return Q(tool_id=key) if key else _one_of("tool_id", Tool.objects.filter(wire_name=text))


def _of_agent(text: str) -> Q:
    key = uuid_in(text) or _agents().id_of(text)
    return Q(agent_id=key) if key else _NEVER


def _one_of(column: str, rows: QuerySet[Any]) -> Q:
    """Return the condition by ids read before, so that the index of each leads to its rows."""
    ids = list(rows.values_list("pk", flat=True)[:20])
    if len(ids) == 1:
        return Q(**{column: ids[0]})
    return Q(**{f"{column}__in": ids}) if ids else _NEVER


def _agents() -> Any:
    return import_module(settings.AGENT_NAMES)
