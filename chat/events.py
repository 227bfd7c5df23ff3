"""The event log of a turn: rows, numbered from 1, that any number of readers may follow.

Every event is a row before anyone hears of it. Redis only carries the news, so a reader that
missed some of it, or finds Redis gone, still reads everything from the rows.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from chat.models import TurnEvent
from config.lib.types import JsonObject

TERMINAL = frozenset({"turn.completed", "turn.failed"})
WAITING = "turn.waiting"
TRIES = 3

_INSERT = """
    INSERT INTO chat_turnevent (turn_id, number, name, data)
    SELECT
        new.turn_id,
        new.place + COALESCE(
            (SELECT MAX(number) FROM chat_turnevent AS old WHERE old.turn_id = new.turn_id), 0
        ),
        new.name,
        new.data::jsonb
    FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::text[]) AS new (turn_id, place, name, data)
    RETURNING turn_id, number
"""
"""One round trip for any number of events; the database counts, since others may write too."""


@dataclass(frozen=True)
class Event:
    """One event of a turn; `number` counts from 1 and is its id on the wire."""

    number: int
    name: str
    data: JsonObject

    def packed(self) -> bytes:
        """Return what Redis carries."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def unpacked(cls, message: bytes) -> "Event":
        """Return the event that Redis carried."""
        return cls(**json.loads(message))


@dataclass(frozen=True)
class NewEvent:
    """An event that has no row yet."""

    turn_id: UUID
    name: str
    data: JsonObject


def event_append(turn_id: UUID, name: str, data: JsonObject) -> Event:
    """Write the next row of a turn's log, within the caller's transaction if there is one.

    Another process may write to the same log at that moment, as one that takes an answer does;
    then the next number is taken. Raises IntegrityError when the turn is gone.
    """
    for left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                return events_append([NewEvent(turn_id, name, data)])[0]
        except IntegrityError:
            if not left:
                raise
    raise AssertionError("the last try returns or raises")


def events_append(new: Sequence[NewEvent]) -> list[Event]:
    """Write the next rows of the logs of several turns, in order and with one statement.

    Raises IntegrityError when a turn is gone, or when somebody else wrote the same number.
    """
    places: dict[UUID, int] = {}
    rows: tuple[list[object], ...] = ([], [], [], [])
    for event in new:
        places[event.turn_id] = place = places.get(event.turn_id, 0) + 1
        packed = json.dumps(event.data, ensure_ascii=False)
        for column, value in zip(rows, (event.turn_id, place, event.name, packed), strict=True):
            column.append(value)
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, rows)
        numbers: dict[UUID, list[int]] = {}
        for turn_id, number in cursor.fetchall():
            numbers.setdefault(turn_id, []).append(number)
    following = {turn_id: iter(sorted(of_turn)) for turn_id, of_turn in numbers.items()}
    return [Event(next(following[event.turn_id]), event.name, event.data) for event in new]


def events_after(turn_id: UUID, number: int) -> list[Event]:
    """Return the rows of a turn's log behind `number`, in order."""
    rows = TurnEvent.objects.filter(turn_id=turn_id, number__gt=number).order_by("number")
    return [Event(row.number, row.name, row.data) for row in rows]


def channel_of(turn_id: UUID) -> str:
    """Return the Redis channel that carries a turn's events."""
    return f"turn:{turn_id}"
