"""A program in the chat: the code, its calls as they happen, its result, and its own page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from agents.models import Agent
from agents.services import agent_create, tool_link
from registry.importing.builtins import builtins_sync
from registry.models import Tool
from tests.factories import make_person

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

PROGRAM = """Run this program:
```python
words = ["hello", "brave new", "world"]
shouted = await asyncio.gather(
    *(tool_call("change_case", text=word, case="upper") for word in words)
)
print("shouted", len(shouted), "texts")
try:
    await tool_call("calculator", expression="1 / 0")
except ToolCallError as error:
    print(error.message)
{word: answer["text"] for word, answer in zip(words, shouted)}
```
"""


@pytest.fixture
def equipped(live: object) -> Agent:
    """Give the administrator an agent with two tools that may run code."""
    admin = make_person("admin", is_superuser=True, is_staff=True)
    builtins_sync()
    agent = agent_create(admin, name="Demo", code_execution=True)
    for tool in Tool.objects.filter(wire_name__in=["change_case", "calculator"]):
        tool_link(agent, tool.pk)
    return agent


def test_a_program_shows_its_code_its_calls_and_its_result(
    equipped: Agent, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/agents/demo/edit/")
    expect(page.get_by_label("Let it run code")).to_be_checked()
    shoot(page, "agent-edit-code")
    page.goto("/agents/demo/")
    page.get_by_role("main").get_by_role("button", name="Chat").click()
    page.wait_for_url("**/chat/*/")
    page.get_by_label("Message to Demo").fill(PROGRAM)
    page.get_by_role("button", name="Send").click()

    card = page.locator(".tool-card").last
    expect(card).to_contain_text("Succeeded", timeout=60_000)
    expect(page.locator(".spinner")).to_have_count(0, timeout=60_000)
    if card.get_attribute("open") is None:
        card.locator("summary").first.click()
    expect(card.locator("ol > li")).to_have_count(4)
    expect(card).to_contain_text("asyncio.gather")
    expect(card).to_contain_text("BRAVE NEW")
    shoot(page, "chat-code")

    card.get_by_role("link", name="See every call").click()
    expect(page.get_by_role("heading", name="Calls it made (4)")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("shouted 3 texts")
    inner = page.locator("#inside .tool-card")
    expect(inner).to_have_count(4)
    inner.first.locator("summary").click()
    inner.last.locator("summary").click()
    shoot(page, "invocation")
    inner.first.get_by_role("link", name="Its own page").click()
    expect(page.get_by_role("link", name="The program that made this call")).to_be_visible()
