"""Experiments from the first conversation to the table of results."""

import csv
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from agents.experiments import ToolsetPlan, experiment_create, experiment_start, present_toolset
from agents.models import Experiment
from chat.experiments import results_of, rows_of
from chat.models import Conversation, Message, Turn
from chat.models.turn import TurnStatus
from tests.factories import make_agent, make_tool, make_turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(alice):
    return make_agent(alice, make_tool())


@pytest.fixture
def experiment(agent):
    b = ToolsetPlan(tools={make_tool().pk: None}, discovery_mode="auto")
    made = experiment_create(
        agent, by=agent.owner, name="Another tool", a=present_toolset(agent), b=b, planned=10
    )
    experiment_start(made)
    return Experiment.objects.get(pk=made.pk)


def talk(
    experiment,
    letter,
    *,
    seconds=1,
    failed_calls=0,
    status=TurnStatus.COMPLETED,
    tokens=10,
    cost=None,
):
    arm = experiment.arms.get(letter=letter)
    conversation = Conversation.objects.create(
        user=experiment.agent.owner, agent=experiment.agent, arm=arm
    )
    turn = make_turn(
        conversation=conversation,
        number=1,
        model="demo/offline",
        status=status,
        usage={"input_tokens": tokens, "output_tokens": 5},
        cost=cost,
    )
    Turn.objects.filter(pk=turn.pk).update(finished_at=turn.created_at + timedelta(seconds=seconds))
    for position in range(2):
        state = "failed" if position < failed_calls else "succeeded"
        Message.objects.create(
            turn=turn, position=position + 1, role="tool", result={"status": state}
        )
    return conversation


def test_each_conversation_is_counted_once_with_its_turns_calls_and_tokens(experiment):
    well = talk(experiment, "A", seconds=2, tokens=100)
    badly = talk(experiment, "B", failed_calls=1)

    rows = {row.conversation: row for row in rows_of(experiment)}

    assert rows[well.pk].letter == "A"
    assert rows[well.pk].sample.went_well
    assert rows[well.pk].sample.tokens == 105
    assert rows[well.pk].sample.latency_ms == 2000
    assert (rows[badly.pk].sample.calls, rows[badly.pk].sample.failed_calls) == (2, 1)
    assert not rows[badly.pk].sample.went_well


def test_a_turn_that_failed_or_was_stopped_makes_the_conversation_one_that_did_not_go_well(
    experiment,
):
    talk(experiment, "A", status=TurnStatus.FAILED)
    talk(experiment, "B", status=TurnStatus.STOPPED)
    assert [row.sample.went_well for row in rows_of(experiment)] == [False, False]


def another_turn(conversation, **fields):
    turn = make_turn(
        conversation=conversation,
        number=2,
        **{"model": "m", "status": TurnStatus.COMPLETED, **fields},
    )
    Turn.objects.filter(pk=turn.pk).update(finished_at=turn.created_at)


def test_a_conversation_costs_what_its_turns_cost(experiment):
    talked = talk(experiment, "A", cost="0.25")
    another_turn(talked, usage={"input_tokens": 1}, cost="0.5")
    failed = talk(experiment, "B", cost="0.125")
    another_turn(failed, status=TurnStatus.FAILED)  # it never reached the model
    costs = {row.conversation: row.sample.cost for row in rows_of(experiment)}
    assert costs == {talked.pk: 0.75, failed.pk: 0.125}


def test_a_conversation_with_a_turn_of_unknown_price_has_no_cost(experiment):
    talked = talk(experiment, "A", cost="0.25")
    another_turn(talked, usage={"input_tokens": 1})
    talk(experiment, "B")
    assert [row.sample.cost for row in rows_of(experiment)] == [None, None]


def test_the_cost_is_compared_on_the_page_in_the_api_and_in_both_files(client_for, experiment):
    for _ in range(10):
        talk(experiment, "A", cost="0.5")
        talk(experiment, "B", cost="0.0625")
    client, at = client_for(experiment.agent.owner), [experiment.agent.slug, experiment.pk]
    page = client.get(reverse("experiments:detail", args=at)).content.decode()
    assert "$0.0625" in page and "The price of the model is not known" not in page
    answer = client.get(f"/api/v1/agents/{at[0]}/experiments/{at[1]}/results/").json()
    (cost,) = [item for item in answer["results"] if item["measure"] == "cost"]
    assert (cost["a"]["value"], cost["b"]["value"], cost["verdict"]) == (0.5, 0.0625, "b_better")
    for name in ("summary", "conversations"):
        file = client.get(reverse(f"experiments:{name}", args=at))
        assert "0.0625" in b"".join(file).decode()


def test_what_was_said_after_the_end_is_not_counted(experiment):
    conversation = talk(experiment, "A")
    Experiment.objects.filter(pk=experiment.pk).update(
        state="ended", ended_at=timezone.now() + timedelta(seconds=1)
    )
    later = make_turn(conversation=conversation, number=2, model="m", status=TurnStatus.FAILED)
    Turn.objects.filter(pk=later.pk).update(
        created_at=timezone.now() + timedelta(hours=1), finished_at=timezone.now()
    )
    experiment.refresh_from_db()

    assert [row.sample.turns for row in rows_of(experiment)] == [1]


def test_results_ask_the_database_the_same_for_one_conversation_and_for_many(
    experiment, django_assert_max_num_queries
):
    for letter in "AB" * 15:
        talk(experiment, letter)
    with django_assert_max_num_queries(2):
        results = results_of(experiment)
    assert results.counts == {"A": 15, "B": 15}
    assert results.enough


def test_the_page_tells_what_is_planned_and_what_was_found(client_for, experiment):
    for n in range(10):
        talk(experiment, "A", seconds=8 + n % 2, failed_calls=1)
        talk(experiment, "B", seconds=1 + n % 2)
    page = client_for(experiment.agent.owner).get(
        reverse("experiments:detail", args=[experiment.agent.slug, experiment.pk])
    )
    words = page.content.decode()

    assert "10 of 10" in words
    assert "B is better (p &lt; 0.001)." in words
    assert "<svg" in words


def test_a_stranger_gets_404_for_the_page_and_both_files(client_for, bob, experiment):
    for name in ("detail", "summary", "conversations"):
        url = reverse(f"experiments:{name}", args=[experiment.agent.slug, experiment.pk])
        assert client_for(bob).get(url).status_code == 404


def test_the_files_hold_the_conversations_and_the_measures(client_for, experiment):
    talk(experiment, "A")
    talk(experiment, "B")
    client = client_for(experiment.agent.owner)
    args = [experiment.agent.slug, experiment.pk]

    def lines(name):
        answer = client.get(reverse(f"experiments:{name}", args=args))
        assert answer["Content-Type"].startswith("text/csv")
        return list(csv.DictReader(b"".join(answer).decode().splitlines()))

    assert [line["toolset"] for line in lines("conversations")] == ["A", "B"]
    summary = {line["measure"]: line for line in lines("summary")}
    assert summary["success"]["verdict"] == "too_few"
    assert summary["cost"]["a"] == ""


def test_an_owner_draws_up_starts_and_ends_an_experiment_in_the_browser(client_for, agent, alice):
    client, other = client_for(alice), make_tool()
    form = {
        "name": "With another",
        "discovery_mode": "linked",
        "tools": [str(other.pk)],
        "share_b": 50,
        "planned": 20,
    }
    answer = client.post(reverse("agents:experiment_create", args=[agent.slug]), form)
    made = Experiment.objects.get()
    assert answer["Location"] == reverse("experiments:detail", args=[agent.slug, made.pk])

    for action, state in (("start", "running"), ("end", "ended")):
        client.post(reverse(f"agents:experiment_{action}", args=[agent.slug, made.pk]))
        made.refresh_from_db()
        assert made.state == state
    client.post(reverse("agents:experiment_delete", args=[agent.slug, made.pk]))
    assert not Experiment.objects.exists()


def test_a_form_with_the_same_tools_as_now_is_kept_with_words(client_for, agent, alice):
    tools = [str(pk) for pk in present_toolset(agent).tools]
    form = {
        "name": "The same",
        "discovery_mode": agent.discovery_mode,
        "tools": tools,
        "share_b": 50,
        "planned": 20,
    }
    page = client_for(alice).post(reverse("agents:experiment_create", args=[agent.slug]), form)

    assert page.status_code == 400
    assert "nothing to compare" in page.content.decode()
    assert "The same" in page.content.decode()


@pytest.mark.parametrize("action", ["start", "end", "delete"])
def test_a_team_mate_reads_an_experiment_and_cannot_change_it(
    client_for, bob, team, experiment, action
):
    agent = experiment.agent
    agent.visibility, agent.team = "team", team
    agent.save()
    bob.groups.add(team)
    client = client_for(bob)

    page = client.get(reverse("experiments:detail", args=[agent.slug, experiment.pk]))
    assert page.status_code == 200
    assert b"Delete this experiment" not in page.content
    url = reverse(f"agents:experiment_{action}", args=[agent.slug, experiment.pk])
    assert client.post(url).status_code == 404


def test_an_experiment_is_made_and_read_over_rest(client_for, agent, alice):
    client, other = client_for(alice), make_tool()
    url = f"/api/v1/agents/{agent.slug}/experiments/"
    body = {"name": "By REST", "b": {"tools": [{"toolId": str(other.pk), "version": 1}]}}

    made = client.post(url, body, content_type="application/json")
    assert made.status_code == 201
    one = f"{url}{made.json()['id']}/"
    assert [arm["letter"] for arm in made.json()["arms"]] == ["A", "B"]
    assert client.post(f"{one}start/").json()["state"] == "running"
    assert client.delete(one).status_code == 409
    results = client.get(f"{one}results/").json()
    assert results["conversations"] == {"A": 0, "B": 0}
    assert {item["verdict"] for item in results["results"]} == {"no_data"}
    assert client.post(f"{one}end/").json()["state"] == "ended"
    assert client.delete(one).status_code == 204
    assert client.get(url).json()["results"] == []


def test_a_wrong_body_over_rest_names_the_field(client_for, agent, alice):
    url = f"/api/v1/agents/{agent.slug}/experiments/"
    body = {"name": "x", "b": {"tools": []}, "shareB": 100}
    answer = client_for(alice).post(url, body, content_type="application/json")

    assert answer.status_code == 400
    assert "shareB" in answer.content.decode()
