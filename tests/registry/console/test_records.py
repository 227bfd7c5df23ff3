"""What the product writes is looked at in the console, and changed by nobody there."""

import pytest
from django.urls import reverse

from agents.models import AgentTool, Credential
from agents.services import credential_set
from tests.factories import make_agent, make_conversation, make_tool

pytestmark = pytest.mark.django_db

SECRET = "nobody-reads-this-value"


@pytest.fixture
def rows(alice):
    """One row of each model that people or the product write elsewhere."""
    agent = make_agent(alice, make_tool(), name="Announcer")
    conversation = make_conversation(alice, agent)
    credential_set(alice, name="ACME_KEY", value=SECRET)
    return {
        "agents_agent": agent,
        "agents_agenttool": AgentTool.objects.get(),
        "agents_credential": Credential.objects.get(),
        "chat_conversation": conversation,
    }


MODELS = ["agents_agent", "agents_agenttool", "agents_credential", "chat_conversation"]


@pytest.mark.parametrize("model", MODELS)
def test_a_record_is_shown_and_not_changed(governor, client_for, rows, model):
    client = client_for(governor)
    page = reverse(f"admin:{model}_change", args=[rows[model].pk])

    for url in (page, reverse(f"admin:{model}_changelist")):
        answer = client.get(url)
        assert answer.status_code == 200
        text = answer.content.decode()
        assert SECRET not in text
        assert "ciphertext" not in text
        assert "<select name=" not in text.replace('<select name="action"', "")
    assert client.post(page, {"name": "Mine"}).status_code == 403
    assert client.get(reverse(f"admin:{model}_add")).status_code == 403
    assert client.post(reverse(f"admin:{model}_add"), {}).status_code == 403


@pytest.mark.parametrize("model", MODELS)
def test_people_outside_governance_see_no_record(alice, client_for, rows, model):
    page = reverse(f"admin:{model}_change", args=[rows[model].pk])

    assert client_for(alice).get(page).status_code == 302
    assert client_for(alice).post(page, {}).status_code == 302


@pytest.mark.parametrize("model", ["agents_agent", "agents_agenttool"])
def test_what_others_rely_on_is_not_deleted_here(governor, client_for, rows, model):
    delete = reverse(f"admin:{model}_delete", args=[rows[model].pk])

    assert client_for(governor).post(delete, {"post": "yes"}).status_code == 403
    assert type(rows[model]).objects.filter(pk=rows[model].pk).exists()
