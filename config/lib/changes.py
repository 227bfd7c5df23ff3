"""Who changes something, where from and why: told to the database with every write.

Triggers write the audit (docs/decisions/0012-audit-by-triggers.md). They read the setting
`outfitter.change` of their transaction, a JSON object with the fields of `Change` that are known.
An execute wrapper on every connection sets it in the same round trip as the statement that
writes, so that it can neither be forgotten nor be left behind on a pooled connection.
"""

import getpass
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol
from uuid import uuid4

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import ClientCursor
from psycopg.pq import TransactionStatus
from psycopg.sql import Literal

from config.lib.jsontext import clean_text
from config.lib.types import JsonObject

SETTING = "outfitter.change"
"""The setting of a transaction that the triggers read."""

_WRITES = ("insert", "update", "delete", "with", "merge")

_TOLD = "_outfitter_told"
"""Marks a connection whose transaction may still hold what it was told."""

Actor = tuple[int | None, str]
"""The id and the name of a person; no id and an empty name: nobody is known."""


class Person(Protocol):
    """Somebody with an account."""

    pk: Any

    def get_username(self) -> str:
        """Return the name they sign in with."""


def nobody() -> Actor:
    """Return the actor of what nobody asked for."""
    return None, ""


def operator() -> Actor:
    """Return the account of the operating system that a command runs under."""
    try:
        return None, getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return None, ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The circumstances of a write. `actor` is asked when something is written, not before."""

    source: str = ""
    actor: Callable[[], Actor] = nobody
    request_id: str = ""
    method: str = ""
    path: str = ""
    reason: str = ""

    def told(self) -> JsonObject:
        """Return what is known as JSON: `{source, actor, name, request, method, path, reason}`."""
        number, name = self.actor()
        facts = {
            "source": self.source,
            "actor": number,
            "name": name[:150],
            "request": self.request_id,
            "method": self.method,
            "path": self.path[:500],
            "reason": self.reason[:500],
        }
        return {key: value for key, value in facts.items() if value not in (None, "")}


_current: ContextVar[Change | None] = ContextVar("outfitter_change", default=None)


def current_change() -> Change | None:
    """Return the circumstances that writes are told with here, or None."""
    return _current.get()


@contextmanager
def changing(**facts: Any) -> Iterator[Change]:
    """Tell what is written inside with these fields of `Change`, besides those that hold already.

    An empty `reason` leaves the one that stands.
    """
    facts["reason"] = clean_text(facts.get("reason", ""))  # what PostgreSQL cannot hold goes
    known = {key: value for key, value in facts.items() if value != ""}
    change = replace(_current.get() or Change(request_id=str(uuid4())), **known)
    token = _current.set(change)
    try:
        yield change
    finally:
        _current.reset(token)


@contextmanager
def decided(by: Person | None, reason: str = "") -> Iterator[Change]:
    """Tell what is written inside as this person's decision, and why.

    Without a person whoever holds already stays the actor, as at the command line.
    """
    facts: dict[str, Any] = {"reason": reason.strip()}
    if by is not None:
        actor: Actor = (by.pk, by.get_username())
        facts["actor"] = lambda: actor
    with changing(**facts) as change:
        yield change


def headers_of(change: Change | None) -> JsonObject:
    """Return what a message to the worker carries, so that its writes name who asked for them."""
    return {} if change is None else {"outfitter_change": change.told()}


def from_headers(told: object) -> JsonObject:
    """Return the fields of `Change` that a message brought, for the job that it starts.

    The id of the request leads to where the job came from; its address stays with its own writes.
    """
    if not isinstance(told, Mapping):
        return {}
    actor = (told.get("actor"), str(told.get("name", "")))
    return {
        "actor": lambda: actor,
        "request_id": str(told.get("request", "")),
        "reason": str(told.get("reason", "")),
    }


def tell_database(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Have a new connection tell each write's circumstances; a receiver of connection_created."""
    if connection.vendor == "postgresql" and _told not in connection.execute_wrappers:
        connection.execute_wrappers.append(_told)


def _told(
    execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Set the setting in front of a statement that writes, and go on to the statement's result.

    Where nothing is known any more, what the same transaction was told before is taken back.
    """
    change, connection = _current.get(), context["connection"]
    if change is None and not getattr(connection, _TOLD, False):
        return execute(sql, params, many, context)
    if many or not _can_carry(sql, context["cursor"]):
        return execute(sql, params, many, context)
    told = Literal(json.dumps(change.told()) if change else "").as_string(connection.connection)
    if params is not None:
        told = told.replace("%", "%%")  # as everything of a statement that has parameters
    setattr(connection, _TOLD, change is not None)
    set_first = f"SELECT set_config('{SETTING}', {told}, true); {sql}"
    result = execute(set_first, params, many, context)
    while context["cursor"].nextset():
        pass
    return result


def _can_carry(sql: Any, cursor: Any) -> bool:
    # What is no text, is prepared, streams rows or comes after an error is nothing that the ORM
    # writes by.
    if not isinstance(sql, str) or not isinstance(cursor.cursor, ClientCursor):
        return False
    if not sql.lstrip().lower().startswith(_WRITES) or getattr(cursor, "name", None):
        return False
    status = cursor.connection.info.transaction_status
    return bool(status != TransactionStatus.INERROR)
