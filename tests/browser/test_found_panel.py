"""Why these tools, in a browser: the bars of the budget and of the scores."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from chat.models.turn import TurnStatus
from tests.factories import make_agent, make_conversation, make_person, make_turn

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


def entry(name: str, score: float, reason: str = "", cause: str = "", **fields: object) -> dict:
    parts = {"text": score * 0.8, "coverage": score * 0.15, "clause": 0.05, "factor": 1.02}
    return {
        "name": name,
        "title": name,
        "score": score,
        "parts": parts,
        "injected": not reason,
        "reason": reason,
        "cause": cause,
        "tokens": 300,
        "why": "says weather, forecast",
        "duplicates": [],
        **fields,
    }


FOUND = {
    "query": "Will it rain in Oslo tomorrow, and what does the ferry cost?",
    "mode": "words",
    "searched": True,
    "took_ms": 3.2,
    "tools": [
        entry("acme_weather_forecast-getDailyForecast", 0.82),
        entry("ferry_prices", 0.61, duplicates=["other_ferry_prices"]),
        entry("timetable_of_all_ferries", 0.52, "no room in the budget for schemas", "budget"),
        entry("rain_radar", 0.44, "its service is down", "health"),
        entry("umbrella_shop", 0.12, "does not fit well enough", "score"),
    ],
    "visible": [
        {"name": "calculator", "origin": "linked", "tokens": 1900},
        {"name": "current_time", "origin": "linked", "tokens": 1200},
        {"name": "convert_currency", "origin": "kept", "tokens": 900},
        {"name": "acme_weather_forecast-getDailyForecast", "origin": "found", "tokens": 1100},
        {"name": "ferry_prices", "origin": "found", "tokens": 700},
    ],
    "tokens": {
        **{"spent": 6310, "budget": 8000, "saved": 4210},
        **{"fixed": 510, "linked": 3100, "kept": 900, "found": 1800},
    },
    "deferred": [{"name": "everything_about_pdf", "tokens": 2400}],
    "evicted": [{"name": "geocode_address", "tokens": 640}],
}


def test_the_panel_shows_why_these_tools_and_what_they_take(
    live: object, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    person = make_person("admin", is_superuser=True, is_staff=True)
    conversation = make_conversation(person, make_agent(person, name="Travel desk"), title="Oslo")
    turn = make_turn(conversation, status=TurnStatus.COMPLETED, model="demo/offline", found=FOUND)
    turn.messages.create(position=0, role="user", content="Will it rain in Oslo tomorrow?")
    turn.messages.create(position=1, role="assistant", content="It will.")
    sign_in("admin")
    page.goto(f"/chat/{conversation.pk}/")
    panel = page.locator(".tools-found").first
    expect(panel.get_by_role("img", name="6,310 of 8,000 tokens for schemas")).to_be_visible()
    panel.locator("summary").first.click()
    expect(panel).to_contain_text("4,210 are saved")
    expect(panel).to_contain_text("no room in the budget")
    for words in ("Kept from before", "Linked, not told of", "Gave way"):
        expect(panel).to_contain_text(words)
    shoot(page, "found-panel")
    page.set_viewport_size({"width": 375, "height": 812})
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 375
