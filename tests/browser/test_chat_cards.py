"""A conversation in a browser: cards of calls, what the agent asks, and what nobody may lose."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from agents.models import Agent
from tests.browser.scripted import agent, live, model, open_chat, over, person, say
from tests.browser.talking import turn_with_every_call
from tests.factories import make_conversation
from tests.fakes.model_server import Call, ModelServer, Reply
from tests.live import eventually

__all__ = ["agent", "live", "model", "open_chat", "person"]

Shoot = Callable[[Page, str], None]

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
    expect(page.get_by_text("You stopped the agent here.")).to_be_visible()
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
    # polled from here: in the page the policy forbids what would poll there
    eventually(lambda: page.evaluate("scrollY") < 400, what="the reader's scrolling")
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
    expect(ask).to_be_visible()
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
    expect(card).to_contain_text("Which city do you mean?")
    shoot(page, "chat-question")
    card.get_by_role("button", name="Paris, Texas").click()
    expect(page.locator(".ask-decided")).to_contain_text("You answered")
    expect(page.locator(".ask-decided")).to_contain_text("Paris, Texas")
    expect(page.locator(".tool-card")).to_have_count(0)
    expect(page.locator("#thread")).to_contain_text("Then it is Texas.")


def test_every_kind_of_result_is_shown_as_what_it_is(
    open_chat: Callable[..., None], person: User, agent: Agent, page: Page, shoot: Shoot
) -> None:
    conversation = make_conversation(person, agent, title="All that it can do")
    turn_with_every_call(conversation)
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
