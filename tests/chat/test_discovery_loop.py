"""A model that searches on and on is told to use what it has."""

import pytest

from agents.models.agent import DiscoveryMode
from chat.models.message import Role
from chat.repeats import Searches
from registry.finding import Wanted
from tests import factories
from tests.chat.test_discovery import results_of, toolbox_of
from tests.fakes.model_server import MODEL, Call

pytestmark = pytest.mark.django_db(transaction=True)

NEED = "convert a markdown document into clean html pages"


def wanted(need: str = "", **ways) -> Wanted:
    return Wanted.of({"need": need, **ways})


@pytest.mark.parametrize(
    ("again", "refused"),
    [
        (NEED, True),
        ("Converting markdown documents into clean HTML page", True),
        ("convert markdown document into html pages", True),
        ("send an e-mail to a person", False),
        ("convert markdown", False),
    ],
)
def test_a_search_for_nearly_the_same_terms_is_refused_with_the_names(again, refused):
    searches = Searches()
    searches.made(wanted(NEED), ["to_html"])
    told = searches.refusal(wanted(again))
    assert bool(told) is refused
    assert not refused or "found: to_html." in told


def test_a_search_in_another_way_is_another_search():
    searches = Searches()
    searches.made(wanted(NEED), [])
    assert not searches.refusal(wanted(NEED, names=["to_html"]))
    assert not searches.refusal(wanted(NEED, pattern="html"))


def test_the_third_search_in_a_row_is_refused_and_a_call_ends_the_row():
    searches = Searches()
    for need in ("weather", "mail"):
        assert not searches.refusal(wanted(need))
        searches.asked()
        searches.made(wanted(need), [f"{need}_tool"])
        searches.next_round()
    assert "weather_tool, mail_tool" in searches.refusal(wanted("stocks"))
    searches.called()
    assert not searches.refusal(wanted("stocks"))


def test_searches_side_by_side_in_one_message_are_one_round():
    searches = Searches()
    for need in ("weather", "mail", "stocks", "news"):
        searches.asked()
        assert not searches.refusal(wanted(need))
        searches.made(wanted(need), [])


def test_the_model_is_told_to_stop_after_two_searches_in_a_row(alice, model, say):
    factories.make_builtin("calculator")
    conversation = factories.make_conversation(alice, factories.make_agent(alice, model=MODEL))
    for need in ("arithmetic expressions", "stock prices", "weather in a town"):
        model.calls(Call("search_tools", {"need": need}))
    model.calls(Call("calculator", {"expression": "1+1"}))
    model.calls(Call("search_tools", {"need": "weather in a town"}))
    model.enqueue("Done.")
    results = results_of(say(conversation, "hello"))
    stopped = results[2]["output"]["note"]
    assert "2 times in a row" in stopped and "calculator" in stopped
    assert "in a row" not in results[4]["output"]["note"]


def test_a_turn_that_is_taken_up_again_knows_what_it_searched_for(alice):
    factories.make_builtin("calculator")
    agent = factories.make_agent(alice, model=MODEL, discovery_mode=DiscoveryMode.FILTER)
    conversation = factories.make_conversation(alice, agent)
    turn = factories.make_turn(conversation, model=MODEL, found={"query": "", "tools": []})
    said = {"role": Role.USER, "content": "hello"}
    call = {"id": "a", "name": "search_tools", "arguments": '{"need": "arithmetic expressions"}'}
    bad = {"id": "b", "name": "search_tools", "arguments": "{"}
    result = {"status": "succeeded", "output": {"tools": [{"name": "calculator"}], "note": ""}}
    rows = [
        said,
        {"role": Role.ASSISTANT, "tool_calls": [call, bad]},
        {"role": Role.TOOL, "tool_call_id": "a", "result": result},
        {"role": Role.TOOL, "tool_call_id": "b", "result": {"status": "failed", "error": {}}},
    ]
    for position, row in enumerate(rows):
        turn.messages.create(position=position, **row)
    toolbox = toolbox_of(conversation, turn)
    answer = toolbox._search_answer({"need": "an arithmetic expression"})
    assert "found: calculator." in answer.value["note"]
