"""What a change of a tool does to the agents that carry it."""

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse

from registry.impact.finding import impact_of
from registry.models import Tool
from tests import factories
from tests.registry.impact.workshop import (
    SEARCH_INPUT,
    changed,
    link,
    make_search,
    searching,
    told,
)


@pytest.fixture
def search(db: None) -> Tool:
    return make_search()


SMALLER = {
    **SEARCH_INPUT,
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "maximum": 10}},
}
WITHOUT_LIMIT = {**SEARCH_INPUT, "properties": {"query": {"type": "string"}}}


def test_a_preset_that_no_longer_fits_is_told_with_its_name(alice: User, search: Tool) -> None:
    link(factories.make_agent(alice, name="Ada"), search, config={"limit": 20})
    assert told(changed(search, alice, input_schema=SMALLER)) == [
        (
            "Ada",
            "its preset “limit” of search",
            "The preset value of “limit” must be at most 10. Change it or take it out.",
        )
    ]


def test_a_preset_of_an_input_that_goes_is_told(alice: User, search: Tool) -> None:
    link(factories.make_agent(alice), search, config={"limit": 20})
    assert told(changed(search, alice, input_schema=WITHOUT_LIMIT))[0][2] == (
        "“search” would have no input “limit”. Take the preset out."
    )


def test_a_preset_that_fits_and_a_link_without_one_go_on_working(alice: User, search: Tool) -> None:
    link(factories.make_agent(alice), search, config={"limit": 5})
    link(factories.make_agent(alice), search)
    impact = changed(search, alice, input_schema=SMALLER)
    assert len(impact.agents) == 2 and not impact.breaks


def test_a_pin_keeps_a_link_but_not_when_the_tool_goes(alice: User, search: Tool) -> None:
    link(factories.make_agent(alice, name="Ada"), search, config={"limit": 20}, pinned_version=1)
    impact = changed(search, alice, input_schema=SMALLER)
    assert impact.agents[0].kept and not impact.breaks
    assert impact.agents[0].how == "linked, pinned to v1"

    impact = impact_of([search.pk], user=alice, gone=True)
    assert told(impact) == [
        (
            "Ada",
            "its link of search",
            "It could no longer call “search”. Link another tool, or unlink it.",
        )
    ]


def test_a_scope_that_the_agent_lacks_is_told(alice: User, search: Tool) -> None:
    link(factories.make_agent(alice, name="Ada"), search)
    link(factories.make_agent(alice, name="Bea", scopes=["web:read"]), search)
    assert told(changed(search, alice, required_scopes=["web:read"])) == [
        (
            "Ada",
            "its link of search",
            "“search” would require the scope web:read, which the agent is not granted. "
            "Grant it in the agent's settings.",
        )
    ]


def test_a_denied_tool_may_go_without_harm(alice: User, search: Tool) -> None:
    link(factories.make_agent(alice), search, approval="deny")
    impact = impact_of([search.pk], user=alice, gone=True)
    assert impact.agents[0].how == "denied" and not impact.breaks


def test_an_agent_is_touched_through_a_sequence(alice: User, search: Tool) -> None:
    sequence = searching(alice, search, title="Weekly")
    link(factories.make_agent(alice, name="Ada"), sequence)
    impact = impact_of([search.pk], user=alice, gone=True)
    assert (impact.agents[0].name, impact.agents[0].path) == ("Ada", ("Weekly",))
    assert ("Ada", f"its link of {sequence.wire_name}") in [it[:2] for it in told(impact)]


def test_a_sequence_that_a_pin_keeps_touches_no_agent(alice: User, search: Tool) -> None:
    sequence = searching(alice, search, step={"toolVersion": 1})
    link(factories.make_agent(alice), sequence)
    assert not changed(search, alice, input_schema=WITHOUT_LIMIT).agents


def test_agents_of_others_are_only_counted(alice: User, charlie: User, search: Tool) -> None:
    link(factories.make_agent(alice, name="Secret"), search, config={"limit": 20})
    impact = changed(search, charlie, input_schema=SMALLER)
    assert not impact.agents and not impact.troubles
    assert impact.hidden.words == "1 agent of other people" and impact.breaks


def test_an_agent_of_the_team_is_told_with_its_page(
    alice: User, bob: User, team: Group, search: Tool
) -> None:
    agent = factories.make_agent(alice, visibility="team", team=team)
    link(agent, search)
    (item,) = impact_of([search.pk], user=bob, gone=True).agents
    assert item.url == reverse("agents:agent_detail", args=[agent.slug])


def test_who_is_told_of_an_agent_is_not_told_of_a_sequence_of_another(
    alice: User, bob: User, team: Group, search: Tool
) -> None:
    sequence = searching(alice, search, title="Secret plan")
    link(factories.make_agent(alice, name="Ada", visibility="team", team=team), sequence)
    impact = impact_of([search.pk], user=bob, gone=True)
    assert impact.agents[0].path == ("a sequence of another person",)
    assert "step" not in told(impact)[0][2]


def test_a_governor_is_told_of_all_agents(alice: User, governor: User, search: Tool) -> None:
    link(factories.make_agent(alice, name="Ada"), search)
    (item,) = impact_of([search.pk], user=governor, gone=True).agents
    assert (item.name, item.owner, item.url) == ("Ada", "alice", "")
