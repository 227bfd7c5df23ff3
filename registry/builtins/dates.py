"""Calendar arithmetic."""

from datetime import date, datetime, timedelta

from dateutil import parser
from dateutil.relativedelta import relativedelta

from config.lib.types import JsonObject
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import choice, integer, produced, record, text
from registry.errors import ToolInputRejected

SATURDAY = 5
STYLES = {
    "iso": "{date}",
    "long": "{date:%A}, {date.day} {date:%B} {date.year:04}",
    "medium": "{date.day} {date:%b} {date.year:04}",
    "european": "{date:%d.%m}.{date.year:04}",
    "british": "{date:%d/%m}/{date.year:04}",
    "american": "{date:%m/%d}/{date.year:04}",
    "week": "{iso.year:04}-W{iso.week:02}-{iso.weekday}",
    "day_of_year": "{date.year:04}-{date:%j}",
}
"""Years are written by hand, because %Y leaves out the zeros of the years below 1000."""

FILLED_IN = (datetime(1999, 1, 1), datetime(2004, 2, 2))
"""Two dates without a common year, month, day or weekday, to find out what a text leaves open."""

DATE = text("A date such as 2026-03-31, 31 March 2026 or March 31, 2026.", limit=60, at_least=4)


def date_add(arguments: JsonObject) -> JsonObject:
    """Return the date that lies so many years, months, weeks, days or business days away."""
    start = read_date(arguments["date"])
    try:
        moved = start + relativedelta(
            years=arguments["years"],
            months=arguments["months"],
            weeks=arguments["weeks"],
            days=arguments["days"],
        )
        return told(_add_business_days(moved, arguments["business_days"]))
    except (OverflowError, ValueError):
        raise ToolInputRejected(
            "The result lies outside of the years 1 to 9999.", "Add or take away less."
        ) from None


def date_difference(arguments: JsonObject) -> JsonObject:
    """Return what lies between two dates; negative when the second is earlier."""
    start, end = read_date(arguments["start"]), read_date(arguments["end"])
    gap = relativedelta(end, start)
    days = (end - start).days
    return {
        "days": days,
        "weeks": round(days / 7, 2),
        "business_days": _business_days_between(start, end),
        "years": gap.years,
        "months": gap.months,
        "remaining_days": gap.days,
        "words": _words(gap),
    }


def format_date(arguments: JsonObject) -> JsonObject:
    """Return a date in the style asked for, with its weekday."""
    value = read_date(arguments["date"])
    written = STYLES[arguments["style"]].format(date=value, iso=value.isocalendar())
    return {"text": written, **told(value)}


def read_date(value: str) -> date:
    """Return the full date that a person wrote, or raise ToolInputRejected."""
    try:
        # Zones are ignored: the day is the one that is written.
        first, second = (
            parser.parse(value, default=default, ignoretz=True).date() for default in FILLED_IN
        )
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        raise ToolInputRejected(
            f"“{value}” is not a date that can be read.", "Write it as YYYY-MM-DD."
        ) from None
    if first != second:
        raise ToolInputRejected(
            f"“{value}” does not name a day, a month and a year.",
            "Write all three, as in 24 December 2026 or 2026-12-24; current_time tells today.",
        )
    return first


def told(value: date) -> JsonObject:
    """Return a date with its weekday and ISO week."""
    return {
        "date": value.isoformat(),
        "weekday": f"{value:%A}",
        "week": value.isocalendar().week,
    }


def _add_business_days(start: date, count: int) -> date:
    if not count:
        return start
    step = timedelta(days=1 if count > 0 else -1)
    while start.weekday() >= SATURDAY:
        start -= step
    weeks, rest = divmod(abs(count), 5)
    moved = start + step * 7 * weeks
    while rest:
        moved += step
        rest -= moved.weekday() < SATURDAY
    return moved


def _business_days_between(start: date, end: date) -> int:
    """Count Mondays to Fridays from `start` on, without `end`."""
    if end < start:
        return -_business_days_between(end, start)
    weeks, rest = divmod((end - start).days, 7)
    odd = sum((start + timedelta(days=n)).weekday() < SATURDAY for n in range(rest))
    return weeks * 5 + odd


def _words(gap: relativedelta) -> str:
    parts = [(gap.years, "year"), (gap.months, "month"), (gap.days, "day")]
    shown = [f"{abs(n)} {unit}{'' if abs(n) == 1 else 's'}" for n, unit in parts if n]
    if not shown:
        return "the same day"
    return ", ".join(shown) + (" earlier" if any(n < 0 for n, _ in parts) else "")


TOLD = {
    "date": produced("string", "YYYY-MM-DD."),
    "weekday": produced("string", "Name of the day of the week."),
    "week": produced("integer", "ISO week of the year."),
}
TOOLS = (
    Builtin(
        name="date_add",
        title="Add to a date",
        description=(
            "Add or subtract years, months, weeks, days or business days to a date and tell the "
            "day of the week it falls on."
        ),
        category="datetime",
        input_schema=record(
            {
                "date": DATE,
                "years": integer("Years to add; negative takes away.", -9999, 9999, 0),
                "months": integer("Months to add.", -99_999, 99_999, 0),
                "weeks": integer("Weeks to add.", -99_999, 99_999, 0),
                "days": integer("Days to add.", -999_999, 999_999, 0),
                "business_days": integer("Mondays to Fridays to add.", -99_999, 99_999, 0),
            },
            required=("date",),
        ),
        output_schema=record(TOLD),
        ai_agent=guidance(
            "When the user asks which date lies some days, weeks, months or working days before "
            "or after another.",
            "Knows no public holidays. Needs a date: get today's from current_time.",
            "What date is 90 days after 2026-03-01?",
            "Add three months to 31 January 2026",
            "Which day is 10 working days before 25 December 2026?",
        ),
        run=date_add,
    ),
    Builtin(
        name="date_difference",
        title="Time between dates",
        description=(
            "Tell how many days, weeks, months, years and business days lie between two dates."
        ),
        category="datetime",
        input_schema=record({"start": DATE, "end": DATE}),
        output_schema=record(
            {
                "days": produced("integer", "Days; negative when the end is earlier."),
                "weeks": produced("number", "The same in weeks."),
                "business_days": produced("integer", "Mondays to Fridays, without the end."),
                "years": produced("integer", "Whole years."),
                "months": produced("integer", "Whole months beside the years."),
                "remaining_days": produced("integer", "Days beside years and months."),
                "words": produced("string", "The gap in words."),
            }
        ),
        ai_agent=guidance(
            "When the user asks how long it is between two dates, or how old something is.",
            "Whole days only, no hours; knows no public holidays.",
            "How many days are there between 2026-01-01 and 2026-12-24?",
            "How many working days lie between 1 May 2026 and 1 June 2026?",
            "How old is somebody born on 12 March 1990 on 1 January 2026?",
        ),
        run=date_difference,
    ),
    Builtin(
        name="format_date",
        title="Format a date",
        description=(
            "Read a date as a person writes it and write it in another style: ISO, long, "
            "European, British, American, ISO week or day of the year."
        ),
        category="datetime",
        input_schema=record(
            {"date": DATE, "style": choice("The style to write.", list(STYLES), "iso")},
            required=("date",),
        ),
        output_schema=record({"text": produced("string", "The date in that style."), **TOLD}),
        ai_agent=guidance(
            "When the user wants a date written differently or asks for its weekday.",
            "Needs day, month and year, in English; of 03/04/2026 the month comes first.",
            "Write March 5, 2026 in ISO format",
            "What weekday was 20 July 1969?",
            "Format 2026-12-24 as a long date",
        ),
        run=format_date,
    ),
)
