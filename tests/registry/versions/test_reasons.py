"""Why a person changes a tool of their own is kept in its history."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from registry.models import Tool
from tests import factories

pytestmark = pytest.mark.django_db


def own_sequence() -> tuple[Tool, Client]:
    owner = factories.make_user()
    factories.make_builtin("calculator")
    client = Client()
    client.force_login(owner)
    return factories.make_sequence(owner), client


def patched(client: Client, tool: Tool, **body: Any) -> Any:
    return client.patch(f"/api/v1/tools/{tool.pk}/", body, content_type="application/json")


def test_the_api_keeps_the_reason_of_a_change() -> None:
    tool, client = own_sequence()
    answer = patched(client, tool, description="Says it better.", reason="Clearer words")

    assert answer.status_code == 200, answer.content
    assert tool.versions.get(number=2).reason == "Clearer words"


def test_a_reason_that_is_too_long_is_refused_with_its_length() -> None:
    tool, client = own_sequence()
    answer = patched(client, tool, description="Says it better.", reason="x" * 201)

    assert answer.status_code == 400
    assert tool.versions.count() == 1


def test_the_builder_keeps_the_reason_of_a_change() -> None:
    tool, client = own_sequence()
    url = reverse("sequences:sequence_edit", args=[tool.pk])
    assert "Version note" in client.get(url).content.decode()
    step = tool.definition["steps"][0] if tool.definition else {}
    answer = client.post(
        url,
        {
            "action": "publish",
            "name": tool.title,
            "description": "Says it better.",
            "visibility": "private",
            "schema": '{"type": "object", "properties": {"text": {"type": "string"}}}',
            "steps-0-tool": step["toolToRunId"],
            "steps-0-in-0-name": "expression",
            "steps-0-in-0-source": "static",
            "steps-0-in-0-value": "1+1",
            "reason": "Clearer words",
        },
    )

    assert answer.status_code == 302, answer.content.decode()[:3000]
    assert tool.versions.get(number=2).reason == "Clearer words"
