"""The current time anywhere."""

import difflib
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from config.lib.types import JsonObject
from registry.builtins.definition import Builtin, guidance
from registry.builtins.shapes import produced, record, text
from registry.errors import ToolInputRejected

# Places people name that the IANA database files under another city, and common abbreviations.
ALIASES = {
    "america/los_angeles": "san francisco|seattle|san diego|las vegas|california|pst|pdt",
    "america/new_york": "washington|washington dc|boston|miami|atlanta|philadelphia|nyc|edt",
    "america/chicago": "houston|dallas|austin|san antonio|new orleans|cst|cdt",
    "america/denver": "salt lake city|mdt",
    "america/toronto": "ottawa|montreal|quebec",
    "america/sao_paulo": "rio|rio de janeiro|brasilia",
    "europe/london": "manchester|edinburgh|glasgow|oxford|cambridge|england|uk|bst",
    "europe/berlin": "munich|hamburg|frankfurt|cologne|stuttgart|germany|cest",
    "europe/madrid": "barcelona|valencia|seville|spain",
    "europe/paris": "lyon|marseille|nice|france",
    "europe/rome": "milan|naples|turin|venice|florence|italy",
    "europe/zurich": "geneva|basel|bern|switzerland",
    "europe/amsterdam": "rotterdam|the hague|netherlands",
    "asia/tokyo": "osaka|kyoto|jst",
    "asia/shanghai": "beijing|shenzhen|guangzhou|china",
    "asia/kolkata": "mumbai|delhi|new delhi|bangalore|bengaluru|chennai|hyderabad|pune|india",
    "asia/dubai": "abu dhabi|uae",
    "asia/ho_chi_minh": "hanoi|saigon|vietnam",
    "australia/sydney": "canberra",
    "africa/johannesburg": "cape town|durban|pretoria|south africa",
}
FIXED_OFFSET = re.compile(r"(?:utc|gmt)?\s*([+-])([0-9]{1,2})(?::?([0-5][0-9]))?", re.IGNORECASE)
MAX_OFFSET_HOURS = 14


def tell_time(arguments: JsonObject) -> JsonObject:
    """Return the time now in `timezone`."""
    return moment(*resolve_zone(arguments["timezone"]), datetime.now(UTC))


def moment(name: str, zone: tzinfo, now: datetime) -> JsonObject:
    """Return `now` (aware) in `zone`: ISO 8601, a sentence, its parts and the UTC offset."""
    local = now.astimezone(zone).replace(microsecond=0)
    stamp = local.isoformat()
    offset = stamp[-6:]
    return {
        "iso": stamp,
        "human": f"{local:%A}, {local.day} {local:%B %Y, %H:%M} (UTC{offset})",
        "timezone": name,
        "utc_offset": offset,
        "date": local.date().isoformat(),
        "time": local.time().isoformat(),
        "weekday": f"{local:%A}",
        "unix": int(now.timestamp()),
    }


def resolve_zone(wanted: str) -> tuple[str, tzinfo]:
    """Return the name and the zone meant by an IANA name, a city or an offset.

    Raises `ToolInputRejected` with the nearest names when nothing matches.
    """
    key = _key(wanted)
    names = _zones_by_key()
    # "Tokyo, Japan" and "Portland, Oregon" name the place first.
    for candidate in (key, key.partition(",")[0].strip()):
        if candidate in names:
            return names[candidate], ZoneInfo(names[candidate])
    if offset := FIXED_OFFSET.fullmatch(wanted.strip()):
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if hours < MAX_OFFSET_HOURS or (hours == MAX_OFFSET_HOURS and not minutes):
            shift = timedelta(hours=hours, minutes=minutes)
            return (
                f"UTC{offset[1]}{hours:02}:{minutes:02}",
                timezone(shift if offset[1] == "+" else -shift),
            )
    near = [names[match] for match in difflib.get_close_matches(key, names, n=6, cutoff=0.7)]
    hint = f"Did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    raise ToolInputRejected(
        f"There is no time zone or city '{wanted}' here.",
        hint or "Use an IANA name such as Europe/Paris, or the zone's largest city.",
    )


def _key(name: str) -> str:
    return " ".join(name.lower().replace("_", " ").split())


@cache
def _zones_by_key() -> dict[str, str]:
    """Return IANA names by what people call them: full names first, then cities, then aliases."""
    zones = sorted(
        available_timezones() - {"Factory", "localtime"}, key=lambda n: (n.count("/"), n)
    )
    names = {_key(zone): zone for zone in zones}
    full = dict(names)
    for zone in zones:
        names.setdefault(_key(zone.rpartition("/")[2]), zone)
    for zone_key, places in ALIASES.items():
        for place in places.split("|"):
            if _key(zone_key) in full:
                names.setdefault(place, full[_key(zone_key)])
    return names


TOOLS = (
    Builtin(
        name="current_time",
        title="Current time",
        description="Tell the current date and time, now, in any time zone or city of the world.",
        category="datetime",
        input_schema=record(
            {
                "timezone": text(
                    "An IANA time zone (Europe/Paris), a city (Tokyo, New York) or an offset "
                    "(UTC+2).",
                    limit=100,
                    at_least=1,
                    default="UTC",
                    examples=["Asia/Tokyo", "New York", "UTC"],
                ),
            },
            required=(),
        ),
        output_schema=record(
            {
                "iso": produced("string", "ISO 8601 with the offset."),
                "human": produced("string", "The time as a person would write it."),
                "timezone": produced("string", "The time zone that was used."),
                "utc_offset": produced("string", "Offset from UTC, for example +09:00."),
                "date": produced("string", "YYYY-MM-DD."),
                "time": produced("string", "HH:MM:SS, 24-hour clock."),
                "weekday": produced("string", "Name of the day of the week."),
                "unix": produced("integer", "Seconds since 1970-01-01 UTC."),
            }
        ),
        ai_agent=guidance(
            "When the user asks what time, date or day it is, here or in another city, or when "
            "a task needs to know today's date.",
            "Knows the present only. A few towns are unknown: then use the nearest large city.",
            "What time is it in Tokyo?",
            "What's today's date?",
            "Which day of the week is it in New York right now?",
            "Is it already morning in Sydney?",
        ),
        run=tell_time,
        deterministic=False,
    ),
)
