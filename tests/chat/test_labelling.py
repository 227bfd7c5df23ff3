"""From a turn to what it should have found."""

import pytest
from django.urls import reverse

from agents.models import SearchCase
from agents.services import credential_set
from chat.folding import TurnView, view_of
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.parts import Found
from tests import factories
from tests.factories import make_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(alice):
    return factories.make_agent(alice, name="Helper", slug="helper", model="demo/offline")


def said(conversation, number, text, **found):
    turn = make_turn(
        conversation=conversation,
        number=number,
        model="demo/offline",
        status=TurnStatus.COMPLETED,
        found={"query": text, "took_ms": 1.2, "tools": [], **found},
    )
    turn.messages.create(position=0, role=Role.USER, content=text)
    return turn


@pytest.fixture
def turn(alice, agent):
    conversation = factories.make_conversation(alice, agent, title="Dice")
    said(conversation, 1, "hello there")
    return said(conversation, 2, "roll two dice for `<p>board</p>`")


def label(turn):
    return reverse("chat:turn_label", args=[turn.pk])


def test_the_found_panel_of_ones_own_agent_leads_to_the_form(client_for, alice, turn):
    page = client_for(alice).get(reverse("chat:conversation_detail", args=[turn.conversation_id]))
    html = page.content.decode()
    assert label(turn) in html
    assert "No tool found" in html


def test_a_turn_with_anothers_agent_is_not_labelled(client_for, bob, agent, team):
    agent.visibility, agent.team = "team", team
    agent.save()
    theirs = said(
        factories.make_conversation(bob, agent),
        1,
        "roll two dice",
        tools=[
            {
                "name": "a",
                "title": "A",
                "score": 0.1,
                "parts": {},
                "injected": False,
                "reason": "no",
            }
        ],
    )
    client = client_for(bob)
    page = client.get(reverse("chat:conversation_detail", args=[theirs.conversation_id]))
    assert "This should have found" not in page.content.decode()
    for answer in (client.get(label(theirs)), client.post(label(theirs), {"query": "x"})):
        assert answer.status_code == 404
        assert "Only the owner of an agent" in answer.content.decode()


def test_a_turn_of_anothers_conversation_is_not_there(client_for, bob, turn):
    assert client_for(bob).get(label(turn)).status_code == 404


def test_the_form_begins_with_what_the_turn_searched_with(client_for, alice, turn):
    html = client_for(alice).get(label(turn)).content.decode()
    assert "roll two dice for HTML</textarea>" in html
    assert "hello there</textarea>" in html


def test_what_should_have_been_found_is_kept_with_its_turn(client_for, alice, agent, turn):
    dice = factories.make_builtin("random_number")
    form = {"query": "roll two dice", "recent": "hello there", "tools": str(dice.pk)}
    answer = client_for(alice).post(label(turn), form)
    assert answer.headers["Location"] == reverse("agents:search_list", args=["helper"])
    case = SearchCase.objects.get()
    assert (case.agent, case.turn_id, case.created_by) == (agent, turn.pk, alice)
    assert (case.query, case.recent) == ("roll two dice", ["hello there"])
    assert list(case.expected.all()) == [dice]


def test_a_query_that_is_there_already_is_told(client_for, alice, turn):
    client = client_for(alice)
    form = {"query": "roll two dice", "nothing": "on"}
    client.post(label(turn), form)
    answer = client.post(label(turn), form)
    assert answer.status_code == 400
    assert "has this query already" in answer.content.decode()


def test_secret_values_are_masked_in_the_form_and_in_what_is_kept(client_for, alice, agent):
    credential_set(alice, name="EXA_API_KEY", value="secret-value-123")
    turn = said(factories.make_conversation(alice, agent), 1, "search with secret-value-123")
    client = client_for(alice)
    assert "secret-value-123" not in client.get(label(turn)).content.decode()
    client.post(label(turn), {"query": "use secret-value-123", "nothing": "on"})
    assert "secret-value-123" not in SearchCase.objects.get().query


def test_a_search_that_finds_nothing_is_shown_to_who_can_say_what_was_missing(turn):
    found = {"query": "x", "took_ms": 1, "tools": []}
    owned, other = TurnView(turn.pk, may_label=True), TurnView(turn.pk)
    owned.show_found(found)
    other.show_found(found)
    assert [type(part) for part in owned.parts] == [Found]
    assert other.parts == []
    linked = TurnView(turn.pk, may_label=True)
    linked.show_found({"query": "x", "took_ms": 0, "tools": []})
    assert linked.parts == []
    assert view_of(turn).parts[0].turn_id == str(turn.pk)
