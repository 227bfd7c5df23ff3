"""Measuring the search: as the owner would see it, kept over time, once at a time."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from agents import search_evaluations
from agents.models import AgentTool, SearchEvaluation
from agents.models.agent_tool import Approval
from agents.search_cases import all_cases, case_create
from agents.search_evaluations import (
    evaluate_all,
    evaluated,
    evaluation_latest,
    evaluation_request,
    evaluation_run,
    evaluations_of,
)
from agents.services import tool_link
from config.lib.errors import InvalidInput
from registry.models import SearchWeights
from registry.models.tool import Visibility
from registry.search.weights import Weights
from registry.services import tool_delete
from tests.factories import make_agent, make_builtin, make_run_code, make_tool

pytestmark = pytest.mark.django_db


@pytest.fixture
def tools(db):
    names = ("calculator", "random_number", "change_case", "convert_units", "hash_text")
    return {name: make_builtin(name) for name in names}


@pytest.fixture
def agent(alice):
    return make_agent(alice)


def kept(agent, query, *tools, **fields):
    return case_create(
        agent, by=agent.owner, query=query, expected=[tool.pk for tool in tools], **fields
    )


def one(case, weights=None):
    (result,) = evaluated(all_cases().filter(pk=case.pk), weights).results
    return result


def test_a_case_passes_where_what_it_expects_is_found(agent, tools):
    result = one(kept(agent, "convert 5 miles to kilometers", tools["convert_units"]))
    assert (result.passed, result.place, result.reason) == (True, 1, "")
    assert result.found[0] == "convert_units"
    assert result.score is not None and result.score > 0.2


def test_a_case_fails_where_something_else_is_found_and_says_why(agent, tools):
    result = one(kept(agent, "convert 5 miles to kilometers", tools["hash_text"]))
    assert (result.passed, result.place) == (False, None)
    assert result.reason == "hash_text: no word of it was said"


def test_each_expected_tool_has_to_be_found(agent, tools):
    both = kept(agent, "roll dice; sha-256 checksum", tools["hash_text"], tools["random_number"])
    assert one(both).passed
    missing = kept(agent, "roll two dice", tools["hash_text"], tools["random_number"])
    assert (one(missing).passed, one(missing).place) == (False, 1)


def test_nothing_is_expected_of_small_talk(agent, tools):
    assert one(kept(agent, "hello there")).passed
    wrong = one(kept(agent, "roll two dice"))
    assert (wrong.passed, wrong.reason) == (False, "something was found")


def test_what_was_said_before_counts(agent, tools):
    alone = kept(agent, "and three of them", tools["random_number"])
    after = kept(agent, "and 3 more", tools["random_number"], recent=["roll two dice"])
    assert one(alone).place is None
    assert one(after).place == 1


def test_it_is_measured_as_the_owner_would_see_it(agent, alice, bob, tools):
    hers = make_tool(
        owner=alice, visibility=Visibility.PRIVATE, description="Prunes bonsai.", export_name="zen"
    )
    his = make_tool(
        owner=bob, visibility=Visibility.PRIVATE, description="Prunes bonsai.", export_name="zen"
    )
    result = one(kept(agent, "prune my bonsai", hers))
    assert result.found == (hers.wire_name,)
    assert his.wire_name not in result.found


def test_linked_tools_compete_and_denied_ones_and_code_do_not(agent, tools):
    make_run_code()
    case = kept(agent, "convert 5 miles to kilometers", tools["convert_units"])
    tool_link(agent, tools["convert_units"].pk)
    assert one(case).passed
    AgentTool.objects.update(approval=Approval.DENY)
    denied = one(case)
    assert (denied.passed, denied.reason) == (False, "convert_units: already at hand")
    assert "run_code" not in one(kept(agent, "run python code")).found


def test_a_tool_without_its_scope_or_that_is_gone_is_told_as_the_reason(agent, alice):
    scoped = make_tool(description="Prunes bonsai.", required_scopes=["garden"])
    case = kept(agent, "prune my bonsai", scoped)
    assert one(case).reason == f"{scoped.wire_name}: requires the scope garden"
    agent.scopes = ["garden"]
    agent.save()
    assert one(case).passed
    tool_delete(scoped)
    assert one(case).reason == f"{scoped.wire_name}: deleted"


def test_other_weights_are_tried_and_nothing_is_saved(agent, tools):
    case = kept(agent, "convert 5 miles to kilometers", tools["convert_units"])
    assert not one(case, Weights(floor=1.0)).passed
    assert one(case).passed
    assert not SearchEvaluation.objects.exists()


def test_how_far_it_is_is_told(agent, tools):
    for number in range(3):
        kept(agent, f"roll {number} dice", tools["random_number"])
    told = []
    assert evaluated(all_cases(), told=told.append).passed == 3
    assert told == [1, 2, 3]


def test_a_measurement_is_kept_with_the_rank_of_each_case(agent, alice, tools):
    good = kept(agent, "roll two dice", tools["random_number"])
    bad = kept(agent, "roll some dice", tools["hash_text"])
    kept(agent, "hello")
    asked = evaluation_request(agent, by=alice, queued=False)
    assert (asked.state, asked.total, asked.is_open) == ("queued", 3, True)
    values = Weights().as_dict()
    SearchWeights.objects.create(version=7, values=values, reason="as before")
    evaluation_run(asked.pk)

    made = evaluation_latest(agent)
    assert made is not None and not made.is_open
    assert (made.done, made.total, made.weights_version, made.requested_by) == (3, 3, 7, alice)
    assert (made.metrics["cases"], made.metrics["passed"]) == (3, 2)
    assert made.metrics["recall@5"] == 0.5
    assert made.metrics["no_answer_accuracy"] == 1.0
    assert made.ranks[str(good.pk)]["place"] == 1
    assert made.ranks[str(bad.pk)]["passed"] is False


def test_a_measurement_is_carried_out_once(agent, alice, tools):
    kept(agent, "roll two dice", tools["random_number"])
    asked = evaluation_request(agent, by=alice, queued=False)
    assert evaluation_run(asked.pk) is not None
    assert evaluation_run(asked.pk) is None


def test_asking_again_gives_the_one_that_has_not_ended(agent, alice, tools):
    kept(agent, "roll two dice", tools["random_number"])
    first = evaluation_request(agent, by=alice, queued=False)
    assert evaluation_request(agent, by=alice, queued=False) == first
    with pytest.raises(IntegrityError), transaction.atomic():
        SearchEvaluation.objects.create(agent=agent)


def test_one_whose_worker_is_gone_makes_room(agent, alice, tools):
    kept(agent, "roll two dice", tools["random_number"])
    dead = evaluation_request(agent, by=alice, queued=False)
    SearchEvaluation.objects.update(created_at=timezone.now() - timedelta(minutes=11))
    assert evaluation_request(agent, by=alice, queued=False) != dead
    dead.refresh_from_db()
    assert (dead.state, dead.error["hint"]) == ("failed", "Measure again.")


def test_nothing_is_measured_where_there_is_no_case(agent, alice):
    with pytest.raises(InvalidInput, match="There is no labelled query to measure"):
        evaluation_request(agent, by=alice)


def test_a_queue_that_is_away_is_told(
    agent, alice, tools, monkeypatch, django_capture_on_commit_callbacks
):
    def away(*_args, **_options):
        raise OperationalError

    monkeypatch.setattr(search_evaluations.current_app, "send_task", away)
    kept(agent, "roll two dice", tools["random_number"])
    with django_capture_on_commit_callbacks(execute=True):
        asked = evaluation_request(agent, by=alice)
    asked.refresh_from_db()
    assert (asked.state, asked.error["code"]) == ("failed", "queue_unavailable")
    assert "nothing was measured" in asked.error["message"]


@pytest.mark.parametrize(
    ("problem", "message"),
    [(InvalidInput("Too slow."), "Too slow."), (RuntimeError(), "The measurement failed.")],
)
def test_a_measurement_that_breaks_ends(agent, alice, tools, monkeypatch, problem, message):
    def broken(*_args, **_options):
        raise problem

    monkeypatch.setattr(search_evaluations, "search", broken)
    kept(agent, "roll two dice", tools["random_number"])
    asked = evaluation_request(agent, by=alice, queued=False)
    assert evaluation_run(asked.pk) is None
    asked.refresh_from_db()
    assert (asked.state, asked.error["message"]) == ("failed", message)


def test_every_agent_and_all_together_are_measured_at_night(agent, alice, bob, tools):
    from agents.tasks import measure_all_searches, measure_search

    kept(agent, "roll two dice", tools["random_number"])
    other = make_agent(bob)
    kept(other, "roll some dice", tools["hash_text"])
    make_agent(alice)
    measure_all_searches()

    site = evaluation_latest(None)
    assert site is not None and str(site).startswith("all agents")
    assert (site.metrics["cases"], site.metrics["passed"]) == (2, 1)
    assert [evaluation_latest(one).metrics["passed"] for one in (agent, other)] == [1, 0]
    assert SearchEvaluation.objects.count() == 3
    measure_search(str(uuid4()))  # one that is gone: nothing to do


def test_nothing_is_written_at_night_where_there_is_no_case(agent):
    assert evaluate_all() == 0
    assert not SearchEvaluation.objects.exists()


def test_old_measurements_go(agent, alice, tools, monkeypatch):
    monkeypatch.setattr(search_evaluations, "KEPT", 2)
    kept(agent, "roll two dice", tools["random_number"])
    for _ in range(3):
        evaluation_run(evaluation_request(agent, by=alice, queued=False).pk)
    assert evaluations_of(agent).count() == 2
