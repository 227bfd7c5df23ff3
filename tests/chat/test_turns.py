"""A turn from the message to its last event, with the scripted model."""

import pytest
from tests import factories
from tests.fakes.model_server import MODEL, Call
pytestmark = pytest.mark.django_db(transaction=True)

def test_a_linked_tool_is_called_and_its_result_is_told(alice, model, say):
    calc = factories.make_builtin("calculator")
    agent = factories.make_agent(alice, calc, model=MODEL)
    conversation = factories.make_conversation(alice, agent)
    model.calls(Call("calculator", {"expression": "17*23"}), text="Let me see. ")
    model.enqueue("It is 391.")
    turn = say(conversation, "What is 17*23?")
    print(turn.status, turn.error, turn.usage, turn.found)
    for e in turn.events.order_by("number"): print(e, e.data)
    for m in turn.messages.order_by("position"): print(m.position, m, m.result)
    print(model.requests[0]["messages"][0]["content"], model.requests[1]["messages"][1:])
    assert turn.status == "completed"
