"""What is told, to whom, and when it is not."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.models import AgentTool
from registry.models import EventDelivery, EventSubscription, HealthChange, PendingEvent, Tool
from registry.models.event_types import EventType
from registry.models.package import ReviewStatus
from registry.models.proposal import Cause, ProposalState
from registry.notify import spreading
from registry.notify.hastening import events_hasten
from registry.notify.spreading import events_spread
from registry.review.deciding import proposal_reject
from registry.review.staging import package_announce
from sequences.models import Run
from sequences.models.run import RunStatus
from tests import factories
from tests.registry.notify.conftest import Receiver, tell

pytestmark = pytest.mark.django_db


def make_run(user: User, **fields: Any) -> Run:
    sequence = fields.pop("tool", None) or factories.make_sequence(user)
    version = sequence.versions.get(number=sequence.version)
    return Run.objects.create(
        tool=sequence, tool_version=version, user=user, caller="rest", input={"k": "in-1"}, **fields
    )


def finish(run: Run, status: str, **fields: Any) -> None:
    if status in {RunStatus.SUCCEEDED, RunStatus.WAITING, RunStatus.ATTENTION}:
        lease = {"lease": run.pk, "lease_until": timezone.now()}
        Run.objects.filter(pk=run.pk).update(status=RunStatus.RUNNING, **lease)
    ended = status not in {RunStatus.WAITING, RunStatus.ATTENTION}
    Run.objects.filter(pk=run.pk).update(
        status=status,
        lease=None,
        lease_until=None,
        finished_at=timezone.now() if ended else None,
        **fields,
    )


def breaks(tool: Tool, state: str = "broken") -> None:
    Tool.objects.filter(pk=tool.pk).update(
        execution_health=state, health_error={"code": "tool_crashed"} if state == "broken" else None
    )


def test_the_owner_of_a_run_is_told_that_it_succeeded(
    alice: User, subscribe: Any, receiver: Receiver, settings: Any
) -> None:
    settings.PUBLIC_URL = "https://tools.example"
    _, secret = subscribe(alice)
    run = make_run(alice)
    finish(run, RunStatus.SUCCEEDED, output={"answer": "out-1"})
    assert tell() == 1
    told = receiver.verified(secret)
    assert told["type"] == "run.succeeded"
    assert told["data"]["run"]["id"] == str(run.pk)
    assert told["data"]["run"]["status"] == "succeeded"
    assert told["data"]["run"]["page_url"] == f"https://tools.example/runs/{run.pk}/"
    assert told["data"]["run"]["url"] == f"https://tools.example/api/v1/runs/{run.pk}/"
    assert told["data"]["sequence"]["name"] == run.name and told["data"]["error"] is None
    assert b"in-1" not in receiver.asked[0].body and b"out-1" not in receiver.asked[0].body
    assert receiver.asked[0].headers["user-agent"].startswith("Outfitter")
    assert receiver.asked[0].headers["webhook-id"].startswith("evt_")


@pytest.mark.parametrize(
    ("status", "type_"),
    [
        (RunStatus.FAILED, "run.failed"),
        (RunStatus.CANCELLED, "run.cancelled"),
        (RunStatus.WAITING, "run.waiting"),
        (RunStatus.ATTENTION, "run.waiting"),
    ],
)
def test_each_end_and_each_wait_of_a_run_has_its_type(
    status: str, type_: str, alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscribe(alice)
    error = {"code": "tool_failed", "message": "It broke."} if status == "failed" else None
    finish(make_run(alice), status, error=error)
    tell()
    assert receiver.types == [type_]
    payload = EventDelivery.objects.get().payload
    assert payload["data"]["run"]["status"] == status and payload["data"]["error"] == error


def test_what_was_rolled_back_is_never_told(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscribe(alice)
    run = make_run(alice)

    class Undone(Exception):
        pass

    with pytest.raises(Undone), transaction.atomic():
        finish(run, RunStatus.SUCCEEDED)
        assert PendingEvent.objects.count() == 1
        raise Undone
    assert tell() == 0 and receiver.asked == []


def test_nothing_is_written_where_nobody_listens(alice: User, bob: User, subscribe: Any) -> None:
    subscribe(bob)
    finish(make_run(alice), RunStatus.SUCCEEDED)
    assert not PendingEvent.objects.exists()


def test_another_person_is_not_told(
    alice: User, bob: User, subscribe: Any, receiver: Receiver
) -> None:
    subscribe(bob)
    subscribe(alice, types=["run.failed"])
    finish(make_run(alice), RunStatus.SUCCEEDED)
    assert tell() == 0 and receiver.asked == []


def test_a_run_inside_another_and_a_test_of_a_draft_are_not_told(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscribe(alice)
    outer = make_run(alice)
    step = outer.steps.create(number=1, title="Inner", status="running", started_at=timezone.now())
    finish(make_run(alice, tool=outer.tool, parent_step=step), RunStatus.SUCCEEDED)
    test = Run.objects.create(user=alice, caller="browser", definition={"steps": []})
    finish(test, RunStatus.CANCELLED)
    assert not PendingEvent.objects.exists()


def test_a_subscription_can_be_narrowed_to_a_sequence_or_an_agent(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    wanted, other = factories.make_sequence(alice), factories.make_sequence(alice)
    agent = factories.make_agent(alice, slug="night-shift")
    subscribe(alice, tool=wanted.wire_name, note="one")
    subscribe(alice, agent="night-shift", note="two")
    finish(make_run(alice, tool=other), RunStatus.SUCCEEDED)
    assert tell() == 0
    finish(make_run(alice, tool=wanted), RunStatus.SUCCEEDED)
    finish(make_run(alice, tool=other, agent=agent), RunStatus.SUCCEEDED)
    assert tell() == 2
    told = EventDelivery.objects.values_list("subscription__note", "payload__data__agent__name")
    assert sorted(told, key=str) == [("one", None), ("two", agent.name)]


def test_a_governor_is_told_what_waits_for_review_and_the_proposer_what_was_decided(
    alice: User, governor: User, subscribe: Any, receiver: Receiver
) -> None:
    subscribe(governor, types=["review.opened", "review.decided"], note="governor")
    subscribe(alice, types=["review.decided"], note="alice")
    package = factories.make_package(review_status=ReviewStatus.CANDIDATE, added_by=alice)
    proposal = package_announce(package, cause=Cause.IMPORT, by=alice)
    assert proposal is not None
    assert tell() == 1 and receiver.types == ["review.opened"]
    proposal_reject(proposal, by=governor, reason="A secret reason")
    assert tell() == 1 and receiver.types == ["review.opened", "review.decided"]
    decided = EventDelivery.objects.get(type="review.decided")
    assert decided.subscription.note == "alice"
    assert decided.payload["data"]["review"]["state"] == ProposalState.REJECTED
    assert decided.payload["data"]["package"]["name"] == package.name


def test_who_governs_no_more_is_not_told_of_reviews(
    governor: User, subscribe: Any, receiver: Receiver
) -> None:
    subscribe(governor, types=["review.opened"])
    package = factories.make_package(review_status=ReviewStatus.CANDIDATE)
    package_announce(package, cause=Cause.IMPORT, by=governor)
    User.objects.filter(pk=governor.pk).update(is_superuser=False)
    assert tell() == 0 and receiver.asked == []


def test_owners_of_a_tool_and_of_what_uses_it_are_told_that_it_broke_and_works_again(
    alice: User, bob: User, charlie: User, subscribe: Any, receiver: Receiver
) -> None:
    tool = factories.make_tool(owner=alice, visibility="public")
    factories.make_agent(bob, tool)
    for person in (alice, bob, charlie):
        subscribe(person, note=person.username)
    breaks(tool, "healthy")
    assert tell() == 0
    breaks(tool)
    assert tell() == 2 and receiver.types == ["tool.broken"] * 2
    assert set(EventDelivery.objects.values_list("subscription__note", flat=True)) == {
        "alice",
        "bob",
    }
    payload = EventDelivery.objects.all()[0].payload
    assert payload["data"]["tool"]["name"] == tool.wire_name
    assert payload["data"]["state"] == "execution_broken"
    assert payload["data"]["error"]["code"] == "tool_crashed"
    breaks(tool, "needs_key")
    breaks(tool, "broken")
    assert tell() == 0, "it was not healthy between"
    breaks(tool, "healthy")
    assert tell() == 2 and receiver.types[2:] == ["tool.healthy"] * 2


def test_the_owner_of_a_sequence_is_told_of_its_tools(
    alice: User, bob: User, subscribe: Any, receiver: Receiver
) -> None:
    sequence = factories.make_sequence(bob)
    tool = Tool.objects.get(pk=sequence.definition["steps"][0]["toolToRunId"])
    subscribe(bob)
    breaks(tool)
    assert tell() == 1 and receiver.types == ["tool.broken"]


def test_a_tool_that_its_user_may_no_longer_see_is_not_told_of(
    alice: User, bob: User, subscribe: Any, receiver: Receiver
) -> None:
    tool = factories.make_tool(owner=alice, visibility="public")
    factories.make_agent(bob, tool)
    subscribe(bob)
    Tool.objects.filter(pk=tool.pk).update(visibility="private")
    breaks(tool)
    assert tell() == 0 and AgentTool.objects.filter(tool=tool).exists()


def test_a_closed_account_is_told_nothing(alice: User, subscribe: Any, receiver: Receiver) -> None:
    subscribe(alice)
    run = make_run(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    finish(run, RunStatus.SUCCEEDED)
    assert tell() == 0 and receiver.asked == []


@pytest.mark.django_db(transaction=True)
def test_a_person_who_is_deleted_while_their_event_is_spread_is_told_nothing(
    alice: User, subscribe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deciding = [User.objects.create_superuser(name) for name in ("gone", "stays")]
    for person in deciding:
        subscribe(person, types=[EventType.REVIEW_OPENED])
    heard = spreading.hearers

    def heard_and_deleted(*args: Any) -> list[EventSubscription]:
        found = heard(*args)
        deciding[0].delete()
        return found

    monkeypatch.setattr(spreading, "hearers", heard_and_deleted)
    package = factories.make_package(review_status=ReviewStatus.CANDIDATE, added_by=alice)
    package_announce(package, cause=Cause.IMPORT, by=alice)
    assert events_spread() == 1
    assert [each.subscription.owner for each in EventDelivery.objects.all()] == [deciding[1]]


def test_a_subscription_that_is_deleted_takes_what_waits_with_it(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, _ = subscribe(alice)
    finish(make_run(alice), RunStatus.SUCCEEDED)
    receiver.status = 500
    tell()
    subscription.delete()
    assert tell() == 0 and not EventDelivery.objects.exists()


def test_a_worker_is_woken_only_where_something_is_to_be_told(
    alice: User, subscribe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr("celery.current_app.send_task", sent.append)
    events_hasten()
    assert sent == []
    subscribe(alice)
    finish(make_run(alice), RunStatus.SUCCEEDED)
    events_hasten()
    assert sent == ["registry.tell_events"]


def test_a_queue_that_is_away_loses_no_event(
    alice: User, subscribe: Any, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(name: str) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr("celery.current_app.send_task", away)
    subscribe(alice)
    finish(make_run(alice), RunStatus.SUCCEEDED)
    events_hasten()
    assert tell() == 1 and HealthChange.objects.exists()
