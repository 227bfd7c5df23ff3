"""Other answers and other messages: branches that stay whole and can be shown again."""

import threading
from collections.abc import Callable

import pytest
from django.db import connections
from django.urls import reverse

from chat import branches, services
from chat.errors import TurnOpen
from chat.models import Conversation, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.selectors import branches_of, leaf_of, path_to, turns_of
from config.lib.errors import InvalidInput
from tests import factories
from tests.chat.conftest import finished
from tests.factories import make_turn
from tests.fakes.model_server import MODEL

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def conversation(alice) -> Conversation:
    return factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))


def made(conversation: Conversation, said: str) -> Turn:
    """Return a turn that is over, at the end of the branch that is shown."""
    turn = make_turn(conversation, model=MODEL, status=TurnStatus.COMPLETED)
    turn.messages.create(position=0, role=Role.USER, content=said)
    turn.messages.create(position=1, role=Role.ASSISTANT, content=f"To {said}")
    return turn


def shown_in(conversation: Conversation) -> list[str]:
    conversation.refresh_from_db()
    return [turn.messages.get(position=0).content for turn in turns_of(conversation)]


def told_last(model) -> list[str]:
    """Return what the model was told in its last request, without the system prompt."""
    return [message["content"] for message in model.requests[-1]["messages"][1:]]


def test_regenerating_answers_the_same_message_again_beside_the_first_answer(
    conversation, model, say
):
    model.enqueue("One.")
    first = say(conversation, "Count")
    model.enqueue("Uno.")
    second = finished(branches.turn_regenerate(first))
    assert (second.parent_id, second.number) == (None, 2)
    assert told_last(model) == ["Count"], "the first answer belongs to another branch"
    conversation.refresh_from_db()
    assert conversation.head_id == second.pk
    assert [turn.pk for turn in turns_of(conversation)] == [second.pk]
    assert list(first.messages.order_by("position").values_list("content", flat=True)) == [
        "Count",
        "One.",
    ]


def test_an_edited_message_goes_on_from_its_place_and_the_branch_before_stays(
    conversation, model, say
):
    for answer in ("One.", "Two.", "Four."):
        model.enqueue(answer)
    say(conversation, "Count")
    second = say(conversation, "On")
    other = finished(branches.message_edit(second, content=" Double \r\n"))
    assert told_last(model) == ["Count", "One.", "Double"]
    assert shown_in(conversation) == ["Count", "Double"]
    place = branches_of([second, other])
    assert (place[second.pk].index, place[second.pk].next) == (1, other.pk)
    assert (place[other.pk].index, place[other.pk].count) == (2, 2)


def test_showing_a_branch_leads_to_its_latest_turn_and_it_is_gone_on_with(conversation, model, say):
    first = made(conversation, "a")
    made(conversation, "b")
    leaf = made(conversation, "c")
    Conversation.objects.filter(pk=conversation.pk).update(head=first)
    conversation.refresh_from_db()
    other = made(conversation, "B")
    beside = branches_of([other])[other.pk]
    assert shown_in(conversation) == ["a", "B"]
    branches.turn_show(Turn.objects.get(pk=beside.previous))
    assert shown_in(conversation) == ["a", "b", "c"]
    assert leaf_of(first.pk) == other.pk, "the latest of all that follow it"
    model.enqueue("Next.")
    turn = say(conversation, "d")
    assert turn.parent_id == leaf.pk
    assert told_last(model) == ["a", "To a", "b", "To b", "c", "To c", "d"]
    numbers = list(path_to(turn.pk).order_by("number").values_list("number", flat=True))
    assert numbers == [1, 2, 3, 5]


def test_the_title_follows_the_first_message_until_a_person_gives_another(conversation, model, say):
    for _ in range(3):
        model.enqueue("Yes.")
    first = say(conversation, "Sums")
    finished(branches.message_edit(first, content="Products"))
    conversation.refresh_from_db()
    assert conversation.title == "Products"
    services.conversation_rename(conversation, title="Mine")
    finished(branches.message_edit(first, content="Powers"))
    conversation.refresh_from_db()
    assert conversation.title == "Mine"


@pytest.mark.parametrize(
    "act",
    [
        branches.turn_regenerate,
        branches.turn_show,
        lambda turn: branches.message_edit(turn, content="Else"),
    ],
    ids=["regenerate", "show", "edit"],
)
def test_nothing_branches_while_the_agent_is_not_done(conversation, act: Callable[[Turn], object]):
    first = made(conversation, "a")
    waiting = make_turn(conversation, status=TurnStatus.RUNNING)
    Turn.objects.filter(pk=waiting.pk).update(status=TurnStatus.WAITING)
    with pytest.raises(TurnOpen) as refused:
        act(first)
    assert refused.value.extra["turn"] == str(waiting.pk)
    conversation.refresh_from_db()
    assert conversation.head_id == waiting.pk


def test_of_two_that_regenerate_at_once_one_wins_and_the_other_is_told(conversation, model):
    turn = made(conversation, "a")
    model.enqueue("A.")
    gate, outcomes = threading.Barrier(2), []

    def regenerate() -> None:
        try:
            gate.wait()
            outcomes.append(branches.turn_regenerate(Turn.objects.get(pk=turn.pk)))
        except TurnOpen as refused:
            outcomes.append(refused)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=regenerate) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Turn", "TurnOpen"]
    finished(next(outcome for outcome in outcomes if isinstance(outcome, Turn)))
    assert conversation.turns.count() == 2


def test_an_empty_message_is_refused_in_words(conversation):
    with pytest.raises(InvalidInput, match="The message is empty"):
        branches.message_edit(made(conversation, "a"), content=" \n")


def test_secrets_are_masked_in_an_edited_message(conversation, model):
    turn = made(conversation, "a")
    services.values_set(conversation, {"EXA_API_KEY": "very-secret-1"}, keep="conversation")
    model.enqueue("Yes.")
    other = finished(branches.message_edit(turn, content="Use very-secret-1"))
    assert "very-secret-1" not in other.messages.get(position=0).content


def test_the_page_leads_from_branch_to_branch_with_and_without_javascript(
    alice, conversation, client_for
):
    first = made(conversation, "a")
    Conversation.objects.filter(pk=conversation.pk).update(head=None)
    conversation.refresh_from_db()
    made(conversation, "A")
    client, page = client_for(alice), reverse("chat:conversation_detail", args=[conversation.pk])
    html = client.get(page).content.decode()
    show = reverse("chat:turn_show", args=[first.pk])
    assert show in html
    assert "2/2" in html
    assert "Show earlier" not in html, "the first turn of a branch has none before it"
    assert client.post(show).url == page
    assert "1/2" in client.get(page).content.decode()
    fragment = client.post(show, headers=HTMX).content.decode()
    assert "1/2" in fragment
    assert "<html" not in fragment
    assert 'id="composer-controls" hx-swap-oob="true"' in fragment


def test_the_form_to_edit_a_message_keeps_what_was_written_when_it_is_refused(
    alice, conversation, client_for
):
    turn = made(conversation, "a <b>")
    address = reverse("chat:message_edit", args=[turn.pk])
    client = client_for(alice)
    assert "a &lt;b&gt;</textarea>" in client.get(address).content.decode()
    make_turn(conversation, status=TurnStatus.RUNNING)
    Turn.objects.filter(status=TurnStatus.RUNNING).update(status=TurnStatus.WAITING)
    refused = client.post(address, {"content": "Mine"})
    assert refused.status_code == 409
    assert "Mine</textarea>" in refused.content.decode()
    assert "turn_open" in refused.content.decode()
    inline = client.post(address, {"content": "Mine"}, headers=HTMX)
    assert inline.status_code == 422
    assert inline["HX-Retarget"] == f"#turn-{turn.pk}-said"


@pytest.mark.parametrize("name", ["turn_regenerate", "turn_show", "message_edit"])
def test_nobody_branches_somebody_elses_conversation(charlie, conversation, client_for, name):
    turn = made(conversation, "a")
    address = reverse(f"chat:{name}", args=[turn.pk])
    assert client_for(charlie).post(address, {"content": "x"}).status_code == 404
    assert conversation.turns.count() == 1


def test_programs_regenerate_edit_and_show(alice, charlie, conversation, model, client_for):
    first = made(conversation, "a")
    base = f"/api/v1/conversations/{conversation.pk}/"
    turns = f"{base}turns/{first.pk}/"
    client = client_for(alice)
    model.enqueue("A.")
    again = client.post(f"{turns}regenerate/")
    assert again.status_code == 202
    finished(Turn.objects.get(pk=again.json()["id"]))
    model.enqueue("B.")
    body = {"content": "b"}
    edited = client.post(f"{turns}edit/", body, content_type="application/json")
    assert edited.status_code == 202
    finished(Turn.objects.get(pk=edited.json()["id"]))
    shown = client.get(base).json()["turns"]
    assert [turn["branches"] for turn in shown] == [
        {"index": 3, "count": 3, "previous": again.json()["id"], "next": None}
    ]
    assert client.post(f"{turns}show/").json()["id"] == str(first.pk)
    assert client.get(base).json()["turns"][0]["id"] == str(first.pk)
    assert client_for(charlie).post(f"{turns}regenerate/").status_code == 404
