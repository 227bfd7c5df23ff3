"""Where a reader of the catalogue stands, so that it misses nothing that is written meanwhile.

Each tool and package bears the transaction that last changed it (`search_xid`). A reader notes the
oldest transaction that is still under way, reads, and later asks for what bears that transaction
or a newer one: every change that it cannot have seen is among it, in whatever order transactions
end and whether or not their notifications arrived.
"""

from dataclasses import dataclass
from functools import cache
from uuid import UUID

from django.db import connection

_POSITION = """
    SELECT pg_snapshot_xmin(now)::text::bigint, pg_snapshot_xmax(now)::text::bigint, concat_ws('/',
        (SELECT oid FROM pg_database WHERE datname = current_database()),
        pg_relation_filenode('registry_tool'), pg_relation_filenode('registry_package'))
    FROM pg_current_snapshot() AS now
"""
_CHANGED = """
    SELECT true, id, search_xid FROM registry_tool
    WHERE search_xid >= %(since)s AND search_xid < %(until)s
    UNION ALL
    SELECT false, id, search_xid FROM registry_package
    WHERE search_xid >= %(since)s AND search_xid < %(until)s
"""
_MAY_ASK = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"
_CLUSTER = "SELECT system_identifier::text FROM pg_control_system()"


@dataclass(frozen=True)
class Position:
    """What is read from now on is known up to the transaction before `oldest`, all of it.

    `tables` changes when the tables are emptied, restored or written anew, which leaves no
    trace in their rows.
    """

    oldest: int
    newest: int
    tables: str


@dataclass(frozen=True)
class Changes:
    """What bears a transaction from some point on: the ids of rows with their transactions."""

    tools: dict[UUID, int]
    packages: dict[UUID, int]


def position_now() -> Position:
    """Return where one stands who reads after this call."""
    with connection.cursor() as cursor:
        cursor.execute(_POSITION)
        [row] = cursor.fetchall()
    return Position(*row)


def changes_between(since: int, until: int) -> Changes:
    """Return what bears one of these transactions; rows restored from elsewhere may bear later."""
    changes = Changes({}, {})
    with connection.cursor() as cursor:
        cursor.execute(_CHANGED, {"since": since, "until": until})
        for is_tool, row_id, xid in cursor.fetchall():
            (changes.tools if is_tool else changes.packages)[row_id] = xid
    return changes


@cache
def cluster_of(database: str) -> str:
    """Return what tells this server from every other; empty where it may not be asked.

    `database` is the address that this process knows it by.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MAY_ASK)
        row = cursor.fetchone()
        if not row or not row[0]:
            return ""
        cursor.execute(_CLUSTER)
        told = cursor.fetchone()
    return str(told[0]) if told else ""
