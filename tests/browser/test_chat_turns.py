"""What can be done with a turn, in a browser: its menu, the queue, an answer that grows."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.scripted import agent, live, model, open_chat, over, person, say
from tests.fakes.model_server import Call, ModelServer, Reply

__all__ = ["agent", "live", "model", "open_chat", "person"]

SUM = Call("calculator", {"expression": "17 * 23"})

LONG = (
    "# Report\n\nFirst *words*.\n\n- one\n- two\n\n"
    "```py\nx = 1\n\ny = 2\n```\n\nThe **end** of it.\n"
)


def test_the_menu_of_a_turn_leads_to_what_the_model_saw_and_to_a_sequence(
    open_chat: Callable[..., None], model: ModelServer, page: Page
) -> None:
    model.calls(SUM)
    model.enqueue("It is 391.")
    open_chat()
    say(page, "Calculate")
    over(page)
    more = page.locator(".turn-foot summary")
    more.click()
    page.get_by_role("link", name="What the model saw").click()
    expect(page.get_by_role("heading", name="What the model saw")).to_be_visible()
    expect(page.get_by_role("heading", name="Request 2")).to_be_visible()
    page.go_back()
    more.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="What the model saw")).to_be_focused()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()
    more.click()
    page.get_by_role("button", name="Make a sequence of this").click()
    expect(page).to_have_url(re.compile(r"/sequences/[0-9a-f-]+/edit"))
    expect(page.get_by_text("This draft is yours alone")).to_be_visible()


def test_messages_in_the_queue_stay_in_sight_and_are_held_after_a_stop(
    open_chat: Callable[..., None], model: ModelServer, page: Page
) -> None:
    held = threading.Event()
    model.enqueue("\n\n".join(f"Line {number}" for number in range(60)))
    model.enqueue(Reply("I think about it for a while.", hold=held))
    open_chat()
    say(page, "Long")
    over(page)
    say(page, "Think")
    box = page.get_by_label("Message to Helper")
    for words in ("And then this", "And that"):
        box.fill(words)
        page.keyboard.press("Enter")
        expect(page.locator("#queue")).to_contain_text(words)
        expect(box).to_have_value("")
    page.mouse.wheel(0, -3000)
    expect(page.locator("#queue")).to_be_in_viewport(ratio=1)
    box.fill("half a thought")
    page.get_by_role("button", name="Remove “And that”").click()
    expect(page.locator("#queue")).not_to_contain_text("And that")
    expect(box).to_have_value("half a thought")
    page.get_by_role("button", name="Stop").click()
    held.set()
    expect(page.locator("#queue")).to_contain_text("Held")
    model.enqueue("I did this.")
    page.get_by_role("button", name="Send now").click()
    expect(page.locator("#thread")).to_contain_text("I did this.")
    expect(box).to_have_value("half a thought")


def test_an_answer_that_grew_looks_as_it_does_after_a_reload_in_every_tab(
    open_chat: Callable[..., None], model: ModelServer, page: Page
) -> None:
    held = threading.Event()
    open_chat()
    model.enqueue(Reply(LONG * 3, hold=held, pause=0.01))
    say(page, "Report")
    other = page.context.new_page()
    expect(page.locator(".turn-status")).to_contain_text("is at work")
    other.goto(page.url)
    held.set()
    expect(page.locator(".words-open")).to_have_count(1)
    expect(page.locator(".bubble h1").first).to_be_visible()
    other.reload()  # in the middle of it
    over(page)
    over(other)
    said = page.locator(".msg[data-said] .bubble")
    live, second = said.inner_html(), other.locator(".msg[data-said] .bubble").inner_html()
    page.reload()
    assert said.inner_html() == live == second
    expect(said.locator("pre")).to_have_count(3)
