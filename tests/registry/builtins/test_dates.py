"""Calendar arithmetic."""

import pytest

from config.lib.types import JsonObject
from registry.errors import ToolInputRejected
from tests.registry.builtins.calling import run


@pytest.mark.parametrize(
    ("written", "style", "expected"),
    [
        ("24 December 2026", "iso", "2026-12-24"),
        ("March 31, 2026", "european", "31.03.2026"),
        ("2026-03-31 10:00 XYZT", "iso", "2026-03-31"),
        ("2026-03-31T23:00:00-11:00", "iso", "2026-03-31"),
        ("0099-02-03", "long", "Tuesday, 3 February 0099"),
        ("0099-02-03", "american", "02/03/0099"),
        ("2026-01-01", "week", "2026-W01-4"),
        ("2026-12-31", "day_of_year", "2026-365"),
    ],
)
def test_a_date_is_written_in_the_wanted_style(written: str, style: str, expected: str) -> None:
    assert run("format_date", {"date": written, "style": style})["text"] == expected


@pytest.mark.parametrize(
    "written", ["10:30", "Monday", "March", "2026", "March 2026", "1 May", "29 February", "soon"]
)
def test_a_date_without_its_day_month_or_year_is_refused(written: str) -> None:
    with pytest.raises(ToolInputRejected) as refusal:
        run("format_date", {"date": written})
    assert "YYYY-MM-DD" in refusal.value.hint or "2026-12-24" in refusal.value.hint


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2026-01-01", "2027-02-03", "1 year, 1 month, 2 days"),
        ("2027-02-03", "2026-01-01", "1 year, 1 month, 2 days earlier"),
        ("2026-01-01", "2026-01-01", "the same day"),
    ],
)
def test_the_gap_is_told_in_words(start: str, end: str, words: str) -> None:
    assert run("date_difference", {"start": start, "end": end})["words"] == words


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ({"months": 1}, "2026-02-28"),
        ({"business_days": -10}, "2026-01-19"),
        ({"business_days": 1}, "2026-02-02"),
    ],
)
def test_time_is_added(added: JsonObject, expected: str) -> None:
    assert run("date_add", {"date": "2026-01-31", **added})["date"] == expected


def test_a_result_outside_of_the_calendar_is_refused() -> None:
    with pytest.raises(ToolInputRejected, match="9999"):
        run("date_add", {"date": "2026-01-31", "years": 9_999})
