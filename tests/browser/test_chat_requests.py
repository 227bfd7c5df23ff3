"""What a turn asks of a person, in a browser: each kind, twice, without JavaScript, by others."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from agents.models import Agent
from chat.events import event_append
from chat.models import Conversation, ConversationSecret, InputRequest, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from tests.browser.scripted import agent, live, model, open_chat, over, person, say
from tests.factories import make_agent, make_conversation, make_package, make_person, make_tool
from tests.factories import make_turn as next_turn
from tests.fakes.model_server import MODEL, Call, ModelServer

__all__ = ["agent", "live", "model", "open_chat", "person"]

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]
SUM = Call("calculator", {"expression": "17 * 23"})
SECRET = "canary-secret-5"


@pytest.fixture
def asking(agent: Agent) -> Agent:
    Agent.objects.filter(pk=agent.pk).update(approval_default="ask")
    return agent


def asked(page: Page, model: ModelServer, open_chat: Callable[..., None]) -> InputRequest:
    """Have the agent ask for an approval; return its request."""
    model.calls(SUM)
    open_chat()
    say(page, "Calculate")
    expect(page.locator("[data-ask]")).to_be_visible()
    return InputRequest.objects.get()


def test_a_missing_key_is_set_in_the_card_and_stands_nowhere(
    open_chat: Callable[..., None], person: User, model: ModelServer, page: Page, shoot: Shoot
) -> None:
    package = make_package(env=[{"name": "WEATHER_KEY"}])
    tool = make_tool(package=package, wire_name="weather")
    helper = make_agent(person, tool, name="Helper", model=MODEL, discovery_mode="linked")
    conversation = make_conversation(person, helper)
    model.calls(Call("weather", {"text": "Oslo"}))
    model.enqueue("It went on.")
    open_chat(conversation)
    say(page, "The weather")
    card = page.get_by_role("region", name=re.compile("weather needs WEATHER_KEY"))
    expect(card).to_be_visible()
    expect(card.get_by_role("radio", name="The agent Helper")).to_be_visible()
    shoot(page, "chat-credential")
    card.get_by_label("WEATHER_KEY", exact=True).fill(SECRET)
    card.get_by_role("button", name="Set").click()
    expect(page.locator(".ask-decided")).to_contain_text("You set WEATHER_KEY")
    expect(page.locator("#thread")).to_contain_text("It went on.", timeout=60_000)
    assert ConversationSecret.objects.get().name == "WEATHER_KEY"
    assert SECRET not in page.content()
    assert SECRET not in page.evaluate("JSON.stringify(sessionStorage)")


def test_a_second_answer_shows_what_was_decided(
    open_chat: Callable[..., None], asking: Agent, model: ModelServer, page: Page
) -> None:
    asked(page, model, open_chat)
    other = page.context.new_page()
    other.goto(page.url)
    # the first page hears of nothing any more, as one that slept
    page.evaluate(
        "document.querySelector('[sse-connect]')['htmx-internal-data'].sseEventSource.close()"
    )
    model.enqueue("As you wish.")
    other.locator("[data-ask]").get_by_role("button", name="Deny").click()
    expect(other.locator(".ask-decided")).to_contain_text("You denied calculator")
    address = page.locator("[data-ask] form").get_attribute("action") or ""
    page.locator("[data-ask]").get_by_role("button", name="Approve").click()
    expect(page.locator(".ask-decided")).to_contain_text("You denied calculator")
    other.goto(address)
    expect(other.locator("main")).to_contain_text("You denied calculator")


def test_a_request_is_answered_without_javascript(
    open_chat: Callable[..., None],
    asking: Agent,
    model: ModelServer,
    page: Page,
    chromium: Browser,
    live: object,
) -> None:
    request = asked(page, model, open_chat)
    plain = chromium.new_context(
        base_url=live.url,  # type: ignore[attr-defined]
        java_script_enabled=False,
        storage_state=page.context.storage_state(),
    )
    bare = plain.new_page()
    bare.goto(page.url)
    expect(bare.get_by_role("link", name="Answer on a page of its own")).to_be_visible()
    bare.get_by_role("link", name="Answer on a page of its own").click()
    expect(bare.get_by_role("heading", name="Helper waits for you")).to_be_visible()
    bare.get_by_label("Expression").fill("6 * 7")
    model.enqueue("It is 42.")
    bare.get_by_role("button", name="Approve").click()
    expect(bare).to_have_url(re.compile(f"/chat/{request.turn.conversation_id}/"))
    over(page)
    bare.reload()
    expect(bare.locator("#thread")).to_contain_text("It is 42.")
    expect(bare.locator(".ask-decided")).to_contain_text("with other arguments")
    plain.close()


def test_nobody_else_sees_or_answers_a_request(
    open_chat: Callable[..., None],
    asking: Agent,
    model: ModelServer,
    page: Page,
    sign_in: SignIn,
) -> None:
    request = asked(page, model, open_chat)
    make_person("eve")
    page.context.clear_cookies()
    sign_in("eve")
    answer = page.goto(f"/chat/requests/{request.pk}/")
    assert answer is not None
    assert answer.status == 404
    expect(page.locator("body")).not_to_contain_text("17 * 23")
    request.refresh_from_db()
    assert request.answer is None


def test_what_was_typed_into_a_request_survives_an_ended_session(
    open_chat: Callable[..., None], asking: Agent, model: ModelServer, page: Page
) -> None:
    asked(page, model, open_chat)
    card = page.locator("[data-ask]")
    card.get_by_label("Expression").fill("3 * 3")
    card.get_by_text("Say why, if you deny").click()
    card.get_by_label("Note for the agent").fill("Not today")
    page.context.clear_cookies(name="sessionid")
    card.get_by_role("button", name="Deny").click()
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("What you typed is kept")
    notice.get_by_role("link", name="Sign in").click()
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("secret-ada")
    page.get_by_role("button", name="Sign in").click()
    expect(card.get_by_label("Expression")).to_have_value("3 * 3")
    expect(card.get_by_label("Note for the agent")).to_have_value("Not today")
    model.enqueue("I leave it.")
    card.get_by_role("button", name="Deny").click()
    expect(page.locator(".ask-decided")).to_contain_text("Not today")


def test_a_stream_of_an_ended_session_says_so_and_is_not_opened_again(
    open_chat: Callable[..., None], asking: Agent, model: ModelServer, page: Page
) -> None:
    asked(page, model, open_chat)
    opened: list[str] = []
    page.on("request", lambda r: opened.append(r.url) if "/stream/" in r.url else None)
    page.context.clear_cookies(name="sessionid")
    # what a proxy does that breaks off a connection: the browser opens the stream anew
    page.evaluate(
        """() => {
          const stream = document.querySelector("[sse-connect]");
          const copy = stream.cloneNode(true);
          stream.replaceWith(copy);
          htmx.process(copy);
        }"""
    )
    expect(page.get_by_role("alert")).to_contain_text("Your session has ended")
    expect(page.locator("[sse-connect]")).to_have_count(0)
    tries = len(opened)
    page.wait_for_timeout(3_000)
    assert len(opened) <= tries + 1


def waiting_for_agent(person: User, agent: Agent, other: Conversation) -> Turn:
    """Make a turn that waits for another agent, which waits for the person."""
    turn = next_turn(make_conversation(person, agent), status=TurnStatus.WAITING, model=MODEL)
    turn.messages.create(position=0, role=Role.USER, content="Ask the desk")
    told = {"agent": "Travel desk", "conversation": str(other.pk), "turn": str(uuid4())}
    request = InputRequest.objects.create(
        turn=turn, kind="agent", call_id="c1", tool_name="ask_travel_desk", asked=told
    )
    call = {"id": "c1", "name": "ask_travel_desk", "arguments": {"task": "Book it"}}
    event_append(turn.pk, "tool.call", call)
    event_append(
        turn.pk,
        "input.required",
        {
            "request": str(request.pk),
            "id": "c1",
            "kind": "agent",
            "tool": "ask_travel_desk",
            **told,
        },
    )
    event_append(turn.pk, "turn.waiting", {"requests": [str(request.pk)]})
    return turn


def test_a_turn_that_waits_for_another_agent_leads_to_its_conversation(
    open_chat: Callable[..., None], person: User, agent: Agent, page: Page, shoot: Shoot
) -> None:
    other = make_conversation(person, agent, title="At the desk")
    turn = waiting_for_agent(person, agent, other)
    open_chat(turn.conversation)
    card = page.get_by_role("region", name="Travel desk waits for you")
    expect(card).to_be_visible()
    expect(page.locator("#composer-waiting")).to_contain_text("Travel desk needs an answer")
    shoot(page, "chat-agent-waits")
    card.get_by_role("link", name="Answer it there").click()
    expect(page.get_by_role("heading", name="At the desk")).to_be_visible()
