"""Cron expressions: checked, told in words, and when they come next in their time zone.

At the two nights of a year on which clocks are put forward or back, a time of day that does not
exist is made up for when the clocks have moved on, and one that exists twice comes once; what is
repeated every few minutes goes on evenly. That is how cron itself does it.
"""

from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cron_descriptor import ExpressionDescriptor, Options
from cronsim import CronSim, CronSimError

FIELDS = 5
LONGEST_CRON = 100


class CronError(ValueError):
    """The expression or the time zone is not valid; `str()` says why, in plain words."""


def checked_cron(cron: str) -> str:
    """Return the expression with single blanks between its five fields; raise CronError."""
    fields = cron.split()
    if len(cron) > LONGEST_CRON:
        raise CronError(f"A cron expression has at most {LONGEST_CRON} characters.")
    if len(fields) != FIELDS:
        raise CronError(
            "A cron expression has five fields, minute, hour, day of the month, month and day of "
            f"the week, and this has {len(fields)}."
        )
    text = " ".join(fields)
    try:
        next(CronSim(text, datetime.now(UTC)))
    except CronSimError as error:
        raise CronError(f"It cannot be read: {str(error).lower()}.") from None
    except StopIteration:
        raise CronError("It names a time that never comes.") from None
    return text


def checked_zone(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name; raise CronError."""
    try:
        if name in zone_names():
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError):
        pass
    raise CronError(f"“{name[:64]}” is not a time zone. Write one such as Europe/Berlin or UTC.")


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    """Return the names of all time zones that people choose from, in order."""
    odd = ("Etc/", "posix/", "right/", "SystemV/")
    names = {name for name in available_timezones() if "/" in name and not name.startswith(odd)}
    return ("UTC", *sorted(names))


def next_times(cron: str, timezone: str, after: datetime, count: int = 1) -> list[datetime]:
    """Return the next times after `after`, in the schedule's time zone; fewer when it ends.

    Raises CronError.
    """
    zone, text = checked_zone(timezone), checked_cron(cron)
    return list(islice(CronSim(text, after.astimezone(zone)), count))


def in_words(cron: str) -> str:
    """Return what a checked expression says, such as “At 09:00, Monday through Friday”."""
    options = Options()
    options.locale_code = "en_GB"
    options.use_24hour_time_format = True
    options.throw_exception_on_parse_error = True
    try:
        return str(ExpressionDescriptor(cron.upper(), options).get_description())
    except Exception:  # it knows fewer expressions than cron does, and fails on them in many ways
        return cron
