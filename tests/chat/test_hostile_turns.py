"""What happens to a turn whose world changes under it: it ends visibly, and nothing else does."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connections
from django.db.models.signals import pre_delete
from django.urls import reverse

from agents.approval_rules import rule_set
from agents.link_settings import link_saved
from agents.services import agent_delete
from chat import queueing, services, turns
from chat.errors import QueueFull, RequestAnswered
from chat.models import Conversation, InputRequest, Message, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.requests import Reply as Given
from chat.requests import request_answer
from config.lib.errors import DomainError
from registry.executors.base import Output
from registry.models import Invocation
from registry.services import tool_delete
from tests import factories
from tests.chat.conftest import finished, waiting
from tests.fakes.model_server import MODEL, Call, Reply
from tests.live import eventually, waits_for_lock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(alice) -> Conversation:
    agent = factories.make_agent(
        alice, factories.make_builtin("calculator"), model=MODEL, approval_default="ask"
    )
    return factories.make_conversation(alice, agent)


@pytest.fixture
def waits(conversation, model) -> tuple[Turn, InputRequest]:
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.enqueue("2.")
    turn = services.message_send(conversation, content="One and one")
    return turn, waiting(turn)[0]


def at_once(*jobs):
    """Run jobs at the same time; return what each gave, or the error."""
    ready = threading.Barrier(len(jobs))

    def run(job):
        ready.wait()
        try:
            return job()
        except DomainError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def test_of_two_answers_at_once_one_counts_and_the_other_is_told(alice, waits):
    turn, request = waits
    outcomes = at_once(
        *(
            lambda decision=decision: request_answer(alice, request.pk, Given(decision=decision))
            for decision in ("approve", "deny", "approve", "deny")
        )
    )
    refused = [each for each in outcomes if isinstance(each, DomainError)]
    assert len(refused) == 3
    assert all(isinstance(each, RequestAnswered) for each in refused)
    assert finished(turn).status == TurnStatus.COMPLETED
    assert turn.events.filter(name="input.answered").count() == 1
    assert Invocation.objects.count() <= 1


def test_an_answer_and_a_stop_at_once_leave_one_end(alice, waits):
    turn, request = waits
    at_once(
        lambda: request_answer(alice, request.pk, Given(decision="approve")),
        lambda: services.turn_stop(Turn.objects.get(pk=turn.pk)),
    )
    assert finished(turn).status in {TurnStatus.COMPLETED, TurnStatus.STOPPED}
    assert turn.events.filter(name__in=("turn.completed", "turn.failed")).count() == 1


def test_a_conversation_that_is_deleted_while_it_waits_leaves_a_clear_answer(
    alice, waits, client_for
):
    turn, request = waits
    services.conversation_delete(turn.conversation)
    client = client_for(alice)
    page = client.post(reverse("chat:request_answer", args=[request.pk]), {"decision": "approve"})
    assert page.status_code == 404
    told = client.post(
        f"/api/v1/conversations/{turn.conversation_id}/requests/{request.pk}/",
        {"decision": "approve"},
        content_type="application/json",
    )
    assert (told.status_code, told.json()["code"]) == (404, "not_found")


def test_a_conversation_that_is_deleted_while_its_turn_runs_is_gone_for_good(conversation, model):
    hold = threading.Event()
    model.enqueue(Reply("Once upon a time there was", hold=hold))
    turn = services.message_send(conversation, content="Tell a story")
    eventually(lambda: turn.events.filter(name="text.delta").exists(), what="the first words")
    services.conversation_delete(conversation)
    hold.set()
    assert not Turn.objects.filter(pk=turn.pk).exists()
    assert not Conversation.objects.filter(pk=conversation.pk).exists()


@pytest.mark.parametrize("what", ["its conversation", "its agent"])
def test_what_a_turn_saves_while_it_is_being_deleted_keeps_nothing(waits, what):
    turn, _ = waits
    with ThreadPoolExecutor(1) as pool:
        saved = []

        def save():
            try:
                Message.objects.create(turn=turn, position=9, role=Role.TOOL, content="Late.")
            finally:
                connections.close_all()

        def save_now(**_):
            """Between the look for what there is to delete and its deletion."""
            saved.append(pool.submit(save))
            eventually(lambda: saved[0].done() or waits_for_lock(), what="the message that waits")

        pre_delete.connect(save_now, sender=Turn)
        try:
            if what == "its agent":
                agent_delete(turn.conversation.agent)
            else:
                services.conversation_delete(turn.conversation)
        finally:
            pre_delete.disconnect(save_now, sender=Turn)
        with pytest.raises(IntegrityError):
            saved[0].result()
    assert not Turn.objects.filter(pk=turn.pk).exists()


def test_an_agent_that_is_deleted_takes_its_waiting_turn_with_it(alice, waits, client_for):
    turn, request = waits
    client = client_for(alice)
    agent = turn.conversation.agent
    gone = client.post(reverse("agents:agent_delete", args=[agent.slug]))
    assert gone.status_code < 500
    answer = client.post(reverse("chat:request_answer", args=[request.pk]), {"decision": "approve"})
    assert answer.status_code < 500
    if Turn.objects.filter(pk=turn.pk).exists():
        assert finished(turn).finished_at is not None


@pytest.mark.parametrize("page", ["delete", "changelist"])
def test_a_person_whose_turn_runs_is_kept_and_so_is_the_turn(
    governor, alice, conversation, model, client_for, page, caplog
):
    hold = threading.Event()
    model.enqueue(Reply("Once upon a time there was", hold=hold))
    turn = services.message_send(conversation, content="Tell a story")
    eventually(lambda: turn.events.filter(name="text.delta").exists(), what="the first words")
    sent = {"post": "yes", "action": "delete_selected", "_selected_action": [str(alice.pk)]}
    address = reverse(f"admin:auth_user_{page}", args=[alice.pk] if page == "delete" else [])
    try:
        answer = client_for(governor).post(address, sent)
    finally:
        hold.set()
    assert answer.status_code == 200
    assert "alice: 1 agent, 1 conversation" in answer.content.decode()
    assert finished(turn).status == TurnStatus.COMPLETED, turn.error
    assert not [line for line in caplog.records if line.levelname == "ERROR"]


def test_the_turn_of_an_account_that_is_closed_stops(alice, conversation, model, monkeypatch):
    monkeypatch.setattr(turns, "HEARTBEAT_SECONDS", 0.1)
    hold = threading.Event()
    model.enqueue(Reply("Once upon a time there was", hold=hold))
    turn = services.message_send(conversation, content="Tell a story")
    eventually(lambda: turn.events.filter(name="text.delta").exists(), what="the first words")
    User.objects.filter(pk=alice.pk).update(is_active=False)
    try:
        assert finished(turn).status == TurnStatus.STOPPED
    finally:
        hold.set()


def test_a_tool_that_is_deleted_while_its_call_waits_is_told_to_the_model(alice, waits):
    turn, request = waits
    tool_delete(turn.conversation.agent.links.get().tool)
    request_answer(alice, request.pk, Given(decision="approve"))
    assert finished(turn).status == TurnStatus.COMPLETED
    result = turn.messages.get(role=Role.TOOL).result
    assert result["status"] == "failed"
    assert not Invocation.objects.filter(outcome="succeeded").exists()


def test_who_lost_the_agent_cannot_go_on_and_can_close_the_turn(
    alice, bob, team, model, client_for
):
    agent = factories.make_agent(
        alice,
        factories.make_builtin("calculator"),
        model=MODEL,
        approval_default="ask",
        visibility="team",
        team=team,
    )
    conversation = factories.make_conversation(bob, agent)
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.enqueue("2.")
    turn = services.message_send(conversation, content="One and one")
    request = waiting(turn)[0]
    agent.visibility, agent.team = "private", None
    agent.save()
    client = client_for(bob)
    answer = client.post(
        f"/api/v1/conversations/{conversation.pk}/requests/{request.pk}/",
        {"decision": "approve"},
        content_type="application/json",
    )
    assert 400 <= answer.status_code < 500, answer.content
    assert answer.json()["code"]
    assert not Invocation.objects.exists()
    stop = reverse("chat:turn_stop", args=[conversation.pk, turn.pk])
    assert client.post(stop).status_code < 400
    assert finished(turn).status == TurnStatus.STOPPED


def test_a_full_queue_refuses_the_next_message_and_loses_none(conversation, waits):
    for number in range(queueing.MOST_QUEUED):
        services.message_send_or_queue(conversation, content=f"Message {number}")
    with pytest.raises(QueueFull):
        services.message_send_or_queue(conversation, content="One too many")
    assert conversation.queued.count() == queueing.MOST_QUEUED


def test_messages_at_once_never_pass_the_limit_of_the_queue(conversation, waits):
    for number in range(queueing.MOST_QUEUED - 2):
        services.message_send_or_queue(conversation, content=f"Message {number}")
    send = lambda: services.message_send_or_queue(conversation, content="At once")  # noqa: E731
    outcomes = at_once(send, send, send, send, send)
    assert sum(isinstance(each, QueueFull) for each in outcomes) == 3
    assert conversation.queued.count() == queueing.MOST_QUEUED


def test_a_pattern_made_to_take_for_ever_is_judged_at_once(alice, conversation, model, say):
    rule_set(conversation.agent, "*a" * 99 + "!", "deny")
    rule_set(conversation.agent, "*?" * 99, "deny")
    rule_set(conversation.agent, "[" * 100, "deny")
    rule_set(conversation.agent, "calculator", "allow")
    factories.make_tool(wire_name="a" * 60)
    conversation.agent.approval_default = "allow"
    conversation.agent.save()
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.enqueue("2.")
    assert say(conversation, "One and one").status == TurnStatus.COMPLETED
    assert Invocation.objects.get().outcome == "succeeded"


def test_a_found_tool_with_the_name_that_a_link_gives_another_does_not_take_its_place(
    alice, model, say
):
    calculator = factories.make_builtin("calculator")
    agent = factories.make_agent(alice, calculator, model=MODEL, discovery_mode="auto_filter")
    link_saved(agent.links.get(), {"name": "adder"})
    factories.make_tool(wire_name="adder", title="Adder", description="Adds numbers up.")
    conversation = factories.make_conversation(alice, agent)
    model.calls(Call("search_tools", {"names": ["adder"]}))
    model.calls(Call("adder", {"expression": "1+1"}))
    model.enqueue("2.")
    turn = say(conversation, "Add one and one")
    assert turn.status == TurnStatus.COMPLETED, turn.error
    for number in range(len(model.requests)):
        offered = model.tools_offered(number)
        assert len(offered) == len(set(offered)), "a provider refuses two tools of one name"
    last = turn.messages.filter(role=Role.TOOL).order_by("position").last()
    assert last.result["output"].get("result") == 2, last.result


def test_fifty_megabytes_of_a_tool_are_kept_apart_and_told_in_short(
    conversation, model, say, monkeypatch
):
    class Flooding:
        def execute(self, spec, arguments, context):
            return Output(value={"text": "flood " * 9_000_000})

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Flooding())
    conversation.agent.approval_default = "allow"
    conversation.agent.save()
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.enqueue("A lot.")
    turn = say(conversation, "Flood me")
    assert turn.status == TurnStatus.COMPLETED, turn.error
    told = model.requests[-1]["messages"][-1]["content"]
    assert len(told) < 20_000
    result = turn.messages.get(role=Role.TOOL).result
    assert len(str(result)) < 200_000
    model.enqueue("Still here.")
    assert say(conversation, "And now?").status == TurnStatus.COMPLETED


def test_ten_conversations_side_by_side_do_not_mix(alice, bob, model, monkeypatch, say):
    """Each has its own variables, tool and words, though all run at once."""
    seen: dict[str, list[str]] = {}
    gate = threading.Barrier(10, timeout=60)

    class Keeping:
        def execute(self, spec, arguments, context):
            gate.wait()
            value = dict(context.env(["EXA_API_KEY"]))["EXA_API_KEY"]
            seen.setdefault(arguments["text"], []).append(f"{value} {spec.wire_name}")
            return Output(value=f"seen by {spec.wire_name}")

    monkeypatch.setattr("registry.execution.executor_for", lambda kind: Keeping())
    turns = {}
    package = factories.make_package(env=[{"name": "EXA_API_KEY"}])
    for number in range(10):
        owner = (alice, bob)[number % 2]
        tool = factories.make_tool(package=package, wire_name=f"tool_of_{number}")
        agent = factories.make_agent(
            owner, tool, model=MODEL, discovery_mode="linked", instructions=f"You are {number}."
        )
        conversation = factories.make_conversation(owner, agent)
        words = f"message-{number}"
        model.keyed[words] = [
            Reply(calls=(Call(f"tool_of_{number}", {"text": words}),)),
            Reply(f"answer-{number}"),
        ]
        turns[number] = services.message_send(
            conversation, content=words, env={"EXA_API_KEY": f"value-of-{number}"}
        )
    for number, turn in turns.items():
        assert finished(turn).status == TurnStatus.COMPLETED, turn.error
        assert seen[f"message-{number}"] == [f"value-of-{number} tool_of_{number}"]
        events = list(turn.events.order_by("number").values_list("name", "data"))
        said = str(events) + str(list(turn.messages.values_list("content", "result")))
        assert f"answer-{number}" in said
        for other in turns:
            if other != number:
                assert f"answer-{other}" not in said
                assert f"tool_of_{other}" not in said
                assert f"value-of-{other}" not in said
    for request in model.requests:
        words = request["messages"][1]["content"].removeprefix("message-")
        assert f"You are {words}." in request["messages"][0]["content"]
        names = [tool["function"]["name"] for tool in request["tools"]]
        assert [name for name in names if name.startswith("tool_of_")] == [f"tool_of_{words}"]


@pytest.mark.parametrize(
    "name", ["message_send", "turn_stop", "turn_stream", "turn_regenerate", "turn_continue"]
)
@pytest.mark.parametrize("fragment", [True, False])
def test_an_expired_session_is_led_to_the_sign_in(waits, client, name, fragment):
    turn, _ = waits
    ids = {"message_send": [turn.conversation_id], "turn_stop": [turn.conversation_id, turn.pk]}
    ids["turn_stream"] = ids["turn_stop"]
    address = reverse(f"chat:{name}", args=ids.get(name, [turn.pk]))
    headers = {"HX-Request": "true"} if fragment else {}
    send = client.get if name == "turn_stream" else client.post
    answer = send(address, {"content": "Hello"}, headers=headers)
    if fragment:
        assert (answer.status_code, answer["HX-Session-Ended"]) == (401, "true")
        assert "Sign in again" in answer.json()["hint"]
    else:
        assert answer.status_code == 302
        assert answer["Location"].startswith("/login/")
    turn.refresh_from_db()
    assert turn.status == TurnStatus.WAITING, "nothing was lost"
