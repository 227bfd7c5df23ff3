"""An experiment carries no version that its owner may not pin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.experiments import ToolsetPlan, experiment_create, present_toolset
from registry.pins import PinRefused
from registry.review.deciding import proposal_reject
from tests.factories import make_agent
from tests.registry.review.making import approved, bring, row, tool, waiting

if TYPE_CHECKING:
    from django.contrib.auth.models import User

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("refused", [False, True])
def test_what_was_never_approved_is_not_read_by_way_of_an_arm(
    alice: User, charlie: User, governor: User, refused: bool
) -> None:
    approved(alice, governor)
    bring(alice, tool(description="Nobody has approved this."), version="2.0.0")
    if refused:
        proposal_reject(waiting(), by=governor, reason="No.")
    agent = make_agent(charlie)
    with pytest.raises(PinRefused):
        experiment_create(
            agent,
            by=charlie,
            name="Reads what waits",
            a=present_toolset(agent),
            b=ToolsetPlan(tools={row().pk: 2}, discovery_mode="linked"),
        )
