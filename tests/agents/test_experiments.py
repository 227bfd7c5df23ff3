"""Experiments: two toolsets, a lot, and what cannot be changed once it has started."""

from uuid import uuid4

import pytest
from django.db import DatabaseError, transaction

from agents.access import linked_toolset
from agents.experiments import (
    ToolsetPlan,
    arm_drawn,
    arm_in_force,
    experiment_create,
    experiment_delete,
    experiment_end,
    experiment_start,
    experiment_visible_to,
    present_toolset,
)
from agents.models import AgentTool, Arm, ArmTool, Experiment
from agents.models.agent_tool import Approval
from agents.services import agent_delete
from chat.services import conversation_create
from config.lib.errors import Conflict, InvalidInput, NotFound
from registry.stopping import tool_stop
from tests.factories import make_agent, make_tool

pytestmark = pytest.mark.django_db


def drawn_up(agent, *, share_b=50, mode="linked"):
    other = make_tool()
    return experiment_create(
        agent,
        by=agent.owner,
        name="With another tool",
        a=present_toolset(agent),
        b=ToolsetPlan(tools={other.pk: None}, discovery_mode=mode),
        share_b=share_b,
    )


def test_nothing_is_split_before_the_experiment_starts_and_after_it_has_ended(alice):
    agent = make_agent(alice, make_tool())
    experiment = drawn_up(agent)
    assert conversation_create(user=alice, agent_slug=agent.slug).arm is None

    experiment_start(experiment)
    during = conversation_create(user=alice, agent_slug=agent.slug)
    assert during.arm is not None
    assert arm_in_force(during.arm_id) == during.arm

    experiment_end(experiment)
    assert arm_in_force(during.arm_id) is None
    assert conversation_create(user=alice, agent_slug=agent.slug).arm is None


def test_a_stopped_tool_is_no_part_of_the_toolset_that_is_compared_with(alice, governor):
    stopped, kept = make_tool(), make_tool()
    tool_stop(stopped, by=governor, reason="It misbehaves.")
    agent = make_agent(alice, stopped, kept)

    experiment = drawn_up(agent)

    arm = experiment.arms.get(letter="A")
    assert [link.tool_id for link in arm.links.all()] == [kept.pk]


def test_the_lot_gives_each_toolset_its_share_and_the_same_one_at_every_try(alice):
    agent = make_agent(alice)
    experiment = drawn_up(agent, share_b=20)
    experiment_start(experiment)
    ids = [uuid4() for _ in range(400)]

    drawn = [arm_drawn(agent, pk).letter for pk in ids]

    assert drawn == [arm_drawn(agent, pk).letter for pk in ids]
    assert 40 <= drawn.count("B") <= 130  # 80 of 400, five standard deviations each way


def test_a_conversation_of_an_arm_carries_the_tools_of_the_arm(alice):
    linked = make_tool(wire_name="linked")
    agent = make_agent(alice, linked)
    experiment = drawn_up(agent)
    arm_b = experiment.arms.get(letter="B")

    assert list(linked_toolset(agent, alice)) == ["linked"]
    assert "linked" not in linked_toolset(agent, alice, arm_b)
    assert len(linked_toolset(agent, alice, arm_b)) == 1


def test_a_tool_that_the_agent_denies_is_denied_in_every_arm(alice):
    agent = make_agent(alice)
    experiment = drawn_up(agent)
    arm = experiment.arms.get(letter="B")
    AgentTool.objects.create(agent=agent, tool=arm.tools.get(), approval=Approval.DENY)

    assert len(linked_toolset(agent, alice, arm)) == 0


def test_one_experiment_runs_with_an_agent_at_a_time(alice):
    agent = make_agent(alice)
    experiment_start(drawn_up(agent))

    with pytest.raises(Conflict, match="Another experiment runs with"):
        experiment_start(drawn_up(agent))


def test_an_experiment_is_started_and_ended_once(alice):
    experiment = drawn_up(make_agent(alice))
    with pytest.raises(Conflict, match="does not run"):
        experiment_end(experiment)
    experiment_start(experiment)
    with pytest.raises(Conflict, match="started already"):
        experiment_start(experiment)


def test_what_is_compared_cannot_be_changed_once_it_has_started(alice):
    experiment = drawn_up(make_agent(alice))
    arm = experiment.arms.get(letter="B")
    experiment_start(experiment)

    for change in (
        lambda: ArmTool.objects.filter(arm=arm).delete(),
        lambda: ArmTool.objects.filter(arm=arm).update(pinned_version=1),
        lambda: ArmTool.objects.create(arm=arm, tool=make_tool()),
        lambda: Arm.objects.filter(pk=arm.pk).update(discovery_mode="auto"),
        lambda: Experiment.objects.filter(pk=experiment.pk).update(planned=99),
        lambda: Experiment.objects.filter(pk=experiment.pk).update(state="draft"),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


def test_an_experiment_that_runs_cannot_be_deleted_and_one_that_ended_can(alice):
    agent = make_agent(alice)
    experiment = drawn_up(agent)
    experiment_start(experiment)
    conversation = conversation_create(user=alice, agent_slug=agent.slug)
    with pytest.raises(Conflict, match="The experiment runs"):
        experiment_delete(experiment)

    experiment_end(experiment)
    experiment_delete(Experiment.objects.get(pk=experiment.pk))

    conversation.refresh_from_db()
    assert conversation.arm is None


def test_an_agent_goes_with_the_experiment_that_runs_with_it(alice):
    agent = make_agent(alice)
    experiment_start(drawn_up(agent))

    agent_delete(agent)

    assert not Experiment.objects.exists()


def test_two_equal_toolsets_are_refused_with_words(alice):
    agent = make_agent(alice, make_tool())
    plan = present_toolset(agent)
    with pytest.raises(InvalidInput, match="nothing to compare"):
        experiment_create(agent, by=alice, name="Same", a=plan, b=plan)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"name": " "}, "name"),
        ({"name": "n" * 121}, "name"),
        ({"share_b": 0}, "share_b"),
        ({"share_b": 100}, "share_b"),
        ({"planned": 9}, "planned"),
    ],
)
def test_each_wrong_field_is_named(alice, fields, path):
    agent = make_agent(alice)
    b = ToolsetPlan(tools={make_tool().pk: None}, discovery_mode="linked")
    with pytest.raises(InvalidInput) as caught:
        experiment_create(
            agent, by=alice, **{"name": "Test", "a": present_toolset(agent), "b": b, **fields}
        )
    assert caught.value.extra["problems"][0]["path"] == path


def test_a_toolset_may_only_name_tools_that_the_owner_may_use(alice, bob):
    agent = make_agent(alice)
    private = make_tool(owner=bob, visibility="private")
    b = ToolsetPlan(tools={private.pk: None}, discovery_mode="linked")
    with pytest.raises(InvalidInput, match="not yours"):
        experiment_create(agent, by=alice, name="Test", a=present_toolset(agent), b=b)


def test_a_stranger_sees_no_experiment(alice, bob):
    agent = make_agent(alice)
    experiment = drawn_up(agent)
    with pytest.raises(NotFound):
        experiment_visible_to(bob, agent.slug, experiment.pk)
