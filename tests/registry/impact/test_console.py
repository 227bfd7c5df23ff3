"""Whoever governs sees whom a decision touches before it is made."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from registry.models import Proposal, Tool
from registry.services import tool_publish
from tests import factories
from tests.registry.impact.workshop import link, make_search, searching


@pytest.fixture
def search(alice: User) -> Tool:
    tool = make_search()
    searching(alice, tool, title="Weekly")
    link(factories.make_agent(alice, name="Ada"), tool)
    return tool


def between(client: Client, model: str, action: str, item: Any) -> str:
    """Return the page between an action and what it does."""
    url = reverse(f"admin:registry_{model}_changelist")
    answer = client.post(url, {"action": action, "_selected_action": [str(item.pk)]})
    return answer.content.decode()


@pytest.mark.parametrize("action", ["reject", "quarantine"])
@pytest.mark.parametrize("model", ["tool", "package"])
def test_the_end_of_a_tool_or_package_shows_what_breaks(
    client_for: Any, governor: User, search: Tool, model: str, action: str
) -> None:
    item = search if model == "tool" else search.package
    page = between(client_for(governor), model, action, item)
    assert "This breaks 1 agent and 1 sequence: “Weekly”, “Ada”." in page


def test_approving_a_proposal_shows_what_breaks(
    client_for: Any, governor: User, search: Tool
) -> None:
    search.input_schema = {**search.input_schema, "required": ["query", "limit"]}
    tool_publish(search, author=None)
    staged = [{"tool": str(search.pk), "export": search.export_name, "number": 2, "live": 1}]
    proposal = Proposal.objects.create(
        package=search.package, cause="import", digest="x", versions=staged
    )
    Tool.objects.filter(pk=search.pk).update(
        version=1, input_schema={**search.input_schema, "required": ["query"]}
    )
    client = client_for(governor)
    told = "This breaks 1 sequence: “Weekly”."
    assert told in between(client, "proposal", "approve", proposal)
    page = client.get(reverse("admin:registry_proposal_change", args=[proposal.pk]))
    assert told in page.content.decode()
    assert told not in between(client, "proposal", "reject", proposal)


def test_the_page_of_a_tool_leads_to_its_impact(
    client_for: Any, governor: User, search: Tool
) -> None:
    page = client_for(governor).get(reverse("admin:registry_tool_change", args=[search.pk]))
    assert reverse("registry:tool_impact", args=[search.pk]) in page.content.decode()
