"""A conversation in a browser: cards of calls, what the agent asks, and what nobody may lose."""

from __future__ import annotations

import base64
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from agents.models import Agent
from chat.models import Conversation
from chat.models.message import Role
from chat.models.turn import TurnStatus
from tests.factories import (
    make_agent,
    make_builtin,
    make_conversation,
    make_person,
    make_turn,
)
from tests.fakes.model_server import MODEL, Call, ModelServer, Reply, served
from tests.live import Live, Process, environment, eventually, free_port

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAF0lEQVR4nGOIS6sgCTGMahjVMHI1AABZkrkQ"
    "xh0zSAAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with served() as server:
        yield server


@pytest.fixture(scope="module")
def scripted_web(
    live_processes: Live, model: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """Run one more web process, whose models answer by a script."""
    port = free_port()
    env = {**environment(), "OPENAI_API_BASE": model.url, "OPENAI_API_KEY": "sk-scripted"}
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port)]
    log = Path(tmp_path_factory.mktemp("scripted")) / "web.log"
    web = Process("web", command, env, log)
    web.start()
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        try:
            return httpx.get(f"{url}/healthz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    try:
        eventually(ready, seconds=90, what="the web process's start")
        yield replace(live_processes, url=url)
    finally:
        web.stop()


@pytest.fixture
def live(live: Live, scripted_web: Live, model: ModelServer) -> Live:
    """Give the product whose models answer by a script, on an empty database."""
    model.requests.clear()
    model._script.clear()
    return scripted_web


@pytest.fixture
def person(live: Live) -> User:
    return make_person("ada")


@pytest.fixture
def agent(person: User) -> Agent:
    tools = [make_builtin("calculator"), make_builtin("current_time")]
    return make_agent(
        person, *tools, name="Helper", slug="helper", model=MODEL, discovery_mode="linked"
    )


@pytest.fixture
def open_chat(person: User, agent: Agent, page: Page, sign_in: SignIn) -> Callable[..., None]:
    """Return a function that opens a conversation with the agent."""

    def act(conversation: Conversation | None = None) -> None:
        sign_in("ada")
        conversation = conversation or make_conversation(person, agent)
        page.goto(f"/chat/{conversation.pk}/")

    return act


def say(page: Page, words: str) -> None:
    page.get_by_label("Message to Helper").fill(words)
    page.get_by_role("button", name="Send").click()


def over(page: Page) -> None:
    expect(page.get_by_role("button", name="Send")).to_be_enabled(timeout=30_000)


SUM = Call("calculator", {"expression": "17 * 23"})


def test_consecutive_calls_fold_into_a_line_that_names_them(
    open_chat: Callable[..., None], model: ModelServer, page: Page
) -> None:
    model.calls(SUM, Call("current_time", {"timezone": "Asia/Tokyo"}), text="Let me see.")
    model.calls(Call("calculator", {"expression": "1 / 0"}))
    model.enqueue("It is **391**.")
    open_chat()
    say(page, "How much is it, and when?")
    over(page)

    group = page.locator(".tool-group")
    head = group.locator("> summary")
    for reloaded in (False, True):
        if reloaded:
            page.reload()
        expect(head).to_contain_text("Used calculator, current_time")
        expect(head).to_contain_text("3 calls")
        expect(head).to_contain_text("calculator failed")
        expect(group).not_to_have_attribute("open", "")
    head.click()
    expect(group.locator(".tool-card").first).to_contain_text("17 * 23")
    expect(group.locator(".tool-card").first).to_contain_text("391")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_the_time_of_a_running_call_ticks_and_the_agent_can_be_stopped_by_key(
    open_chat: Callable[..., None], agent: Agent, model: ModelServer, page: Page
) -> None:
    held = threading.Event()
    model.enqueue(Reply("I think about it for a while.", hold=held))
    open_chat()
    say(page, "Think")
    expect(page.locator(".turn-status")).to_contain_text("is at work")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("You stopped the agent here.")).to_be_visible(timeout=15_000)
    held.set()
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    expect(page.get_by_label("Message to Helper")).to_be_focused()


def test_an_ended_session_keeps_the_message(
    open_chat: Callable[..., None], model: ModelServer, page: Page
) -> None:
    open_chat()
    page.context.clear_cookies(name="sessionid")
    say(page, "Do not lose this")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("Your session has ended")
    expect(page.get_by_label("Message to Helper")).to_have_value("Do not lose this")

    notice.get_by_role("link", name="Sign in").click()
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("secret-ada")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Message to Helper")).to_have_value("Do not lose this")
    model.enqueue("I have it.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#thread")).to_contain_text("I have it.")
    page.reload()
    expect(page.get_by_label("Message to Helper")).to_have_value("")


def test_a_reader_who_looks_back_is_not_carried_away(
    open_chat: Callable[..., None], model: ModelServer, page: Page
) -> None:
    held = threading.Event()
    model.enqueue("\n\n".join(f"Line {number}" for number in range(80)))
    open_chat()
    say(page, "Long")
    over(page)
    model.enqueue(Reply("\n\n".join(f"More {number}" for number in range(80)), hold=held))
    say(page, "Longer")
    expect(page.locator(".turn-status").last).to_contain_text("is at work")
    page.mouse.wheel(0, -3000)
    page.wait_for_function("scrollY < 400")
    held.set()
    over(page)
    assert page.evaluate("scrollY") < 400
    page.get_by_role("button", name="Jump to the latest").click()
    expect(page.get_by_text("More 79", exact=True)).to_be_in_viewport()
    expect(page.get_by_role("button", name="Jump to the latest")).to_be_hidden()


def test_an_approval_is_given_with_other_arguments(
    open_chat: Callable[..., None], agent: Agent, model: ModelServer, page: Page, shoot: Shoot
) -> None:
    Agent.objects.filter(pk=agent.pk).update(approval_default="ask")
    model.calls(SUM, text="I will calculate it.")
    model.enqueue("It is 400.")
    open_chat()
    say(page, "Calculate")
    ask = page.get_by_role("region", name=re.compile("May it use calculator"))
    expect(ask).to_be_visible(timeout=20_000)
    expect(page).to_have_title(re.compile("Waiting for you"))
    expect(page.locator("#composer-waiting")).to_contain_text("approve or deny calculator")
    expect(page.locator(".turn-status .spinner")).to_have_count(0)
    shoot(page, "chat-approval")

    conversation = page.url
    page.goto("/chat/")
    expect(page.locator("main .list > li").first).to_contain_text("Waiting for you")
    page.goto(conversation)
    field = ask.get_by_label("Expression")
    expect(field).to_have_value("17 * 23")
    field.fill("")
    ask.get_by_role("button", name="Approve").click()
    expect(ask.get_by_role("alert")).to_be_visible()
    field.fill("20 * 20")
    ask.get_by_role("button", name="Approve").click()

    decided = page.locator(".ask-decided")
    expect(decided).to_contain_text("You approved calculator with other arguments")
    expect(page.locator("#thread")).to_contain_text("It is 400.")
    expect(page.locator("#composer-waiting")).to_be_empty()
    page.reload()
    expect(decided).to_contain_text(re.compile(r"with other arguments at \d\d:\d\d"))
    expect(page.locator(".tool-card")).to_contain_text("400")


def test_a_question_is_answered_with_an_option(
    open_chat: Callable[..., None], model: ModelServer, page: Page, shoot: Shoot
) -> None:
    asked = {"question": "Which city do you mean?", "options": ["Paris, France", "Paris, Texas"]}
    model.calls(Call("ask_user", asked))
    model.enqueue("Then it is Texas.")
    open_chat()
    say(page, "The weather in Paris")
    card = page.locator("[data-ask]")
    expect(card).to_contain_text("Which city do you mean?", timeout=20_000)
    shoot(page, "chat-question")
    card.get_by_role("button", name="Paris, Texas").click()
    expect(page.locator(".ask-decided")).to_contain_text("You answered")
    expect(page.locator(".ask-decided")).to_contain_text("Paris, Texas")
    expect(page.locator(".tool-card")).to_have_count(0)
    expect(page.locator("#thread")).to_contain_text("Then it is Texas.")


def _record(output: Any = None, **more: Any) -> dict[str, Any]:
    return {"status": "succeeded", "output": output, "duration_ms": 420, **more}


def _shown_calls(conversation: Conversation) -> None:
    """Make a turn with a call of every look."""
    rows = [
        {"city": city, "temperature": 3.5 * place, "sky": "cloudy", "wind": {"speed": place}}
        for place, city in enumerate(("Oslo", "Bergen", "Tromsø", "Ålesund"))
    ]
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PIXEL).decode()}
    log = [
        {"stepNumber": 1, "tool": "trim_text", "status": "succeeded", "message": "Trimmed"},
        {"stepNumber": 2, "tool": "count_text", "status": "failed", "message": "No text"},
    ]
    called = [
        {"number": 1, "tool": "calculator", "status": "succeeded", "message": "391"},
        {"number": 2, "tool": "dice", "status": "failed", "message": "No such die"},
    ]
    error = {
        "code": "upstream_down",
        "message": "The weather service does not answer.",
        "hint": "Try again in some minutes.",
        "extra": {"tool": "weather", "phase": "execute"},
    }
    code = "rows = []\nfor n in range(3):\n    rows.append(await tool_call('dice', n=n))\nrows"
    told = {"result": [1, 2, 3], "printed": "one\ntwo", "calls": 2}
    calls: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("weather_of_cities", {"cities": ["Oslo", "Bergen"], "days": 3}, _record(rows)),
        ("draw", {"prompt": "a red square"}, _record("A square.", media=[picture])),
        ("read_page", {"url": "https://example.org/a"}, _record("A long text. " * 90)),
        ("weekly_report", {}, _record({"ok": True}, details={"log": log})),
        ("run_code", {"code": code}, _record(told, details={"calls": called})),
        ("weather", {"city": "Oslo"}, {"status": "failed", "error": error, "duration_ms": 5000}),
    ]
    turn = make_turn(
        conversation,
        model=MODEL,
        status=TurnStatus.COMPLETED,
        usage={"input_tokens": 12_345, "output_tokens": 678},
        cost="0.0123",
    )
    make = turn.messages.create
    make(position=0, role=Role.USER, content="Show me all that you can do, at once.")
    make(
        position=1,
        role=Role.ASSISTANT,
        content="I will look at the weather, and draw it.",
        tool_calls=[
            {"id": str(place), "name": name, "arguments": json.dumps(given)}
            for place, (name, given, _) in enumerate(calls)
        ],
    )
    for place, (_, _, record) in enumerate(calls):
        make(position=2 + place, role=Role.TOOL, tool_call_id=str(place), result=record)
    make(position=9, role=Role.ASSISTANT, content="It is **cold**, and the square is red.")


def test_every_kind_of_result_is_shown_as_what_it_is(
    open_chat: Callable[..., None], person: User, agent: Agent, page: Page, shoot: Shoot
) -> None:
    conversation = make_conversation(person, agent, title="All that it can do")
    _shown_calls(conversation)
    open_chat(conversation)
    shoot(page, "chat-folded")
    page.locator(".tool-group > summary").click()
    shoot(page, "chat-group")
    cards = page.locator(".tool-card")
    expect(cards).to_have_count(6)
    for place in range(5):
        cards.nth(place).locator("> summary").click()
    table = cards.nth(0).locator(".json-scroll table")
    expect(table.locator("thead")).to_contain_text("temperature")
    expect(table.locator("tbody tr")).to_have_count(4)
    cards.nth(0).get_by_text("Show as tree").click()
    expect(cards.nth(0).locator(".json-as-tree")).to_contain_text("4 items")
    expect(cards.nth(1).locator("figure img")).to_be_visible()
    long = cards.nth(2).locator(".json-long")
    expect(long).to_contain_text("show all 1,170 characters")
    expect(cards.nth(3).locator(".call-steps > li.is-failed")).to_contain_text("No text")
    expect(cards.nth(4)).to_contain_text("tool_call('dice'")
    expect(cards.nth(4)).to_contain_text(re.compile("Printed\\s+one\\s+two"))
    expect(cards.nth(5)).to_contain_text("Try again in some minutes.")
    expect(page.locator(".turn-usage")).to_contain_text("$0.012")
    shoot(page, "chat-cards")
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 375, "height": 812})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375, width
