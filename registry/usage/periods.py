"""The stretches of time that use is told for, cut into equal buckets."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from config.lib.errors import InvalidInput

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
DEFAULT = "30d"
LONGEST = timedelta(days=366)
HOURLY_UP_TO = timedelta(days=3)
"""Longer stretches are told by day."""


@dataclass(frozen=True, kw_only=True)
class Period:
    """From `since` to `until` (exclusive), in UTC, both at the start of a bucket of `step`."""

    name: str
    words: str
    since: datetime
    until: datetime
    step: timedelta

    @property
    def grain(self) -> str:
        """Return `hour` or `day`."""
        return "hour" if self.step == HOUR else "day"

    @property
    def starts(self) -> list[datetime]:
        """Return the starts of its buckets, oldest first."""
        count = (self.until - self.since) // self.step
        return [self.since + place * self.step for place in range(count)]


_WORDS = {"24h": "24 hours", "7d": "7 days", "30d": "30 days", "90d": "90 days"}
NAMES = tuple(_WORDS)


def period_of(name: str) -> Period:
    """Return the period of this name, up to and with the present hour or day.

    An unknown name means `DEFAULT`: it comes from the address of a page.
    """
    name = name if name in _WORDS else DEFAULT
    step = HOUR if name.endswith("h") else DAY
    until = _floor(timezone.now(), step) + step
    since = until - int(name[:-1]) * step
    return Period(name=name, words=_WORDS[name], since=since, until=until, step=step)


def ever() -> Period:
    """Return the period of all calls; it has too many buckets to be told as a series."""
    until = _floor(timezone.now(), DAY) + DAY
    since = datetime(2000, 1, 1, tzinfo=UTC)
    return Period(name="ever", words="all time", since=since, until=until, step=DAY)


def period_between(first: datetime | None, last: datetime | None) -> Period:
    """Return the period from one moment to another, whole buckets of which they are part.

    Without `first` 30 days, without `last` up to now. Raises InvalidInput.
    """
    if last is not None and first is None:
        first = last - 30 * DAY
    if first is None:
        return period_of(DEFAULT)
    last = last or timezone.now()
    if last <= first:
        raise InvalidInput("“to” must be later than “from”.", "Swap the two, or leave out one.")
    if last - first > LONGEST:
        raise InvalidInput("At most 366 days can be asked for at once.", "Ask for less at a time.")
    step = HOUR if last - first <= HOURLY_UP_TO else DAY
    since, until = _floor(first, step), _floor(last, step)
    if until < last:
        until += step
    words = f"{since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M}"
    return Period(name="", words=words, since=since, until=until, step=step)


def _floor(moment: datetime, step: timedelta) -> datetime:
    moment = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return moment if step == HOUR else moment.replace(hour=0)
