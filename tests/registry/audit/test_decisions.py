"""Calls are filtered by decisions that can have been made."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from registry.audit.calls import DECISIONS
from registry.models.invocation import Decision
from tests import factories
from tests.registry.audit.records import call

pytestmark = pytest.mark.django_db


def test_every_decision_is_a_choice() -> None:
    assert {value for value, _ in DECISIONS} == set(Decision.values)


@pytest.mark.parametrize("address", ["/invocations/", "/admin/registry/invocation/"])
def test_the_lists_offer_the_decisions_and_filter_by_them(
    address: str, governor: User, client_for: Any
) -> None:
    tool = factories.make_tool(wire_name="kept_out")
    call(tool, governor, decision=Decision.LIMITED, outcome="failed", error_code="rate_limited")
    client = client_for(governor)
    shown = client.get(address).content.decode()
    assert "Refused: too many calls" in shown and "Approved by a person" in shown
    assert "kept_out" in client.get(f"{address}?decision=limited").content.decode()
    assert (
        "kept_out"
        not in client.get(f"{address}?decision=stopped")
        .content.decode()
        .split("<tbody")[-1]
        .split("</tbody")[0]
    )
