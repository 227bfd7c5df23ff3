"""What a turn cost: its tokens, its price where one is known, and the sums of its agent."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agents.models import ModelUsage
from chat.models.turn import TurnStatus
from registry.models import Tool
from tests import factories
from tests.fakes.model_server import Call, Reply

pytestmark = pytest.mark.django_db(transaction=True)

PRICED = "openai/gpt-4o-mini"
UNKNOWN = "openai/scripted"


def conversation_with(alice, model, *tools: Tool):
    return factories.make_conversation(alice, factories.make_agent(alice, *tools, model=model))


def sums_of(conversation):
    return ModelUsage.objects.get(agent_id=conversation.agent_id)


def test_tokens_and_cost_of_all_answers_of_a_turn_are_added_up(alice, model, say):
    conversation = conversation_with(alice, PRICED, factories.make_builtin("calculator"))
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.enqueue(Reply("It is 2.", cached=4))
    turn = say(conversation, "What is 1 + 1?")
    assert turn.usage == {"input_tokens": 22, "output_tokens": 14, "cached_tokens": 4}
    assert Decimal(0) < turn.cost < Decimal("0.001")
    sums = sums_of(conversation)
    assert (sums.turns, sums.completed, sums.failed, sums.stopped) == (1, 1, 0, 0)
    assert (sums.input_tokens, sums.output_tokens, sums.cached_tokens) == (22, 14, 4)
    assert (sums.cost, sums.unpriced, sums.model) == (turn.cost, 0, PRICED)


def test_the_cost_of_a_model_without_a_known_price_is_unknown_and_not_nothing(alice, model, say):
    conversation = conversation_with(alice, UNKNOWN)
    model.enqueue("Hello.")
    assert say(conversation, "Hello").cost is None
    sums = sums_of(conversation)
    assert (sums.cost, sums.unpriced, sums.input_tokens) == (None, 1, 11)


def test_what_a_failed_turn_had_used_is_counted_too(alice, model, say):
    conversation = conversation_with(alice, PRICED, factories.make_builtin("calculator"))
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.refuses(400, "No more.")
    turn = say(conversation, "What is 1 + 1?")
    assert turn.status == TurnStatus.FAILED
    assert turn.usage == {"input_tokens": 11, "output_tokens": 7}
    assert turn.cost > 0
    assert (sums_of(conversation).failed, sums_of(conversation).input_tokens) == (1, 11)


def test_a_turn_that_was_refused_at_once_has_no_cost_and_no_tokens(alice, model, say):
    conversation = conversation_with(alice, PRICED)
    model.refuses(401, "Bad key.")
    turn = say(conversation, "Hello")
    assert (turn.usage, turn.cost) == ({}, None)
    assert (sums_of(conversation).cost, sums_of(conversation).unpriced) == (None, 0)


def test_sums_outlive_a_deleted_conversation_and_count_all_agents_together(alice, model, say):
    first, second = conversation_with(alice, PRICED), conversation_with(alice, PRICED)
    model.enqueue("One.", "Two.")
    say(first, "One")
    say(second, "Two")
    first.delete()
    assert sums_of(first).turns == 1
    assert sum(row.turns for row in ModelUsage.objects.filter(agent_id=None)) == 2
