"""Values for the tools of one conversation: who wins, how long they last, who sees them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents.services import credential_set
from chat.means import of_turn
from chat.models import ConversationSecret, Turn
from chat.models.message import Role
from chat.requests import Reply, request_answer
from chat.services import message_send, values_set
from chat.tasks import forget_expired_values
from chat.variables import (
    MOST_VARIABLES,
    env_with_variables,
    known_in,
    variable_forget,
    variables_of,
    variables_remember,
)
from config.lib.errors import InvalidInput, NotAllowed
from registry.context import CallContext, no_env
from registry.executors.base import Output
from registry.models.invocation import Caller
from tests import factories
from tests.chat.conftest import finished, waiting
from tests.factories import make_turn
from tests.fakes.model_server import MODEL, Call

pytestmark = pytest.mark.django_db(transaction=True)
VALUE = "canary-value-0123"


@pytest.fixture
def conversation(alice):
    tool = factories.make_tool(
        package=factories.make_package(env=[{"name": "EXA_API_KEY"}]), wire_name="search_web"
    )
    agent = factories.make_agent(alice, tool, model=MODEL, discovery_mode="linked")
    return factories.make_conversation(alice, agent)


@pytest.fixture
def seen(monkeypatch):
    """Run the npm tool here and keep the variables that each call received."""
    received: list[dict[str, str]] = []

    class Keeping:
        def execute(self, spec, arguments, context):
            received.append(dict(context.env(["EXA_API_KEY", "OTHER"])))
            return Output(value="done")

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Keeping())
    return received


def read(conversation, *names):
    from agents.credentials import env_of

    stored = env_of(conversation.user, conversation.agent)
    return env_with_variables(conversation.pk, stored)(names)


def test_the_conversations_value_wins_over_the_agents_and_the_agents_over_the_persons(conversation):
    user, agent = conversation.user, conversation.agent
    credential_set(user, name="KEY", value="the person's")
    assert read(conversation, "KEY") == {"KEY": "the person's"}
    credential_set(user, name="KEY", value="the agent's", agent=agent)
    assert read(conversation, "KEY") == {"KEY": "the agent's"}
    variables_remember(conversation, {"KEY": "the conversation's"})
    assert read(conversation, "KEY") == {"KEY": "the conversation's"}
    variable_forget(conversation, "KEY")
    assert read(conversation, "KEY") == {"KEY": "the agent's"}


def test_a_value_is_sealed_in_the_database(conversation):
    variables_remember(conversation, {"KEY": VALUE})
    assert VALUE.encode() not in bytes(ConversationSecret.objects.get().ciphertext)


def test_an_expired_value_is_not_read_and_is_deleted(conversation):
    variables_remember(conversation, {"KEY": VALUE})
    ConversationSecret.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert read(conversation, "KEY") == {}
    assert known_in(conversation) == []
    assert not variables_of(conversation)
    assert forget_expired_values() == 1
    assert not ConversationSecret.objects.exists()


def test_a_replaced_value_is_received_no_more_but_still_kept_out_of_what_is_said(conversation):
    variables_remember(conversation, {"KEY": "the first value"})
    variables_remember(conversation, {"KEY": "the second value"})
    assert read(conversation, "KEY") == {"KEY": "the second value"}
    assert set(known_in(conversation)) == {"the first value", "the second value"}
    variable_forget(conversation, "KEY")
    assert known_in(conversation) == []


def test_a_conversation_has_a_limit_of_variables(conversation):
    variables_remember(conversation, {f"V{n}": "x" for n in range(MOST_VARIABLES)})
    with pytest.raises(InvalidInput, match="at most 50 variables"):
        variables_remember(conversation, {"ONE_MORE": "x"})
    variables_remember(conversation, {"V1": "replacing is fine"})


@pytest.mark.parametrize("name", ["lower", "1A", "A B", "", "A" * 101])
def test_a_bad_name_is_refused(conversation, name):
    with pytest.raises(InvalidInput, match="not a variable name"):
        variables_remember(conversation, {name: "x"})


@pytest.mark.parametrize("value", ["", "a\x00b", "\ud800", "x" * 10_001])
def test_a_bad_value_is_refused(conversation, value):
    with pytest.raises(InvalidInput, match=r"1 to 10,000"):
        variables_remember(conversation, {"KEY": value})


def test_nobody_else_reads_or_changes_the_variables(conversation, charlie, client_for):
    variables_remember(conversation, {"KEY": VALUE})
    stranger = client_for(charlie)
    for name in ("variable_set", "variable_forget"):
        url = reverse(f"chat:{name}", args=[conversation.pk])
        assert stranger.post(url, {"name": "KEY", "value": "theirs"}).status_code == 404
    assert read(conversation, "KEY") == {"KEY": VALUE}


def test_a_person_may_not_store_a_value_for_somebody_elses_agent(alice, bob):
    shared = factories.make_conversation(bob, factories.make_agent(alice))
    with pytest.raises(NotAllowed, match="Only the owner"):
        values_set(shared, {"KEY": VALUE}, keep="agent")
    assert not bob.credentials.exists()


def test_a_tool_receives_what_it_declares_and_a_new_value_counts_at_the_next_call(
    conversation, model, say, seen
):
    model.calls(Call("search_web", {"text": "x"}))
    model.calls(Call("search_web", {"text": "y"}))
    model.enqueue("Done.")
    say(conversation, "Search", env={"EXA_API_KEY": "first-value", "OTHER": "not-declared"})
    model.calls(Call("search_web", {"text": "z"}))
    model.enqueue("Done.")
    variables_remember(conversation, {"EXA_API_KEY": "second-value"})
    say(conversation, "Again")
    assert seen[0] == {"EXA_API_KEY": "first-value"}
    assert seen[-1] == {"EXA_API_KEY": "second-value"}


def test_a_value_changed_in_the_middle_of_a_turn_counts_at_the_very_next_call(
    conversation, model, say, monkeypatch
):
    received = []

    class Changing:
        def execute(self, spec, arguments, context):
            received.append(context.env(["EXA_API_KEY"])["EXA_API_KEY"])
            variables_remember(conversation, {"EXA_API_KEY": "second-value"})
            return Output(value="done")

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Changing())
    model.calls(Call("search_web", {"text": "x"}))
    model.calls(Call("search_web", {"text": "y"}))
    model.enqueue("Done.")
    say(conversation, "Search twice", env={"EXA_API_KEY": "first-value"})
    assert received == ["first-value", "second-value"]


def test_the_calls_of_a_sequence_have_the_conversations_values_by_reference(conversation):
    turn = make_turn(conversation=conversation, number=1, model=MODEL)
    context = CallContext(
        user=conversation.user, caller=Caller.SEQUENCE, turn_id=turn.pk, env=no_env
    )
    variables_remember(conversation, {"KEY": VALUE})
    assert of_turn(context).env(["KEY"]) == {"KEY": VALUE}


def test_a_secret_in_a_message_reaches_neither_the_transcript_nor_the_model(
    conversation, model, say
):
    model.enqueue(f"You told me {VALUE}, did you not? cana", "Fine.")
    turn = say(conversation, f"Use {VALUE} for it", env={"EXA_API_KEY": VALUE})
    said = [message.content for message in turn.messages.order_by("position")]
    assert said == ["Use •••••• for it", "You told me ••••••, did you not? cana"]
    told = "".join(data["text"] for name, data in events(turn) if name == "text.delta")
    assert told == "You told me ••••••, did you not? cana"
    assert VALUE not in str(model.requests)
    assert VALUE not in str(events(turn))
    assert "••••••" in turn.conversation.title or VALUE not in turn.conversation.title


def test_a_secret_that_was_said_before_it_was_stored_is_kept_from_the_model_afterwards(
    conversation, model, say
):
    model.enqueue("Noted.", "Again.")
    say(conversation, f"My key is {VALUE}")
    variables_remember(conversation, {"EXA_API_KEY": VALUE})
    say(conversation, "Go on")
    assert VALUE in str(model.requests[0])
    assert VALUE not in str(model.requests[1])


def test_arguments_in_which_the_model_repeats_a_secret_are_masked(conversation, model, say, seen):
    model.calls(Call("search_web", {"text": VALUE}))
    model.enqueue("Done.")
    turn = say(conversation, "Search", env={"EXA_API_KEY": VALUE})
    assert VALUE not in str(events(turn))
    assert VALUE not in str(list(turn.messages.values("tool_calls", "result", "content")))


def events(turn):
    return list(turn.events.order_by("number").values_list("name", "data"))


@pytest.fixture
def lacking(conversation, model, alice):
    """A turn in which the tool lacked its key, which was not given when it was asked for."""
    model.calls(Call("search_web", {"text": "x"}))
    model.enqueue("Please set EXA_API_KEY.")
    turn = message_send(conversation, content="Search the web")
    request_answer(alice, waiting(turn)[0].pk, Reply(decision="skip"))
    return finished(turn)


def test_a_missing_key_is_asked_for_by_name_in_the_card(lacking, alice, client_for):
    assert ("credential", ["EXA_API_KEY"]) in [
        (data["kind"], data["names"]) for name, data in events(lacking) if name == "input.required"
    ]
    page = client_for(alice).get(
        reverse("chat:conversation_detail", args=[lacking.conversation_id])
    )
    assert f'hx-get="/chat/turns/{lacking.pk}/values/?name=EXA_API_KEY&amp;"' in page.text
    form = client_for(alice).get(f"/chat/turns/{lacking.pk}/values/?name=EXA_API_KEY")
    assert 'type="password" name="EXA_API_KEY"' in form.text
    for words in ("This conversation", "The agent Agent", "All my agents"):
        assert words in form.text


@pytest.mark.parametrize("keep", ["conversation", "agent", "me"])
def test_the_value_is_kept_for_what_was_chosen_and_the_turn_tried_again(
    lacking, model, alice, client_for, seen, keep
):
    client: Client = client_for(alice)
    url = f"/chat/turns/{lacking.pk}/values/?name=EXA_API_KEY"
    answer = client.post(url, {"EXA_API_KEY": VALUE, "keep": keep}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "EXA_API_KEY is set" in answer.text
    assert VALUE not in answer.text
    assert 'hx-swap-oob="true"' in answer.text
    stored = alice.credentials.values_list("name", "agent")
    expected = {"agent": lacking.conversation.agent_id, "me": None}
    assert list(stored) == ([("EXA_API_KEY", expected[keep])] if keep in expected else [])
    assert (keep == "conversation") == ConversationSecret.objects.exists()

    model.calls(Call("search_web", {"text": "x"}))
    model.enqueue("Found.")
    again = client.post(f"/chat/turns/{lacking.pk}/regenerate/", headers={"HX-Request": "true"})
    assert "Search the web" in again.text
    turn = finished(Turn.objects.get(conversation=lacking.conversation, number=2))
    assert turn.messages.get(role=Role.USER).content == "Search the web"
    assert seen == [{"EXA_API_KEY": VALUE}]


def test_an_empty_value_is_asked_for_again(lacking, alice, client_for):
    url = f"/chat/turns/{lacking.pk}/values/?name=EXA_API_KEY"
    answer = client_for(alice).post(url, {"EXA_API_KEY": "", "keep": "me"})
    assert answer.status_code == 422
    assert "This field is required" in answer.text


def test_nobody_else_sets_the_value_of_a_turn_or_tries_it_again(lacking, charlie, client_for):
    stranger = client_for(charlie)
    url = f"/chat/turns/{lacking.pk}/values/?name=EXA_API_KEY"
    assert stranger.get(url).status_code == 404
    assert stranger.post(url, {"EXA_API_KEY": VALUE, "keep": "me"}).status_code == 404
    assert stranger.post(f"/chat/turns/{lacking.pk}/regenerate/").status_code == 404
    assert not charlie.credentials.exists()


def test_a_person_who_does_not_own_the_agent_is_not_offered_its_place(alice, bob, client_for):
    conversation = factories.make_conversation(bob, factories.make_agent(alice))
    turn = make_turn(conversation=conversation, number=1, model=MODEL)
    url = f"/chat/turns/{turn.pk}/values/?name=EXA_API_KEY"
    assert "The agent" not in client_for(bob).get(url).text
    refused = client_for(bob).post(url, {"EXA_API_KEY": VALUE, "keep": "agent"})
    assert refused.status_code == 422


def test_the_side_panel_sets_replaces_and_removes_by_name_alone(conversation, alice, client_for):
    client = client_for(alice)
    htmx = {"HX-Request": "true"}
    url = reverse("chat:variable_set", args=[conversation.pk])
    shown = client.post(url, {"name": "KEY", "value": VALUE}, headers=htmx)
    assert "<code>KEY</code>" in shown.text
    assert VALUE not in shown.text
    page = client.get(reverse("chat:conversation_detail", args=[conversation.pk]))
    assert "<code>KEY</code>" in page.text
    assert VALUE not in page.text
    refused = client.post(url, {"name": "my key", "value": "x"}, headers=htmx)
    assert refused.status_code == 422
    assert "is not a variable name" in refused.text
    gone = client.post(
        reverse("chat:variable_forget", args=[conversation.pk]), {"name": "KEY"}, headers=htmx
    )
    assert "None. A value set here" in gone.text


def test_without_a_script_the_panel_leads_back_to_the_conversation(conversation, alice, client_for):
    url = reverse("chat:variable_set", args=[conversation.pk])
    answer = client_for(alice).post(url, {"name": "my key", "value": "x"}, follow=True)
    assert answer.redirect_chain[-1][0] == f"/chat/{conversation.pk}/"
    assert "is not a variable name" in answer.text


def test_sending_a_message_while_an_answer_is_under_way_sets_no_variable(conversation, model):
    from chat.errors import TurnOpen

    make_turn(conversation=conversation, number=1, model=MODEL)
    with pytest.raises(TurnOpen):
        message_send(conversation, content="Hi", env={"KEY": VALUE})
    assert not ConversationSecret.objects.exists()
