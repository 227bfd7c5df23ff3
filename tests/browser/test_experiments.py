"""An owner compares two toolsets: drawn up, started, and read."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from agents.experiments import ToolsetPlan, experiment_create, experiment_start, present_toolset
from agents.models import Experiment
from chat.models import Conversation, Message, Turn
from chat.models.message import Role
from chat.models.turn import TurnStatus
from tests import factories
from tests.factories import make_person, make_turn

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

pytestmark = pytest.mark.usefixtures("live")


@pytest.fixture
def owner(live: object) -> User:
    """Somebody who signs in as “admin”."""
    return make_person("admin", is_superuser=True)


@pytest.fixture
def experiment(owner: User) -> Experiment:
    """An experiment with 32 conversations, in which B was faster and failed less."""
    search = factories.make_tool(wire_name="web_search", description="Searches the web.")
    notes = factories.make_tool(wire_name="read_notes", description="Reads what was noted.")
    agent = factories.make_agent(owner, notes, name="Researcher", model="demo/offline")
    plan = ToolsetPlan(tools={search.pk: None, notes.pk: None}, discovery_mode="linked")
    made = experiment_create(
        agent, by=owner, name="With the web search", a=present_toolset(agent), b=plan, planned=15
    )
    experiment_start(made)
    lot = random.Random(3)
    for arm in made.arms.all():
        for number in range(16):
            conversation = Conversation.objects.create(user=owner, agent=agent, arm=arm)
            turn = make_turn(
                conversation=conversation,
                number=1,
                model="demo/offline",
                status=TurnStatus.COMPLETED,
                usage={"input_tokens": lot.randint(300, 900), "output_tokens": 60},
            )
            seconds = lot.uniform(4, 9) if arm.letter == "A" else lot.uniform(1, 4)
            Turn.objects.filter(pk=turn.pk).update(
                finished_at=turn.created_at + timedelta(seconds=seconds)
            )
            failed = number % 2 == 0 if arm.letter == "A" else number == 1
            state = "failed" if failed else "succeeded"
            Message.objects.create(turn=turn, position=1, role=Role.TOOL, result={"status": state})
    return made


def test_an_owner_draws_up_an_experiment_and_starts_it(
    experiment: Experiment, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    agent = experiment.agent
    sign_in("admin")
    page.goto(f"/agents/{agent.slug}/")
    page.get_by_role("link", name="Experiments").click()
    page.get_by_role("link", name="New experiment").click()
    page.get_by_label("Name", exact=True).fill("Only the search")
    page.get_by_role("checkbox", name="read_notes").uncheck()
    page.get_by_role("checkbox", name="web_search").check()
    shoot(page, "experiment-new")
    page.get_by_role("button", name="Draw up").click()
    expect(page.get_by_role("heading", name="Only the search")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Another experiment runs with Researcher")).to_be_visible()


def test_the_results_say_what_differs_and_how_sure_that_is(
    experiment: Experiment, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto(f"/agents/{experiment.agent.slug}/experiments/{experiment.pk}/")
    expect(page.get_by_text("16 of 15").first).to_be_visible()
    expect(page.get_by_text("B is better (p < 0.001).")).to_be_visible()
    shoot(page, "experiment-results")
    page.get_by_role("button", name="End").click()
    expect(page.get_by_text("It has ended.")).to_be_visible()
    page.goto(f"/agents/{experiment.agent.slug}/experiments/")
    shoot(page, "experiment-list")
