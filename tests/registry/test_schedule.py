"""Who looks at which package, and when: shared by lease, spread out, sooner where it is broken."""

import threading
from datetime import timedelta

import pytest
from celery import current_app
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from registry.errors import ImportBroken, SandboxUnavailable, UpstreamUnreachable
from registry.health import record_failure
from registry.importing import checks, schedule
from registry.importing.errors import CannotCheck, PackageNotYours, QueueUnavailable
from registry.importing.health_check import due_check, package_check
from registry.importing.schedule import check_request, lease_due, schedule_of
from registry.loading import load_spec
from registry.models import CheckSchedule
from registry.models.health import HealthState
from registry.models.package import ReviewStatus
from registry.tasks import check_tool_health
from tests.factories import builtin_package, make_package, make_tool

pytestmark = pytest.mark.django_db


@pytest.fixture
def looked(monkeypatch):
    """Look at npm packages as the test says: an error, or export → error."""

    class Looked:
        answer = {}
        packages = []

        def __call__(self, package, tools):
            self.packages.append(package.name)
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    check = Looked()
    check.packages = []
    monkeypatch.setitem(checks.CHECKS, "npm", check)
    return check


def due_package(**fields):
    """Make a package with a tool that is due now."""
    tool = make_tool(package=make_package(artifact="a" * 64, **fields))
    CheckSchedule.objects.create(package=tool.package, next_at=None)
    return tool.package


def minutes_until(package):
    return (schedule_of(package).next_at - timezone.now()) / timedelta(minutes=1)


def test_what_was_just_imported_is_not_looked_at_at_once():
    package = make_tool(package=make_package(artifact="a")).package

    assert lease_due(9) == []
    assert 4.7 * 60 < minutes_until(package) < 7.3 * 60


def test_a_leased_package_is_given_to_nobody_else():
    packages = {due_package() for _ in range(3)}

    first, second = lease_due(2), lease_due(2)

    assert len(first) == 2
    assert {*first, *second} == packages
    assert lease_due(2) == []


def test_what_review_stopped_and_what_cannot_be_looked_at_is_left_alone():
    due_package(review_status=ReviewStatus.QUARANTINED)
    CheckSchedule.objects.create(package=builtin_package())

    assert lease_due(9) == []


@pytest.mark.django_db(transaction=True)
def test_two_workers_share_the_work_without_waiting_for_each_other():
    packages = {due_package().pk for _ in range(4)}
    taken = []

    def work():
        taken.extend(package.pk for package in lease_due(2))
        connection.close()

    with transaction.atomic():
        mine = lease_due(2)
        other = threading.Thread(target=work)
        other.start()
        other.join(timeout=60)
        assert not other.is_alive(), "it waited for the rows of the first"
    assert len(taken) == 2
    assert {*taken, *(package.pk for package in mine)} == packages


def test_a_round_looks_at_each_due_package_once(looked):
    names = {due_package().name for _ in range(3)}

    assert len(list(due_check())) == 3
    assert sorted(looked.packages) == sorted(names)
    check_tool_health()
    assert len(looked.packages) == 3


def test_a_broken_package_is_looked_at_sooner_and_then_ever_more_seldom(looked):
    package = due_package()
    looked.answer = ImportBroken("It threw.")
    waits = []
    for _ in range(10):
        assert package_check(package).broken
        waits.append(minutes_until(package))

    assert 11 < waits[0] < 19
    assert 23 < waits[1] < 37
    assert waits[9] < 24 * 60 * 1.2 + 1
    looked.answer = {}
    assert package_check(package).healthy
    assert schedule_of(package).failures == 0
    assert minutes_until(package) > 4.7 * 60


def test_a_check_breaks_and_heals_a_tool(looked):
    package = due_package()
    tool = package.tools.get()
    looked.answer = {tool.export_name: ImportBroken("It threw.")}
    package_check(package)
    tool.refresh_from_db()
    assert (tool.health_state, tool.health_error["code"]) == ("import_broken", "import_broken")

    looked.answer = {tool.export_name: UpstreamUnreachable("No answer.")}
    tool.import_health = "healthy"
    tool.save()
    package_check(package)
    tool.refresh_from_db()
    assert tool.health_state == HealthState.UPSTREAM_DOWN


@pytest.mark.parametrize("answers", [True, False])
def test_only_a_look_that_reaches_the_service_shows_that_it_answers_again(
    looked, monkeypatch, answers
):
    package = due_package()
    error = {"code": "upstream_unreachable", "message": "No answer."}
    package.tools.update(execution_health="upstream_down", health_error=error)
    monkeypatch.setattr("registry.importing.health_check.asks_upstream", lambda _: answers)

    package_check(package)

    tool = package.tools.get()
    assert tool.health_state == (HealthState.HEALTHY if answers else HealthState.UPSTREAM_DOWN)
    assert (tool.health_error is None) is answers


def test_a_sandbox_that_is_not_there_says_nothing_of_a_package(looked):
    package = due_package()
    looked.answer = SandboxUnavailable("Not there.", "Start it.")

    check_tool_health()

    plan = schedule_of(package)
    assert plan.last_at is None
    assert plan.error["message"] == "Not there."
    assert 3 < minutes_until(package) < 7
    assert package.tools.get().health_state == HealthState.UNKNOWN


def test_a_tool_that_fails_in_a_call_is_looked_at_soon():
    tool = make_tool(package=make_package(artifact="a"))
    lease_due(1)

    record_failure(load_spec(tool), ImportBroken("It threw."))

    assert minutes_until(tool.package) <= 15


def test_who_added_a_package_or_reviews_has_it_looked_at(
    alice, charlie, governor, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **_: sent.append(name))
    package = make_tool(package=make_package(added_by=alice)).package

    with pytest.raises(PackageNotYours):
        check_request(package, charlie)
    with pytest.raises(CannotCheck):
        check_request(builtin_package(), governor)
    with django_capture_on_commit_callbacks(execute=True):
        check_request(package, alice)
        check_request(package, governor)

    assert sent == [schedule.TASK] * 2
    assert lease_due(1) == [package]


def test_a_check_that_cannot_be_queued_is_told_and_done_later(
    alice, monkeypatch, django_capture_on_commit_callbacks
):
    def refuse(*_args, **_options):
        raise OperationalError("connection refused")

    monkeypatch.setattr(current_app, "send_task", refuse)
    package = make_tool(package=make_package(added_by=alice)).package

    with pytest.raises(QueueUnavailable), django_capture_on_commit_callbacks(execute=True):
        check_request(package, alice)
    assert lease_due(1) == [package]


def test_the_command_looks_at_the_named_package_alone(looked, capsys):
    due_package(name="@acme/one")
    due_package(name="@acme/two")

    call_command("check_tool_health", package="@acme/two")

    assert looked.packages == ["@acme/two"]
    told = capsys.readouterr()
    assert "@acme/two@1.0.0: 1 tool loads" in told.out
    assert "Checking" in told.err
    call_command("check_tool_health", kind="npm")
    assert len(looked.packages) == 3


def test_the_command_fails_where_a_tool_is_broken_or_a_package_unknown(looked):
    due_package()
    looked.answer = ImportBroken("It threw.")

    with pytest.raises(CommandError, match="1 tool is broken"):
        call_command("check_tool_health")
    with pytest.raises(CommandError, match="There is no package “absent”"):
        call_command("check_tool_health", package="absent")
