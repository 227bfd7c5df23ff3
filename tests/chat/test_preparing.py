"""What a message costs in queries until its model is asked."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models.agent import DiscoveryMode
from chat import turns
from chat.models import Conversation, DiscoveredTool
from chat.models.turn import TurnStatus
from chat.preparing import Ready
from chat.services import message_send
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)

MOST_QUERIES = 20
"""From the message to the model, behind the request's own: who it is, and which conversation."""

BOUNDS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


@pytest.fixture
def talking(alice) -> Conversation:
    for name in ("current_time", "count_text"):
        factories.make_builtin(name)
    calculator = factories.make_builtin("calculator")
    agent = factories.make_agent(alice, calculator, discovery_mode=DiscoveryMode.AUTO_FILTER)
    return factories.make_conversation(alice, agent)


@pytest.fixture
def sent(monkeypatch):
    """Hold what would be run."""
    started = []
    monkeypatch.setattr("chat.services.turn_start", lambda *args: started.append(args))
    return started


def taken(conversation, sent, content) -> tuple[Ready, list[str]]:
    """Send a message and make its turn ready; return it, and the queries that it took."""
    with CaptureQueriesContext(connection) as captured:
        message_send(conversation, content=content)
        ready = turns._take(*sent.pop()).ready
    turns._running.clear()  # nobody runs it
    assert isinstance(ready, Ready), ready
    queries = [each["sql"] for each in captured.captured_queries]
    return ready, [each for each in queries if not each.startswith(BOUNDS)]


def test_a_message_takes_few_queries_until_its_model_is_asked(talking, sent):
    taken(talking, sent, "What time is it in Tokyo?")  # loads the index and the specs
    turn = talking.turns.get()
    turns.turn_finish(turn.pk, TurnStatus.COMPLETED)
    ready, queries = taken(talking, sent, "And in Oslo, what time is it there?")
    assert "current_time" in [each["function"]["name"] for each in ready.toolbox.schemas()]
    assert len(queries) <= MOST_QUERIES, "\n".join(each[:120] for each in queries)


def test_the_number_of_queries_does_not_grow_with_what_was_found(talking, sent, alice):
    taken(talking, sent, "What time is it in Tokyo?")
    turn = talking.turns.get()
    turns.turn_finish(turn.pk, TurnStatus.COMPLETED)
    _, few = taken(talking, sent, "Hello")
    turns.turn_finish(talking.turns.latest("number").pk, TurnStatus.COMPLETED)
    tools = [factories.make_tool(owner=alice, wire_name=f"other_{n}") for n in range(12)]
    DiscoveredTool.objects.bulk_create(
        DiscoveredTool(
            conversation=talking, tool=tool, place=100 + n, found_in=turn, used_in=turn.number
        )
        for n, tool in enumerate(tools)
    )
    taken(talking, sent, "Hello")  # reads the new versions
    turns.turn_finish(talking.turns.latest("number").pk, TurnStatus.COMPLETED)
    ready, many = taken(talking, sent, "Hello")
    assert len(ready.toolbox.toolset) > 12
    assert len(many) <= len(few) + 1, "that is the one which reads the tools"


def test_what_was_discovered_is_written_down_beside_the_models_work(talking, sent):
    ready, _ = taken(talking, sent, "What time is it in Tokyo?")
    turn = talking.turns.get()
    assert not DiscoveredTool.objects.exists()
    ready.keep(turn.pk)
    turn.refresh_from_db()
    names = [each["name"] for each in turn.found["tools"] if each["injected"]]
    assert names[0] == "current_time"
    rows = DiscoveredTool.objects.order_by("place")
    assert list(rows.values_list("tool__wire_name", flat=True)) == names
