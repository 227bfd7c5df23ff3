"""Changing agents, links and credentials."""

import pytest

from agents import services
from agents.credentials import CredentialUnreadable, env_of, reveal
from agents.models import AgentTool, Credential
from agents.models.agent_tool import Approval
from config.lib.errors import InvalidInput, NotFound
from registry.models.tool import Visibility
from tests.factories import make_agent, make_team, make_tool

pytestmark = pytest.mark.django_db


def test_agents_of_the_same_name_get_slugs_of_their_own(alice):
    slugs = [services.agent_create(alice, name="My Agent").slug for _ in range(3)]

    assert slugs == ["my-agent", "my-agent-2", "my-agent-3"]


def test_an_agent_named_like_a_page_gets_another_slug(alice):
    assert services.agent_create(alice, name="Tokens").slug == "tokens-agent"


def test_a_name_without_letters_still_makes_an_agent(alice):
    assert services.agent_create(alice, name="☃").slug == "agent"


def test_an_agent_without_a_name_is_refused_with_the_field(alice):
    with pytest.raises(InvalidInput) as caught:
        services.agent_create(alice, name="")
    assert caught.value.extra["problems"][0]["path"] == "name"


def test_an_agent_is_shared_with_ones_own_teams_only(alice, charlie):
    theirs = make_team("theirs", charlie)
    with pytest.raises(InvalidInput, match="one of your own teams"):
        services.agent_create(alice, name="A", visibility="team", team=theirs)


def test_an_agent_that_becomes_private_forgets_its_team(alice, team):
    agent = services.agent_create(alice, name="A", visibility="team", team=team)

    assert services.agent_update(agent, visibility="private").team is None


def test_a_tool_is_linked_once_and_its_link_can_change(alice):
    agent, tool = make_agent(alice), make_tool()
    services.tool_link(agent, tool.pk)
    services.tool_link(agent, tool.pk, approval=Approval.DENY, pinned_version=1)

    link = AgentTool.objects.get(agent=agent)
    assert (link.approval, link.pinned_version) == (Approval.DENY, 1)


def test_a_tool_that_the_owner_may_not_use_cannot_be_linked(alice, charlie):
    tool = make_tool(owner=charlie, visibility=Visibility.PRIVATE)
    with pytest.raises(NotFound):
        services.tool_link(make_agent(alice), tool.pk)


def test_choosing_tools_keeps_the_settings_of_those_that_stay(alice):
    stays, goes, comes = make_tool(), make_tool(), make_tool()
    agent = make_agent(alice, stays, goes)
    services.tool_link(agent, stays.pk, pinned_version=1)

    services.tools_set(agent, [stays.pk, comes.pk])

    links = {link.tool_id: link.pinned_version for link in AgentTool.objects.filter(agent=agent)}
    assert links == {stays.pk: 1, comes.pk: None}


def test_a_credential_is_encrypted_at_rest(alice):
    credential = services.credential_set(alice, name="EXA_API_KEY", value="canary-value")

    assert b"canary" not in bytes(Credential.objects.get(pk=credential.pk).ciphertext)
    assert reveal(credential) == "canary-value"


def test_setting_a_credential_again_replaces_it(alice):
    services.credential_set(alice, name="KEY", value="old")
    services.credential_set(alice, name="KEY", value="new")

    assert env_of(alice, None)(["KEY"]) == {"KEY": "new"}


def test_the_agents_own_value_wins_over_the_persons(alice):
    agent, other = make_agent(alice), make_agent(alice)
    services.credential_set(alice, name="KEY", value="mine")
    services.credential_set(alice, name="KEY", value="the agent's", agent=agent)

    assert env_of(alice, agent)(["KEY"]) == {"KEY": "the agent's"}
    assert env_of(alice, other)(["KEY"]) == {"KEY": "mine"}


def test_nobody_reads_another_persons_credentials(alice, charlie):
    services.credential_set(alice, name="KEY", value="mine")

    assert env_of(charlie, None)(["KEY"]) == {}


@pytest.mark.parametrize("name", ["lower", "WITH SPACE", "1KEY", "", "A" * 101])
def test_a_credential_needs_a_variable_name(alice, name):
    with pytest.raises(InvalidInput, match="not a variable name"):
        services.credential_set(alice, name=name, value="x")


def test_a_lost_encryption_key_is_told_as_what_it_is(alice, settings):
    credential = services.credential_set(alice, name="KEY", value="x")
    settings.ENCRYPTION_KEYS = ("0" * 43 + "=",)
    with pytest.raises(CredentialUnreadable, match="KEY cannot be decrypted"):
        reveal(credential)
