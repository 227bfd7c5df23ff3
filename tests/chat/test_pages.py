"""The pages: what a person sees, what another person may not see, and every refusal in words."""

import uuid

import pytest
from django.urls import reverse

from chat.models import Conversation, Message, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from config.templatetags.figures import duration
from tests import factories
from tests.factories import make_turn

HTMX = {"HX-Request": "true"}


@pytest.fixture
def conversation(alice) -> Conversation:
    agent = factories.make_agent(alice, name="Helper", model="demo/offline")
    return factories.make_conversation(alice, agent, title="Sums")


@pytest.fixture
def turn(conversation) -> Turn:
    """A turn that is over, with a call that succeeded, one that failed, and an answer."""
    turn = make_turn(
        conversation=conversation,
        number=1,
        model="demo/offline",
        status=TurnStatus.COMPLETED,
        found={
            "query": "sums",
            "took_ms": 2,
            "tools": [
                {
                    "name": "calculator",
                    "title": "Calculator",
                    "score": 0.9,
                    "parts": {"text": 0.8},
                    "injected": True,
                    "reason": "",
                },
                {
                    "name": "dice",
                    "title": "Dice",
                    "score": 0.1,
                    "parts": {},
                    "injected": False,
                    "reason": "does not fit well enough",
                },
            ],
        },
    )
    calls = [
        {"id": "a", "name": "calculator", "arguments": '{"expression": "17*23"}'},
        {"id": "b", "name": "exa_search", "arguments": "{}"},
        {"id": "c", "name": "count_and_shout", "arguments": "{}"},
    ]
    error = {
        "code": "missing_credential",
        "message": "exa_search needs EXA_API_KEY, which is not set.",
        "hint": "Add the named variable under Credentials, then try again.",
        "extra": {"tool": "exa::search", "phase": "load", "missing": ["EXA_API_KEY"]},
    }
    log = [{"stepNumber": 1, "tool": "word_count", "status": "succeeded", "message": "Counted 3"}]
    details = {"run_id": str(uuid.uuid4()), "log": log}
    rows = [
        {"role": Role.USER, "content": "What is <b>17*23</b>?"},
        {"role": Role.ASSISTANT, "content": "", "tool_calls": calls},
        {
            "role": Role.TOOL,
            "tool_call_id": "a",
            "result": {"status": "succeeded", "output": {"result": 391}, "duration_ms": 12},
        },
        {
            "role": Role.TOOL,
            "tool_call_id": "b",
            "result": {"status": "failed", "error": error, "duration_ms": 1},
        },
        {
            "role": Role.TOOL,
            "tool_call_id": "c",
            "result": {"status": "succeeded", "output": 3, "duration_ms": 9, "details": details},
        },
        {"role": Role.ASSISTANT, "content": "It is **391**. <script>alert(1)</script>"},
    ]
    for position, row in enumerate(rows):
        turn.messages.create(position=position, **row)
    return turn


def page_of(conversation: Conversation) -> str:
    return reverse("chat:conversation_detail", args=[conversation.pk])


def test_a_conversation_shows_what_was_said_found_called_and_answered(alice, turn, client_for):
    html = client_for(alice).get(page_of(turn.conversation)).content.decode()
    assert "What is &lt;b&gt;17*23&lt;/b&gt;?" in html
    assert "It is <strong>391</strong>." in html
    assert "<script>alert" not in html
    assert "1 of 2 candidates" in html
    assert "does not fit well enough" in html
    assert duration(12) in html
    assert "exa::search" in html
    assert "EXA_API_KEY, which is not set" in html
    assert "Counted 3" in html
    assert "/runs/" in html
    assert "sse-connect" not in html, "nothing runs, so nothing is followed"


def test_a_demo_model_is_named_plainly_with_the_way_to_a_real_one(alice, conversation, client_for):
    html = client_for(alice).get(page_of(conversation)).content.decode()
    assert "Demo model: offline, no key." in html
    assert "OUTFITTER_MODEL" in html
    conversation.agent.model = "openai/real"
    conversation.agent.save()
    assert "Demo model" not in client_for(alice).get(page_of(conversation)).content.decode()


def test_a_running_turn_is_followed_and_can_be_stopped(alice, conversation, client_for):
    from django.utils import timezone

    turn = make_turn(
        conversation=conversation,
        number=1,
        model="demo/offline",
        status=TurnStatus.RUNNING,
        heartbeat_at=timezone.now(),
    )
    turn.messages.create(position=0, role=Role.USER, content="Go")
    turn.events.create(number=1, name="text.delta", data={"text": "So far"})
    html = client_for(alice).get(page_of(conversation)).content.decode()
    stream = reverse("chat:turn_stream", args=[conversation.pk, turn.pk])
    assert f'sse-connect="{stream}?after=1"' in html
    assert "So far" in html
    assert reverse("chat:turn_stop", args=[conversation.pk, turn.pk]) in html
    assert "Reload to see how far it is" in html


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("conversation_detail", "get"),
        ("conversation_rename", "post"),
        ("conversation_delete", "post"),
        ("message_send", "post"),
    ],
)
def test_nobody_but_its_owner_reaches_a_conversation(
    alice, charlie, conversation, client_for, client, name, method
):
    address = reverse(f"chat:{name}", args=[conversation.pk])
    body = {"content": "Hello", "title": "Mine now"}
    assert getattr(client_for(charlie), method)(address, body).status_code == 404
    refused = getattr(client, method)(address, body)
    assert refused.status_code == 302
    assert "/login/" in refused["Location"]
    conversation.refresh_from_db()
    assert conversation.title == "Sums"
    assert not conversation.turns.exists()


@pytest.mark.parametrize("name", ["turn_stream", "turn_stop"])
def test_nobody_but_its_owner_reaches_a_turn(charlie, turn, client_for, name):
    address = reverse(f"chat:{name}", args=[turn.conversation_id, turn.pk])
    client = client_for(charlie)
    answer = client.post(address) if name == "turn_stop" else client.get(address)
    assert answer.status_code == 404


def test_a_turn_is_not_reached_through_another_conversation(alice, turn, client_for):
    other = factories.make_conversation(alice)
    address = reverse("chat:turn_stop", args=[other.pk, turn.pk])
    assert client_for(alice).post(address).status_code == 404


def test_a_private_agent_of_another_person_cannot_be_talked_to(charlie, conversation, client_for):
    answer = client_for(charlie).post(
        reverse("chat:conversation_create"), {"agent": conversation.agent.slug, "content": "Hi"}
    )
    assert answer.status_code == 400
    assert not Conversation.objects.filter(user=charlie).exists()


def test_an_agent_that_is_no_longer_shared_takes_no_message(alice, bob, team, client_for):
    agent = factories.make_agent(alice, visibility="team", team=team)
    conversation = factories.make_conversation(bob, agent)
    agent.visibility = "private"
    agent.save()
    answer = client_for(bob).post(
        reverse("chat:message_send", args=[conversation.pk]), {"content": "Hi"}
    )
    assert answer.status_code == 404
    assert not conversation.turns.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "The message is empty."), ("  \n", "empty"), ("x" * 100_001, "at most 100,000")],
)
def test_a_message_that_cannot_be_sent_is_refused_beside_its_field(
    alice, conversation, client_for, content, words
):
    address = reverse("chat:message_send", args=[conversation.pk])
    page = client_for(alice).post(address, {"content": content})
    assert page.status_code == 400
    assert words in page.content.decode()
    fragment = client_for(alice).post(address, {"content": content}, headers=HTMX)
    assert fragment.status_code == 422
    assert fragment["HX-Retarget"] == "#composer-error"
    assert words in fragment.content.decode()
    assert "<html" not in fragment.content.decode()


def test_a_second_message_waits_while_the_agent_answers(alice, conversation, client_for):
    make_turn(conversation=conversation, number=1, model="demo/offline")
    client = client_for(alice)
    send = reverse("chat:message_send", args=[conversation.pk])
    assert client.post(send, {"content": "Too soon"})["Location"] == page_of(conversation)
    html = client.get(page_of(conversation)).content.decode()
    assert "Sent when the agent is done" in html
    assert "Too soon" in html


def test_a_form_without_a_script_leads_back_to_the_page(alice, conversation, client_for):
    answer = client_for(alice).post(
        reverse("chat:message_send", args=[conversation.pk]), {"content": "Hello"}
    )
    assert answer.status_code == 302
    assert answer["Location"] == page_of(conversation)


def test_the_lines_of_a_message_end_as_they_were_typed(alice, conversation, client_for):
    client_for(alice).post(
        reverse("chat:message_send", args=[conversation.pk]), {"content": "```python\r\n1\r\n```"}
    )
    said = Message.objects.get(turn__conversation=conversation)
    assert said.content == "```python\n1\n```"


def test_htmx_gets_the_turn_and_a_composer_that_can_stop_it(alice, client_for):
    conversation = factories.make_conversation(alice)
    answer = client_for(alice).post(
        reverse("chat:message_send", args=[conversation.pk]), {"content": "Hello"}, headers=HTMX
    )
    html = answer.content.decode()
    turn = conversation.turns.get()
    assert f'id="turn-{turn.pk}"' in html
    assert "sse-connect" in html
    assert reverse("chat:turn_stop", args=[conversation.pk, turn.pk]) in html
    assert 'id="conversation-title" hx-swap-oob="true"' in html
    assert "Hello</h1>" in html, "the first message names the conversation"


def test_a_queued_turn_that_is_stopped_is_over_at_once(alice, conversation, client_for):
    turn = make_turn(conversation=conversation, number=1, model="demo/offline")
    answer = client_for(alice).post(reverse("chat:turn_stop", args=[conversation.pk, turn.pk]))
    assert answer.status_code == 302
    turn.refresh_from_db()
    assert turn.status == TurnStatus.STOPPED
    assert turn.events.get().name == "turn.completed"


def test_a_conversation_is_started_renamed_and_deleted(alice, conversation, client_for):
    client = client_for(alice)
    started = client.post(
        reverse("chat:conversation_create"),
        {"agent": conversation.agent.slug, "content": "What is 1+1?"},
    )
    new = Conversation.objects.get(title="What is 1+1?")
    assert started["Location"] == page_of(new)
    client.post(reverse("chat:conversation_rename", args=[new.pk]), {"title": " One  and one "})
    new.refresh_from_db()
    assert new.title == "One and one"
    client.post(reverse("chat:conversation_delete", args=[new.pk]))
    assert not Conversation.objects.filter(pk=new.pk).exists()


@pytest.mark.parametrize("title", ["", "x" * 121])
def test_a_title_that_does_not_fit_is_refused(alice, conversation, client_for, title):
    address = reverse("chat:conversation_rename", args=[conversation.pk])
    answer = client_for(alice).post(address, {"title": title})
    assert answer.status_code == 400
    conversation.refresh_from_db()
    assert conversation.title == "Sums"


def test_the_list_shows_only_own_conversations_and_preselects_an_agent(
    alice, charlie, conversation, client_for
):
    factories.make_conversation(charlie, title="Secret")
    other = factories.make_agent(alice, name="Other")
    html = client_for(alice).get(reverse("chat:conversation_list") + f"?agent={other.slug}")
    text = html.content.decode()
    assert "Sums" in text
    assert "Secret" not in text
    assert f'<option value="{other.slug}" selected>' in text


def test_the_list_costs_the_same_for_one_and_for_many(
    alice, conversation, client_for, django_assert_max_num_queries
):
    client = client_for(alice)
    for number in range(30):
        factories.make_conversation(alice, conversation.agent, title=f"Talk {number}")
    with django_assert_max_num_queries(8):
        client.get(reverse("chat:conversation_list"))


def test_a_long_conversation_costs_the_same_and_leads_to_what_was_earlier(
    alice, conversation, client_for, django_assert_max_num_queries
):
    for number in range(1, 36):
        turn = make_turn(
            conversation=conversation, number=number, model="m", status=TurnStatus.COMPLETED
        )
        turn.messages.create(position=0, role=Role.USER, content=f"Question {number}.")
    client = client_for(alice)
    with django_assert_max_num_queries(14):
        html = client.get(page_of(conversation)).content.decode()
    assert "Question 35." in html
    assert "Question 5." not in html
    assert "?before=6" in html
    assert "Question 5." in client.get(page_of(conversation) + "?before=6").content.decode()


def test_a_stream_of_an_ended_session_is_refused_instead_of_led_to_a_page(client, conversation):
    turn = factories.make_turn(conversation)
    stream = reverse("chat:turn_stream", args=[conversation.pk, turn.pk])
    client.logout()
    answer = client.get(stream, headers={"Accept": "text/event-stream"})
    assert answer.status_code == 401
    assert answer.headers["HX-Session-Ended"] == "true"
    assert client.get(stream).status_code == 302, "a person who opens it signs in"
