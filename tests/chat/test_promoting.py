"""A draft sequence of what an agent did: valid, private, and runnable with other inputs."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.errors import NothingToPromote, NotPromotable
from chat.models import Message, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from chat.promoting import turn_promote
from chat.selectors import has_promotable
from config.lib.masking import MASK
from registry.context import CallContext
from registry.models import Invocation, Tool
from registry.models.invocation import Caller, Outcome
from registry.models.tool import Visibility
from sequences import tasks
from sequences.definition import MAX_STEPS
from sequences.models import Run
from sequences.models.run import RunStatus
from sequences.runs import run_start
from tests import factories

SAID = "What is 17 * 23, and what is twice that?"


@pytest.fixture
def alice_client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


@pytest.fixture
def bob_client(bob: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(bob)


@pytest.fixture
def calculator() -> Tool:
    return factories.make_builtin("calculator")


@pytest.fixture
def turn(alice: User, calculator: Tool) -> Turn:
    agent = factories.make_agent(alice, calculator)
    conversation = factories.make_conversation(alice, agent)
    turn = factories.make_turn(conversation, number=1, status=TurnStatus.COMPLETED)
    Message.objects.create(turn=turn, position=0, role=Role.USER, content=SAID)
    return turn


def made(turn: Turn, tool: Tool, arguments: Any, output: Any = None, **fields: Any) -> Invocation:
    failed = fields.get("outcome") == Outcome.FAILED
    return Invocation.objects.create(
        **{
            "tool": tool,
            "tool_version": 1,
            "caller": Caller.CHAT,
            "user": turn.conversation.user,
            "turn_id": turn.pk,
            "outcome": Outcome.SUCCEEDED,
            "error_code": "tool_failed" if failed else "",
            "phase": "execute",
            "arguments": arguments,
            "output": output,
            "duration_ms": 1,
            **fields,
        }
    )


def sums(turn: Turn, calculator: Tool, **fields: Any) -> None:
    made(turn, calculator, {"expression": "17 * 23"}, {"result": 391}, **fields)
    made(turn, calculator, {"expression": "2 * 391"}, {"result": 782}, **fields)


def promote(client: Client, turn: Turn, **data: Any) -> Any:
    return client.post(reverse("chat:turn_promote", args=[turn.pk]), data, follow=True)


def test_the_button_makes_a_private_draft_and_opens_it_in_the_builder(
    alice_client: Client, turn: Turn, calculator: Tool
) -> None:
    sums(turn, calculator)
    made(turn, calculator, {"expression": "1/0"}, outcome=Outcome.FAILED)
    page = promote(alice_client, turn)
    tool = Tool.objects.get(kind="sequence")
    assert page.redirect_chain[-1][0] == reverse("sequences:sequence_edit", args=[tool.pk])
    assert "This draft is yours alone" in page.content.decode()
    assert (tool.visibility, tool.owner) == (Visibility.PRIVATE, turn.conversation.user)
    assert tool.title == f"Draft: {SAID}"
    assert tool.definition is not None
    assert [step["inputMapping"]["expression"]["source"] for step in tool.definition["steps"]] == [
        "initialInput",
        "template",
    ]


@pytest.mark.django_db(transaction=True)
def test_run_with_what_was_said_before_it_gives_the_same_and_with_another_another(
    alice: User, turn: Turn, calculator: Tool
) -> None:
    sums(turn, calculator)
    tool = turn_promote(turn, by=alice)
    for expression, result in (("17 * 23", 782), ("100 + 1", 202)):
        context = CallContext(user=alice, caller=Caller.REST)
        run = run_start(tool, {"expression": expression}, context=context)
        tasks.execute_run(str(run.pk))
        run = Run.objects.get(pk=run.pk)
        assert run.status == RunStatus.SUCCEEDED, run.error
        assert run.output["result"]["result"] == result


def test_a_program_is_promoted_by_its_own_calls_alone(
    alice: User, alice_client: Client, turn: Turn, calculator: Tool
) -> None:
    program = made(turn, factories.make_run_code(), {"code": "…"}, {"result": 1})
    made(turn, calculator, {"expression": "17 * 23"}, {"result": 391})
    inside = {"caller": Caller.CODE, "parent_id": program.pk}
    made(turn, calculator, {"expression": "5 + 5"}, {"result": 10}, **inside)
    own = turn_promote(turn, by=alice, invocation_id=program.pk)
    assert own.definition is not None
    assert len(own.definition["steps"]) == 1
    whole = turn_promote(turn, by=alice)
    assert whole.definition is not None
    assert len(whole.definition["steps"]) == 2
    page = alice_client.get(reverse("registry:invocation_detail", args=[program.pk]))
    assert "Make a sequence of this" in page.content.decode()
    made_of = promote(alice_client, turn, program=str(program.pk))
    assert "This draft is yours alone" in made_of.content.decode()


def test_what_the_agent_always_sends_is_in_the_draft(
    alice: User, turn: Turn, calculator: Tool
) -> None:
    turn.conversation.agent.links.update(config={"expression": "1 + 1"})
    made(turn, calculator, {}, {"result": 2})
    tool = turn_promote(turn, by=alice)
    assert tool.definition is not None
    assert tool.definition["steps"][0]["inputMapping"]["expression"]["value"] == "1 + 1"


def test_a_secret_becomes_an_input_and_is_named(alice: User, turn: Turn, calculator: Tool) -> None:
    made(turn, calculator, {"expression": MASK}, {"result": 2})
    tool = turn_promote(turn, by=alice)
    assert tool.input_schema["required"] == ["expression"]
    assert "Secret, to be given: expression." in tool.description
    assert MASK not in str(tool.definition)


def test_a_turn_without_a_call_that_succeeded_is_refused(
    alice: User, alice_client: Client, turn: Turn, calculator: Tool
) -> None:
    made(turn, calculator, {"expression": "1/0"}, outcome=Outcome.FAILED)
    with pytest.raises(NothingToPromote):
        turn_promote(turn, by=alice)
    page = promote(alice_client, turn)
    assert "there is nothing to make a sequence of" in page.content.decode()
    assert not Tool.objects.filter(kind="sequence").exists()


def test_a_tool_that_is_gone_is_named(alice: User, turn: Turn, calculator: Tool) -> None:
    sums(turn, calculator)
    Tool.objects.filter(pk=calculator.pk).update(deleted_at=timezone.now())
    with pytest.raises(NotPromotable, match="Not there any more, or not yours to use: calculator"):
        turn_promote(turn, by=alice)


def test_too_many_calls_are_refused(alice: User, turn: Turn, calculator: Tool) -> None:
    for number in range(MAX_STEPS + 1):
        made(turn, calculator, {"expression": f"{number} + 1"}, {"result": number + 1})
    with pytest.raises(NotPromotable, match="More than 100 calls were made"):
        turn_promote(turn, by=alice)


def test_arguments_of_which_only_the_start_was_kept_are_refused(
    alice: User, turn: Turn, calculator: Tool
) -> None:
    made(turn, calculator, {"truncated": True, "bytes": 99_999, "preview": '{"exp'})
    with pytest.raises(NotPromotable, match="What calculator was given is too large"):
        turn_promote(turn, by=alice)


@pytest.mark.parametrize("program", ["no-id", str(uuid.UUID(int=7))])
def test_a_program_that_is_not_of_this_turn_is_not_found(
    alice_client: Client, turn: Turn, calculator: Tool, program: str
) -> None:
    sums(turn, calculator)
    page = promote(alice_client, turn, program=program)
    assert "There is no such program in this turn" in page.content.decode()


def test_nobody_promotes_the_turn_of_somebody_else(
    bob_client: Client, turn: Turn, calculator: Tool
) -> None:
    sums(turn, calculator)
    assert promote(bob_client, turn).status_code == 404
    address = f"/api/v1/conversations/{turn.conversation_id}/turns/{turn.pk}/promote/"
    assert bob_client.post(address, {}, content_type="application/json").status_code == 404
    assert not Tool.objects.filter(kind="sequence").exists()


def test_over_rest_it_answers_with_the_tool_and_its_places(
    alice_client: Client, turn: Turn, calculator: Tool
) -> None:
    address = f"/api/v1/conversations/{turn.conversation_id}/turns/{turn.pk}/promote/"
    nothing = alice_client.post(address, {}, content_type="application/json")
    assert (nothing.status_code, nothing.json()["code"]) == (409, "nothing_to_promote")
    wrong = alice_client.post(address, {"program": "no-id"}, content_type="application/json")
    assert wrong.status_code == 400
    sums(turn, calculator)
    answer = alice_client.post(address, {}, content_type="application/json")
    assert answer.status_code == 201
    told = answer.json()
    tool = Tool.objects.get(pk=told["id"])
    assert told["name"] == tool.wire_name
    assert alice_client.get(told["url"]).json()["id"] == told["id"]
    assert alice_client.get(told["page"]).status_code == 200


def test_a_turn_is_offered_once_it_is_over_and_a_tool_answered(turn: Turn) -> None:
    assert not has_promotable(turn)
    calls = [{"id": "a", "name": "search_tools", "arguments": "{}"}]
    Message.objects.create(turn=turn, position=1, role=Role.ASSISTANT, tool_calls=calls)
    answered = {"role": Role.TOOL, "result": {"status": "succeeded"}}
    Message.objects.create(turn=turn, position=2, tool_call_id="a", **answered)
    assert not has_promotable(turn)
    calls = [{"id": "b", "name": "calculator", "arguments": "{}"}]
    Message.objects.create(turn=turn, position=3, role=Role.ASSISTANT, tool_calls=calls)
    Message.objects.create(turn=turn, position=4, tool_call_id="b", **answered)
    assert has_promotable(turn)
    turn.status = TurnStatus.RUNNING
    assert not has_promotable(turn)
