"""Labelled queries of an agent: what may be kept, by whom, and what is masked."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from agents import search_cases
from agents.models import SearchCase
from agents.search_cases import case_create, case_delete, case_owned_by, case_update, cases_of
from agents.services import credential_set
from config.lib.errors import Conflict, InvalidInput, NotFound
from registry.models.tool import Visibility
from registry.services import tool_delete
from tests.factories import make_agent, make_builtin, make_run_code, make_tool

pytestmark = pytest.mark.django_db


def kept(agent, query="roll two dice", **fields):
    return case_create(agent, by=agent.owner, query=query, **fields)


def test_a_case_keeps_what_was_said_and_what_it_should_find(alice):
    agent, tool, turn = make_agent(alice), make_builtin("random_number"), uuid4()
    case = kept(agent, expected=[tool.pk], recent=["hello", " "], turn_id=turn)

    (found,) = cases_of(agent)
    assert (found.query, found.recent, found.turn_id) == ("roll two dice", ["hello"], turn)
    assert list(found.expected.all()) == [tool]
    assert (case.created_by, str(case)) == (alice, "roll two dice")


def test_a_case_may_expect_nothing(alice):
    assert list(kept(make_agent(alice)).expected.all()) == []


def test_the_same_query_is_kept_once_for_each_agent(alice):
    agent = make_agent(alice)
    kept(agent)
    with pytest.raises(Conflict, match="has this query already"):
        kept(agent, " roll two dice ")
    kept(make_agent(alice))
    with pytest.raises(IntegrityError), transaction.atomic():
        SearchCase.objects.create(agent=agent, query="roll two dice", created_by=alice)


def test_a_long_query_is_unique_too(alice):
    agent = make_agent(alice)
    kept(agent, "話" * 2_000)
    with pytest.raises(Conflict):
        kept(agent, "話" * 2_000)


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"query": " \n "}, "query", "Say what the person said."),
        ({"query": "x" * 2_001}, "query", "At most 2,000 characters"),
        ({"recent": ["x" * 2_001]}, "recent", "At most 2,000 characters"),
        ({"recent": list("abcdef")}, "recent", "At most 5 earlier messages"),
        ({"expected": [uuid4()]}, "expected", "There is no tool"),
        ({"expected": [uuid4() for _ in range(11)]}, "expected", "At most 10 tools"),
    ],
)
def test_what_cannot_be_kept_is_refused_beside_its_field(alice, fields, path, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        kept(make_agent(alice), **fields)
    assert caught.value.extra["problems"][0]["path"] == path


def test_a_tool_that_the_owner_may_not_use_cannot_be_expected(alice, bob):
    secret = make_tool(owner=bob, visibility=Visibility.PRIVATE)
    for tool in (secret, make_run_code()):
        with pytest.raises(InvalidInput, match="may not use it"):
            kept(make_agent(alice), expected=[tool.pk])


def test_an_agent_has_so_many_cases_and_no_more(alice, monkeypatch):
    monkeypatch.setattr(search_cases, "MOST_CASES", 1)
    agent = make_agent(alice)
    kept(agent)
    with pytest.raises(InvalidInput, match="has 1 labelled queries already"):
        kept(agent, "another")


def test_values_of_credentials_are_masked(alice):
    agent = make_agent(alice)
    credential_set(alice, name="EXA_API_KEY", value="secret-value-123")
    case = kept(agent, "search with secret-value-123", recent=["it is secret-value-123"])
    case.refresh_from_db()
    assert "secret-value-123" not in f"{case.query} {case.recent}"
    assert case.query.startswith("search with ")


def test_a_case_is_changed_and_a_tool_that_has_gone_may_stay(alice):
    agent, gone, other = make_agent(alice), make_tool(), make_tool()
    case = kept(agent, expected=[gone.pk])
    tool_delete(gone)
    case = case_owned_by(alice, agent.slug, case.pk)
    changed = case_update(case, query="roll", expected=[gone.pk, other.pk], recent=["a"])
    assert {tool.pk for tool in changed.expected.all()} == {gone.pk, other.pk}
    assert (changed.query, changed.recent) == ("roll", ["a"])


def test_only_the_owner_of_the_agent_has_its_cases(alice, bob, team):
    agent = make_agent(alice, visibility="team", team=team)
    case = kept(agent)
    with pytest.raises(NotFound, match="no such query with an agent of yours"):
        case_owned_by(bob, agent.slug, case.pk)
    with pytest.raises(NotFound):
        case_owned_by(alice, make_agent(alice).slug, case.pk)
    case_delete(case_owned_by(alice, agent.slug, case.pk))
    assert not SearchCase.objects.exists()
