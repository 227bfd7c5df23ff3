"""What the model saw: kept with every request, shown to the owner of the conversation alone."""

import threading

import pytest
from django.conf import settings
from django.urls import reverse

from agents.models import Agent
from chat import services
from chat.models import Conversation, ModelStep, Turn
from chat.models.turn import TurnStatus
from chat.steps import steps_of
from tests import factories
from tests.chat.conftest import finished
from tests.fakes.model_server import MODEL, Call, Reply
from tests.live import eventually

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "openai/gpt-4o"


@pytest.fixture
def conversation(alice) -> Conversation:
    """Alice's conversation with an agent that has the calculator linked."""
    calculator = factories.make_builtin("calculator")
    return factories.make_conversation(alice, factories.make_agent(alice, calculator, model=MODEL))


@pytest.fixture
def turn(conversation, model, say) -> Turn:
    """A turn of two requests."""
    model.calls(Call("calculator", {"expression": "17*23"}, "call_a"), text="Let me see. ")
    model.enqueue(Reply("391.", cached=8))
    return say(conversation, "What is 17 times 23?")


def events_of(turn: Turn, name: str) -> list[dict]:
    return list(turn.events.filter(name=name).order_by("number").values_list("data", flat=True))


def page_of(turn: Turn) -> str:
    return reverse("chat:turn_steps", args=[turn.pk])


def test_each_request_is_kept_as_it_was_sent(turn, model):
    first, second = steps_of(turn.pk)
    for step, request in zip((first, second), model.requests, strict=True):
        assert [m["role"] for m in step.messages] == [m["role"] for m in request["messages"]]
        assert step.messages[-1] == request["messages"][-1]
        assert [tool["function"]["name"] for tool in step.tools] == [
            tool["function"]["name"] for tool in request["tools"]
        ]
        assert step.row.usage["input_tokens"] == 11
        assert 0 <= step.row.first_token_ms <= step.row.duration_ms
    assert second.row.shared == len(first.messages)
    assert len(second.row.messages) == 2, "only what is new is kept again"
    assert second.row.tools is None
    assert second.row.usage["cached_tokens"] == 8
    assert turn.usage["input_tokens"] == 22


def test_a_retry_is_told_live_and_kept(conversation, model, say):
    model.refuses(429)
    model.enqueue("Here.")
    turn = say(conversation, "Hello?")
    assert turn.status == TurnStatus.COMPLETED
    (retried,) = events_of(turn, "model.retried")
    assert retried["model"] == MODEL
    assert retried["error"] == "model_rate_limited"
    assert retried["waits_ms"] > 0
    assert len(ModelStep.objects.get(turn=turn).attempts) == 2


def test_the_agents_next_model_answers_and_is_paid(conversation, model, say):
    Agent.objects.filter(pk=conversation.agent_id).update(fallback_models=[OTHER])
    model.refuses(401)
    model.enqueue("I step in.")
    turn = say(conversation, "Hello?")
    assert events_of(turn, "model.switched") == [
        {"from": MODEL, "to": OTHER, "error": "model_unauthorised"}
    ]
    step = ModelStep.objects.get(turn=turn)
    assert step.model == OTHER
    assert step.cost == turn.cost
    assert step.cost > 0


def test_a_conversation_that_is_too_long_goes_on_and_says_what_was_left_out(
    conversation, model, say, monkeypatch
):
    model.enqueue("Noted.", "And again.")
    say(conversation, "long " * 3000)
    monkeypatch.setattr(settings, "MODEL_CONTEXT_TOKENS", 4000)
    turn = say(conversation, "Short.")
    assert turn.status == TurnStatus.COMPLETED
    (told,) = events_of(turn, "context.compacted")
    assert told["dropped_turns"] == 1
    assert ModelStep.objects.get(turn=turn).compaction == told


def test_a_model_without_tools_works_with_them_all_the_same(conversation, model, say):
    model.refuses(400, "registry.example/gemma does not support tools")
    call = '{"name": "calculator", "arguments": {"expression": "17*23"}}'
    model.enqueue(f"Let me see.\n```tool_call\n{call}\n```", "It is 391.")
    turn = say(conversation, "What is 17 times 23?")
    assert turn.status == TurnStatus.COMPLETED
    words = "".join(data["text"] for data in events_of(turn, "text.delta"))
    assert words == "Let me see.It is 391."
    assert '"result": 391' in model.requests[-1]["messages"][-1]["content"]
    assert set(ModelStep.objects.filter(turn=turn).values_list("protocol", flat=True)) == {"text"}


def test_a_request_that_failed_is_kept_with_its_error(conversation, model, say):
    model.refuses(401)
    turn = say(conversation, "Hello?")
    step = ModelStep.objects.get(turn=turn)
    assert step.error["code"] == "model_unauthorised"
    assert step.messages[-1] == {"role": "user", "content": "Hello?"}


def test_a_request_that_was_stopped_is_kept(conversation, model):
    hold = threading.Event()
    model.enqueue(Reply("Once upon a time there was", hold=hold))
    turn = services.message_send(conversation, content="Tell a story")
    eventually(lambda: turn.events.filter(name="text.delta").exists(), what="the first words")
    services.turn_stop(turn)
    finished(turn)
    hold.set()
    step = ModelStep.objects.get(turn=turn)
    assert (step.error, step.usage) == (None, {})
    assert step.messages[-1]["content"] == "Tell a story"


def test_a_long_call_is_told_live(conversation, model, say):
    slow = Call("calculator", {"expression": "1+" * 40 + "1"}, "call_a")
    model.enqueue(Reply(calls=(slow,), pause=0.06), "41.")
    turn = say(conversation, "Count")
    drafts = events_of(turn, "tool.drafting")
    assert {(draft["id"], draft["name"]) for draft in drafts} == {("call_a", "calculator")}
    assert drafts[-1]["size"] <= len(slow.text)


def test_a_secret_is_kept_out_of_what_the_model_saw(conversation, model, say, client, alice):
    model.enqueue("Thanks.")
    turn = say(conversation, "My key is tops3cret-value", env={"EXA_API_KEY": "tops3cret-value"})
    assert "tops3cret" not in str(ModelStep.objects.get(turn=turn).messages)
    client.force_login(alice)
    assert "tops3cret" not in client.get(page_of(turn)).content.decode()


def test_the_page_tells_every_request(turn, client, alice):
    client.force_login(alice)
    page = client.get(page_of(turn)).content.decode()
    for words in ("Request 1", "Request 2", MODEL, "8 of them cached", "calculator"):
        assert words in page
    assert "What is 17 times 23?" in page
    assert "as in the request before" in page


def test_the_conversation_leads_to_the_page(turn, client, alice):
    client.force_login(alice)
    url = reverse("chat:conversation_detail", args=[turn.conversation_id])
    assert page_of(turn) in client.get(url).content.decode()


def test_a_turn_without_a_request_says_so(conversation, client, alice):
    turn = factories.make_turn(conversation=conversation, number=1, status=TurnStatus.QUEUED)
    client.force_login(alice)
    assert "No request yet" in client.get(page_of(turn)).content.decode()


def test_the_page_and_the_rest_list_are_the_owners_alone(turn, client, bob):
    client.force_login(bob)
    assert client.get(page_of(turn)).status_code == 404
    assert client.get(rest_of(turn)).status_code == 404


def test_the_rest_list_has_every_request(turn, client, alice):
    client.force_login(alice)
    first, second = client.get(rest_of(turn)).json()
    assert (first["number"], first["shared"], second["tools"]) == (1, 0, None)
    assert second["shared"] == len(first["messages"])
    assert first["durationMs"] >= first["firstTokenMs"]


def rest_of(turn: Turn) -> str:
    return f"/api/v1/conversations/{turn.conversation_id}/turns/{turn.pk}/steps/"
