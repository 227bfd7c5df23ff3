"""Pages of agents, credentials and tokens."""

import pytest
from django.urls import reverse

from agents.models import Agent, AgentTool, ApiToken, Credential
from agents.services import credential_set
from agents.tokens import token_create, token_of
from registry.services import tool_delete
from tests.factories import make_agent, make_tool

pytestmark = pytest.mark.django_db

PAGES = ["agents:agent_list", "agents:agent_create", "agents:credential_list", "agents:token_list"]


@pytest.mark.parametrize("name", PAGES)
def test_a_stranger_is_asked_to_sign_in(client, name):
    assert client.get(reverse(name)).headers["Location"].startswith("/login/")


@pytest.mark.parametrize("name", PAGES)
def test_an_empty_page_opens(client_for, alice, name):
    assert client_for(alice).get(reverse(name)).status_code == 200


def test_the_list_asks_the_database_the_same_for_one_agent_and_for_many(
    client_for, alice, django_assert_max_num_queries
):
    for _ in range(10):
        make_agent(alice, make_tool())
    client = client_for(alice)
    with django_assert_max_num_queries(4):
        client.get(reverse("agents:agent_list"))


def test_an_agent_is_made_by_the_form(client_for, alice):
    form = {
        "name": "Helper",
        "discovery_mode": "auto",
        "max_found_tools": 5,
        "visibility": "private",
        "scopes": "mail:send, mail:read",
    }
    answer = client_for(alice).post(reverse("agents:agent_create"), form)

    agent = Agent.objects.get()
    assert answer.headers["Location"] == reverse("agents:agent_detail", args=[agent.slug])
    assert agent.scopes == ["mail:read", "mail:send"]


def test_a_form_with_a_problem_keeps_what_was_typed(client_for, alice):
    form = {"name": "", "instructions": "Be kind.", "discovery_mode": "auto"}
    answer = client_for(alice).post(reverse("agents:agent_create"), form)

    assert answer.status_code == 400
    assert "Be kind." in answer.content.decode()


def test_tools_are_chosen_with_and_without_htmx(client_for, alice):
    agent, first, second = make_agent(alice), make_tool(), make_tool()
    client, url = client_for(alice), reverse("agents:agent_tools", args=[agent.slug])

    plain = client.post(url, {"tools": [first.pk]})
    assert plain.status_code == 302
    fragment = client.post(url, {"tools": [second.pk]}, headers={"HX-Request": "true"})

    assert b"<html" not in fragment.content
    assert b"The agent&#x27;s tools are saved." in fragment.content
    assert [link.tool_id for link in AgentTool.objects.filter(agent=agent)] == [second.pk]


def test_a_forged_tool_id_is_a_400_with_words(client_for, alice):
    agent = make_agent(alice)
    answer = client_for(alice).post(
        reverse("agents:agent_tools", args=[agent.slug]), {"tools": ["nonsense"]}
    )

    assert answer.status_code == 400
    assert "is not a tool" in answer.content.decode()


@pytest.mark.parametrize("name", ["agent_detail", "agent_edit", "agent_tools"])
def test_strangers_do_not_see_an_agent(client_for, alice, charlie, name):
    agent = make_agent(alice)

    assert client_for(charlie).get(reverse(f"agents:{name}", args=[agent.slug])).status_code == 404


def test_a_team_mate_sees_a_shared_agent_but_cannot_change_it(client_for, alice, bob, team):
    agent = make_agent(alice, visibility="team", team=team)
    client = client_for(bob)

    page = client.get(reverse("agents:agent_detail", args=[agent.slug]))
    assert page.status_code == 200
    assert "Save tools" not in page.content.decode()
    assert client.get(reverse("agents:agent_edit", args=[agent.slug])).status_code == 404
    assert client.post(reverse("agents:agent_delete", args=[agent.slug])).status_code == 404


def test_deleting_an_agent_takes_a_post(client_for, alice):
    agent = make_agent(alice)
    client, url = client_for(alice), reverse("agents:agent_delete", args=[agent.slug])

    assert client.get(url).status_code == 405
    client.post(url)
    assert not Agent.objects.exists()


def test_a_credentials_value_is_never_shown(client_for, alice):
    client = client_for(alice)
    url = reverse("agents:credential_list")
    client.post(url, {"name": "EXA_API_KEY", "value": "canary-value"})

    page = client.get(url).content.decode()
    assert "EXA_API_KEY" in page
    assert "canary" not in page


def test_a_bad_credential_name_is_explained(client_for, alice):
    answer = client_for(alice).post(
        reverse("agents:credential_list"), {"name": "my key", "value": "x"}
    )

    assert answer.status_code == 400
    assert "Use capital letters" in answer.content.decode()


def test_nobody_deletes_another_persons_credential(client_for, alice, charlie):
    credential = credential_set(alice, name="KEY", value="x")
    client_for(charlie).post(reverse("agents:credential_delete", args=[credential.pk]))

    assert Credential.objects.filter(pk=credential.pk).exists()


def test_a_new_token_is_shown_once(client_for, alice):
    client, url = client_for(alice), reverse("agents:token_list")
    made = client.post(url, {"name": "script"})

    token = ApiToken.objects.get()
    text = next(
        word
        for word in made.content.decode().replace("<", " ").replace(">", " ").split()
        if word.startswith(token.prefix)
    )
    assert token_of(text) == token
    assert made.headers["Cache-Control"] == "no-store"
    assert text not in client.get(url).content.decode()


def test_nobody_revokes_another_persons_token_by_the_page(client_for, alice, charlie):
    token, _ = token_create(alice, name="script")
    client_for(charlie).post(reverse("agents:token_revoke", args=[token.pk]))

    assert ApiToken.objects.filter(pk=token.pk).exists()


def test_the_admin_never_shows_a_secret(client_for, governor, alice):
    credential = credential_set(alice, name="KEY", value="canary-value")
    token, text = token_create(alice, name="script")
    client = client_for(governor)

    for name, pk in (("credential", credential.pk), ("apitoken", token.pk)):
        page = client.get(reverse(f"admin:agents_{name}_change", args=[pk])).content.decode()
        assert "canary" not in page
        assert token.digest not in page
        assert text not in page


def test_a_tool_that_was_deleted_is_told_and_can_be_unlinked(client_for, alice):
    tool = make_tool(wire_name="search", owner=alice)
    agent = make_agent(alice, tool)
    tool_delete(tool)
    client = client_for(alice)
    page = client.get(reverse("agents:agent_detail", args=[agent.slug])).content.decode()
    assert "search was deleted" in page and "Unlink search" in page
    unlink = reverse("agents:agent_tool_unlink", args=[agent.slug, tool.pk])
    assert client.post(unlink).status_code == 302
    assert not AgentTool.objects.filter(agent=agent).exists()
    page = client.get(reverse("agents:agent_detail", args=[agent.slug])).content.decode()
    assert "search was deleted" not in page


def test_nobody_unlinks_a_tool_of_anothers_agent(client_for, alice, bob):
    tool = make_tool()
    agent = make_agent(alice, tool)
    unlink = reverse("agents:agent_tool_unlink", args=[agent.slug, tool.pk])
    assert client_for(bob).post(unlink).status_code == 404
    assert AgentTool.objects.filter(agent=agent).exists()
