"""Messages that are sent while the agent is not done: each goes out once, when its turn comes."""

import threading

import pytest
from django.db import connections
from django.urls import reverse
from django.utils import timezone

from chat import queueing, services
from chat.endings import turns_close_stale
from chat.errors import QueueFull
from chat.models import Conversation, ConversationSecret, QueuedMessage, Turn
from chat.models.message import Role
from chat.models.turn import OPEN, TurnStatus
from chat.rendering import ended_html
from chat.turns import turn_finish
from config.lib.errors import InvalidInput, NotFound
from tests import factories
from tests.factories import make_turn
from tests.fakes.model_server import MODEL, Reply
from tests.live import eventually

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def conversation(alice) -> Conversation:
    return factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))


@pytest.fixture
def running(conversation) -> Turn:
    """A turn that another process has."""
    turn = make_turn(
        conversation, model=MODEL, status=TurnStatus.RUNNING, heartbeat_at=timezone.now()
    )
    turn.messages.create(position=0, role=Role.USER, content="First")
    return turn


def said_in(conversation: Conversation) -> list[str]:
    turns = conversation.turns.order_by("number")
    return [turn.messages.get(role=Role.USER).content for turn in turns]


def over(conversation: Conversation, count: int) -> None:
    def look() -> bool:
        turns = conversation.turns
        return turns.count() == count and not turns.filter(status__in=OPEN).exists()

    eventually(look, what=f"the end of {count} turns")


def test_what_is_queued_is_sent_in_order_when_the_answer_is_there(conversation, model):
    hold = threading.Event()
    for reply in (Reply("One.", hold=hold), Reply("Two."), Reply("Three.")):
        model.enqueue(reply)
    services.message_send(conversation, content="First")
    for words in ("Second", "Third"):
        waiting = services.message_send_or_queue(conversation, content=words)
        assert isinstance(waiting, QueuedMessage)
    assert queueing.place_of(waiting) == 2
    hold.set()
    over(conversation, 3)
    assert said_in(conversation) == ["First", "Second", "Third"]
    parents = conversation.turns.order_by("number").values_list("parent__number", flat=True)
    assert list(parents) == [None, 1, 2]
    assert not conversation.queued.exists()
    told = [message["content"] for message in model.requests[-1]["messages"][1:]]
    assert told == ["First", "One.", "Second", "Two.", "Third"]


def test_two_that_finish_a_turn_at_once_send_the_next_message_once(conversation, running, model):
    model.enqueue("Two.")
    services.message_send_or_queue(conversation, content="Second")
    gate, ended = threading.Barrier(4), []

    def finish() -> None:
        try:
            gate.wait()
            ended.append(turn_finish(running.pk, TurnStatus.COMPLETED))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=finish) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(event is not None for event in ended) == 1
    over(conversation, 2)
    assert said_in(conversation) == ["First", "Second"]


def test_a_message_that_comes_as_the_turn_ends_is_never_left_behind(conversation, model):
    for number in range(8):
        turn = make_turn(conversation, model=MODEL, status=TurnStatus.RUNNING)
        Turn.objects.filter(pk=turn.pk).update(heartbeat_at=timezone.now())
        turn.messages.create(position=0, role=Role.USER, content="Go")
        model.enqueue("Yes.")
        gate = threading.Barrier(2)

        def finish(turn: Turn = turn, gate: threading.Barrier = gate) -> None:
            try:
                gate.wait()
                turn_finish(turn.pk, TurnStatus.COMPLETED)
            finally:
                connections.close_all()

        thread = threading.Thread(target=finish)
        thread.start()
        gate.wait()
        services.message_send_or_queue(conversation, content="On")
        thread.join()
        over(conversation, 2 * (number + 1))
        assert not conversation.queued.exists()
        conversation.refresh_from_db()


@pytest.mark.parametrize("status", [TurnStatus.FAILED, TurnStatus.STOPPED])
def test_after_a_failure_or_a_stop_the_queue_is_held_until_it_is_sent(
    conversation, running, model, status
):
    for words in ("Second", "Third"):
        services.message_send_or_queue(conversation, content=words)
    turn_finish(running.pk, status)
    assert conversation.queued.count() == 2
    assert not conversation.turns.filter(status__in=OPEN).exists()
    model.enqueue("Two.")
    model.enqueue("Three.")
    services.queue_send(conversation)
    over(conversation, 3)
    assert said_in(conversation) == ["First", "Second", "Third"]
    with pytest.raises(NotFound, match="No message waits"):
        services.queue_send(conversation)


def test_a_stop_while_messages_wait_holds_them(conversation, model):
    hold = threading.Event()
    model.enqueue(Reply("One.", hold=hold))
    turn = services.message_send(conversation, content="First")
    services.message_send_or_queue(conversation, content="Second")
    services.turn_stop(turn)
    over(conversation, 1)
    hold.set()
    assert [message.content for message in conversation.queued.all()] == ["Second"]


def test_an_answer_that_was_complete_just_before_the_stop_holds_the_queue_too(
    conversation, running
):
    services.message_send_or_queue(conversation, content="Second")
    Turn.objects.filter(pk=running.pk).update(stop_requested_at=timezone.now())
    turn_finish(running.pk, TurnStatus.COMPLETED)
    assert conversation.queued.count() == 1
    assert conversation.turns.count() == 1


def test_a_crashed_turn_holds_the_queue(conversation, running):
    services.message_send_or_queue(conversation, content="Second")
    Turn.objects.filter(pk=running.pk).update(heartbeat_at="2020-01-01T00:00Z")
    turns_close_stale(conversation.pk)
    running.refresh_from_db()
    assert running.status == TurnStatus.FAILED
    assert conversation.queued.count() == 1


def test_an_agent_that_is_shared_no_more_holds_the_queue(alice, bob, model):
    team = factories.make_team("", alice, bob)
    agent = factories.make_agent(alice, model=MODEL, visibility="team", team=team)
    conversation = factories.make_conversation(bob, agent)
    turn = make_turn(conversation, status=TurnStatus.RUNNING, heartbeat_at=timezone.now())
    services.message_send_or_queue(conversation, content="Second")
    team.user_set.remove(bob)
    assert turn_finish(turn.pk, TurnStatus.COMPLETED) is not None
    assert conversation.queued.count() == 1


def test_a_turn_that_waits_for_a_person_queues_too_and_at_most_twenty(conversation, running):
    Turn.objects.filter(pk=running.pk).update(status=TurnStatus.WAITING)
    for number in range(queueing.MOST_QUEUED):
        services.message_send_or_queue(conversation, content=str(number))
    with pytest.raises(QueueFull, match="20 messages wait already"):
        services.message_send_or_queue(conversation, content="More")
    with pytest.raises(InvalidInput, match="at most 100,000"):
        services.message_send_or_queue(conversation, content="x" * 100_001)


def test_secrets_are_masked_and_variables_kept_when_a_message_is_queued(
    conversation, running, model
):
    services.message_send_or_queue(
        conversation, content="Use very-secret-1 or later-secret-2", env={"A_KEY": "very-secret-1"}
    )
    assert "very-secret-1" not in conversation.queued.get().content
    assert ConversationSecret.objects.get().name == "A_KEY"
    services.values_set(conversation, {"B_KEY": "later-secret-2"}, keep="conversation")
    model.enqueue("Yes.")
    turn_finish(running.pk, TurnStatus.COMPLETED)
    over(conversation, 2)
    assert "secret-2" not in said_in(conversation)[-1]


def test_deleting_the_conversation_deletes_what_waits(conversation, running):
    services.message_send_or_queue(conversation, content="Second")
    services.conversation_delete(conversation)
    assert not QueuedMessage.objects.exists()


def test_the_page_queues_takes_back_and_removes(alice, conversation, running, client_for):
    client, page = client_for(alice), reverse("chat:conversation_detail", args=[conversation.pk])
    send = reverse("chat:message_send", args=[conversation.pk])
    fragment = client.post(send, {"content": "Second <b>"}, headers=HTMX)
    assert fragment["HX-Reswap"] == "none"
    assert "Second &lt;b&gt;" in fragment.text
    assert client.post(send, {"content": "Third"}).url == page
    html = client.get(page).text
    assert "Sent when the agent is done" in html
    assert "Queue the message" in html
    first, second = queueing.queue_of(conversation)
    edit = reverse("chat:queued_edit", args=[conversation.pk, first.pk])
    back = client.post(edit, {"content": "Typed"}, headers=HTMX).text
    assert "Second &lt;b&gt;\n\nTyped</textarea>" in back
    gone = client.post(edit, {"content": "Typed"})
    assert gone.status_code == 404
    assert "waits no more" in gone.text
    assert "Typed</textarea>" in gone.text, "nothing that was written is lost"
    remove = reverse("chat:queued_remove", args=[conversation.pk, second.pk])
    assert client.post(remove, {"content": ""}).url == page
    assert not conversation.queued.exists()


def test_a_held_queue_is_offered_to_be_sent(alice, conversation, running, model, client_for):
    services.message_send_or_queue(conversation, content="Second")
    send = reverse("chat:queue_send", args=[conversation.pk])
    early = client_for(alice).post(send, headers=HTMX)
    assert early.status_code == 422
    assert "turn_open" in early.text
    turn_finish(running.pk, TurnStatus.STOPPED)
    page = client_for(alice).get(reverse("chat:conversation_detail", args=[conversation.pk]))
    assert "Held, because the last answer was not completed" in page.text
    assert send in page.text
    model.enqueue("Two.")
    assert "sse-connect" in client_for(alice).post(send, headers=HTMX).text
    over(conversation, 2)


def test_the_end_of_a_turn_brings_the_next_one_into_the_page(conversation, running, model):
    hold = threading.Event()
    model.enqueue(Reply("Two.", hold=hold))
    services.message_send_or_queue(conversation, content="Second")
    services.message_send_or_queue(conversation, content="Third")
    turn_finish(running.pk, TurnStatus.COMPLETED)
    html = ended_html(running)
    following = conversation.turns.get(number=2)
    assert 'hx-swap-oob="beforeend:#thread"' in html
    assert reverse("chat:turn_stream", args=[conversation.pk, following.pk]) in html
    assert reverse("chat:turn_stop", args=[conversation.pk, following.pk]) in html
    assert "Third" in html
    model.enqueue("Three.")
    hold.set()
    over(conversation, 3)


@pytest.mark.parametrize("name", ["queued_edit", "queued_remove"])
def test_nobody_touches_somebody_elses_queue(charlie, conversation, running, client_for, name):
    waiting = services.message_send_or_queue(conversation, content="Second")
    address = reverse(f"chat:{name}", args=[conversation.pk, waiting.pk])
    assert client_for(charlie).post(address).status_code == 404
    send = reverse("chat:queue_send", args=[conversation.pk])
    assert client_for(charlie).post(send).status_code == 404
    assert conversation.queued.count() == 1


def test_programs_queue_when_they_ask_to_and_are_refused_otherwise(
    alice, charlie, conversation, running, model, client_for
):
    client, base = client_for(alice), f"/api/v1/conversations/{conversation.pk}/"
    json = {"content_type": "application/json"}
    refusal = client.post(f"{base}messages/", {"content": "Second"}, **json)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "turn_open")
    queued = client.post(f"{base}messages/", {"content": "Second", "queue": True}, **json)
    assert queued.status_code == 202
    assert queued.json()["position"] == 1
    listed = client.get(f"{base}queue/").json()
    assert [(row["id"], row["content"]) for row in listed] == [(queued.json()["queued"], "Second")]
    address = f"{base}queue/{queued.json()['queued']}/"
    assert client_for(charlie).delete(address).status_code == 404
    assert client.delete(address).status_code == 204
    assert client.delete(address).status_code == 404
    services.message_send_or_queue(conversation, content="Third")
    turn_finish(running.pk, TurnStatus.FAILED)
    model.enqueue("Three.")
    sent = client.post(f"{base}queue/send/")
    assert sent.status_code == 202
    assert sent.json()["messages"][0]["content"] == "Third"
    over(conversation, 2)
