"""What the discovery list of 10,000 tools costs for a token with 500 scopes, JSON made."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from rest_framework.renderers import JSONRenderer

from agents.bearer import Bearer
from agents.discovery.audience import audience_of
from agents.discovery.listing import page_of
from registry.api.tool_serializers import ToolSerializer
from registry.models import Tool, ToolVersion
from tests.benchmarks.measure import held, in_turns, measured, rows_of
from tests.factories import TEXT_SCHEMA, make_package, make_tool, make_user

pytestmark = [pytest.mark.bench, pytest.mark.django_db]

TOOLS, SCOPES, SEQUENCES = 10_000, 500, 10
"""Of a hundred tools so many are sequences, of two steps each."""

LIMIT = 100.0
"""Milliseconds."""


@pytest.fixture
def crowd() -> User:
    """Make a person, and tools each of which takes one of 500 scopes."""
    person, package = make_user(), make_package()
    like = make_tool(package=package)
    rows = [
        Tool(
            package=None if (sequence := number % 100 < SEQUENCES) else package,
            kind="sequence" if sequence else "npm",
            owner=person if sequence else None,
            export_name=f"tool{number}",
            wire_name=f"bench_{number}",
            title=f"Bench {number}",
            description="Convert, compare and measure whatever text it is given, in bulk. " * 3,
            input_schema=TEXT_SCHEMA,
            visibility="public",
            review_status="approved",
            required_scopes=[f"scope:{number % SCOPES}"],
            definition=_definition(like, number) if sequence else None,
            version=1,
        )
        for number in range(TOOLS - 1)
    ]
    Tool.objects.bulk_create(rows, 2_000)
    ToolVersion.objects.bulk_create(
        [
            ToolVersion(tool=row, number=1, digest="", snapshot={"definition": row.definition})
            for row in rows
            if row.definition
        ]
    )
    return person


def test_ten_thousand_tools_are_told_at_once(crowd):
    scopes = frozenset({"tools:read", *(f"scope:{number}" for number in range(SCOPES))})
    bearer = Bearer(user=crowd, scopes=scopes, key="bench")

    def ours() -> float:
        return measured(lambda: page_of(audience_of(crowd, bearer)).as_json())

    def serialized() -> float:
        rows = Tool.objects.filter(deleted_at=None, required_scopes__contained_by=list(scopes))
        rows = rows.select_related("package", "owner", "team", "successor").order_by("wire_name")
        return measured(lambda: JSONRenderer().render(ToolSerializer(rows.all(), many=True).data))

    page = page_of(audience_of(crowd, bearer))
    assert len(page.found) == TOOLS
    runs = {"": ours, "DRF": serialized}
    held(rows_of("discovery 10,000 tools", in_turns(runs), {"DRF": 0.5}, LIMIT))


def _definition(like: Tool, number: int) -> dict[str, object]:
    steps = [
        {"stepNumber": step, "toolToRunId": str(like.pk), "inputMapping": {}} for step in (1, 2)
    ]
    return {"format": 1, "steps": steps, "note": number}
