"""Page through records by their time and id: never by a count, never by an offset.

A page costs the same wherever it is, since an index leads to its first row.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from config.lib.errors import InvalidInput

M = TypeVar("M", bound=Model)

ROWS_A_PAGE = 50
ROWS_A_BATCH = 1_000


@dataclass(frozen=True, kw_only=True)
class Page(Generic[M]):
    """The records of one page, newest first; `older` is the cursor of the next, if there is one."""

    rows: list[M]
    older: str


def page_of(records: QuerySet[M], time_field: str, cursor: str) -> Page[M]:
    """Return one page of records, or raise InvalidInput for a cursor that is none."""
    rows = list(_before(_ordered(records, time_field), time_field, cursor)[: ROWS_A_PAGE + 1])
    more = len(rows) > ROWS_A_PAGE
    rows = rows[:ROWS_A_PAGE]
    return Page(rows=rows, older=_cursor_of(rows[-1], time_field) if more else "")


def all_of(records: QuerySet[M], time_field: str) -> Iterator[list[M]]:
    """Return all records in batches, each read by a query of its own.

    Whatever their number, little memory and no long transaction is needed.
    """
    cursor, ordered = "", _ordered(records, time_field)
    while rows := list(_before(ordered, time_field, cursor)[:ROWS_A_BATCH]):
        yield rows
        if len(rows) < ROWS_A_BATCH:
            return
        cursor = _cursor_of(rows[-1], time_field)


def between(time_field: str, since: str, until: str) -> Q:
    """Return the condition of a span of time; `until` is a day that counts as a whole."""
    where = Q()
    if since:
        where &= Q(**{f"{time_field}__gte": _moment(since, "from")})
    if until:
        end = _moment(until, "to")
        whole_day = len(until) == len("2026-01-01")
        where &= (
            Q(**{f"{time_field}__lt": end + timedelta(days=1)})
            if whole_day
            else Q(**{f"{time_field}__lte": end})
        )
    return where


def _moment(text: str, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if datetime(1970, 1, 2, tzinfo=UTC) < moment < datetime(9000, 1, 1, tzinfo=UTC):
            return moment
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(
        f"“{text[:40]}” is no day or time ({name}).", "Write it as 2026-01-31 or 2026-01-31T12:00Z."
    )


def _ordered(records: QuerySet[M], time_field: str) -> QuerySet[M]:
    return records.order_by(f"-{time_field}", "-pk")


def _before(records: QuerySet[M], time_field: str, cursor: str) -> QuerySet[M]:
    if not cursor:
        return records
    moment, key = _read(cursor)
    earlier = Q(**{f"{time_field}__lt": moment}) | Q(pk__lt=_key(records, key, cursor))
    return records.filter(earlier, **{f"{time_field}__lte": moment})


def _cursor_of(row: Any, time_field: str) -> str:
    text = f"{getattr(row, time_field).isoformat()} {row.pk}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[datetime, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode()
        moment, _, key = text.partition(" ")
        return _moment(moment, "cursor"), key
    except (ValueError, binascii.Error, InvalidInput):
        raise _no_cursor() from None


def _key(records: QuerySet[Any], key: str, cursor: str) -> Any:
    try:
        value = records.model._meta.pk.to_python(key)
        records.model._meta.pk.run_validators(value)
    except ValidationError:
        raise _no_cursor() from None
    return value


def _no_cursor() -> InvalidInput:
    return InvalidInput("This is no place in the list.", "Start again at the newest.")
