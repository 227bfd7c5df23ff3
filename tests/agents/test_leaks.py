"""What an agent's figures tell to those who may talk to it, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from registry.models import Invocation
from tests.factories import make_agent, make_sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from django.test import Client

pytestmark = pytest.mark.django_db


def test_names_of_private_tools_are_not_told_with_a_public_agents_figures(
    alice: User, bob: User, client_for: Callable[[User], Client]
) -> None:
    private = make_sequence(alice, wire_name="merger_with_acme", title="Merger with Acme")
    agent = make_agent(alice, private, visibility="shared")
    Invocation.objects.create(
        tool=private,
        tool_version=1,
        caller="chat",
        user=alice,
        agent_id=agent.pk,
        outcome="succeeded",
        phase="execute",
        arguments={},
        duration_ms=1,
    )
    client = client_for(bob)
    for url in (
        reverse("agents:agent_detail", args=[agent.slug]),
        reverse("agents:agent_usage", args=[agent.slug]),
        f"/api/v1/agents/{agent.slug}/",
        f"/api/v1/agents/{agent.slug}/usage/",
        f"/api/v1/agents/{agent.slug}/tools/",
    ):
        answer = client.get(url)
        text = answer.content.decode()
        assert answer.status_code == 200, url
        assert "merger_with_acme" not in text, url
        assert "Merger with Acme" not in text, url
