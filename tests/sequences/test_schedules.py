"""Sequences that run at set times."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from agents.tokens import token_create
from config.lib.errors import Conflict, InvalidInput, NotAllowed
from registry.models import AuditEvent, Invocation, Tool
from registry.stopping import tool_stop
from sequences import running, tasks
from sequences.models import Run, Schedule
from sequences.services import sequence_delete
from sequences.triggers import due as triggers_due
from sequences.triggers import schedules
from sequences.triggers.cron import CronError, checked_cron, in_words, next_times
from sequences.triggers.due import schedules_start
from sequences.triggers.schedules import SchedulePlan, schedule_change, schedule_create
from tests import factories
from tests.sequences import workshop

pytestmark = pytest.mark.django_db

NEEDS_N = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def sequence(alice: User) -> Tool:
    return workshop.sequence_of(alice, workshop.step(workshop.make("echo")), input_schema=NEEDS_N)


@pytest.fixture
def client(alice: User, client_for: Callable[[User], Client]) -> Client:
    return client_for(alice)


def plan(**fields: Any) -> SchedulePlan:
    return SchedulePlan(**{"cron": "*/15 * * * *", "input": {"n": 1}, **fields})


def due(schedule: Schedule, ago: timedelta = timedelta(seconds=5)) -> datetime:
    """Let a time of a schedule have come; return now."""
    now = timezone.now()
    Schedule.objects.filter(pk=schedule.pk).update(next_at=now - ago)
    return now


# --- Cron expressions ---


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("* * * *", "and this has 4"),
        ("0 0 * * * *", "and this has 6"),
        ("@daily", "and this has 1"),
        ("61 * * * *", "bad minute"),
        ("0 0 31 2 *", "bad day-of-month"),
        ("0 0 * * MON-", "bad day-of-week"),
        ("0 9 ² * *", "bad day-of-month"),
        (f"{'0,' * 60}0 * * * *", "at most 100 characters"),
    ],
)
def test_a_cron_expression_that_is_none_is_told_why(cron: str, words: str) -> None:
    with pytest.raises(CronError, match=words):
        checked_cron(cron)


def test_a_cron_expression_is_told_in_words() -> None:
    assert in_words("0 9 * * 1-5") == "At 09:00, Monday through Friday"
    assert in_words("*/15 * * * *") == "Every 15 minutes"
    assert in_words("nonsense") == "nonsense"


def times(cron: str, after: datetime, count: int) -> list[str]:
    found = next_times(cron, "Europe/Berlin", after, count)
    return [time.astimezone(UTC).isoformat(timespec="minutes")[:16] for time in found]


def test_a_time_that_the_clocks_skip_is_made_up_for_and_comes_once() -> None:
    """On 29 March 2026 there is no 2:30 in Berlin."""
    eve = datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert times("30 2 * * *", eve, 2) == ["2026-03-29T01:00", "2026-03-30T00:30"]


def test_a_time_that_comes_twice_runs_once() -> None:
    """On 25 October 2026 there are two 2:30 in Berlin."""
    eve = datetime(2026, 10, 24, 12, tzinfo=UTC)
    assert times("30 2 * * *", eve, 2) == ["2026-10-25T00:30", "2026-10-26T01:30"]


def test_nine_in_the_morning_stays_nine_when_summer_comes() -> None:
    found = next_times("0 9 * * *", "Europe/Berlin", datetime(2026, 3, 28, 5, tzinfo=UTC), 2)
    assert [(time.hour, time.tzname()) for time in found] == [(9, "CET"), (9, "CEST")]


def test_every_half_hour_goes_on_evenly_while_the_clocks_change() -> None:
    eve = datetime(2026, 10, 25, 0, 10, tzinfo=UTC)
    assert times("*/30 * * * *", eve, 4) == [
        *("2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30", "2026-10-25T02:00")
    ]


# --- Making and changing ---


def test_a_schedule_knows_its_next_time(alice: User, sequence: Tool) -> None:
    schedule = schedule_create(alice, sequence, plan(cron="  0  9 * * 1 ", timezone="Asia/Tokyo"))
    assert schedule.cron == "0 9 * * 1"
    assert schedule.next_at is not None and schedule.next_at > timezone.now()
    assert (schedule.next_at.astimezone(UTC).hour, schedule.next_at.weekday()) == (0, 0)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"cron": "soon"}, "$.cron"),
        ({"timezone": "Mars/Olympus"}, "$.timezone"),
        ({"timezone": "../../etc/passwd"}, "$.timezone"),
        ({"name": "x" * 81}, "$.name"),
        ({"input": {}}, "$.input.n"),
        ({"input": {"n": "one"}}, "$.input.n"),
        ({"input": {"n": 1, "text": "x" * 70_000}}, "$.input"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_told_by_field(
    alice: User, sequence: Tool, fields: Any, path: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        schedule_create(alice, sequence, plan(**fields))
    assert [problem["path"] for problem in error.value.extra["problems"]] == [path]
    assert not Schedule.objects.exists()


def test_somebody_who_may_not_use_a_sequence_cannot_schedule_it(bob: User, sequence: Tool) -> None:
    with pytest.raises(NotAllowed, match="is not yours to use now"):
        schedule_create(bob, sequence, plan())


def test_nobody_has_more_schedules_than_can_be_looked_at(
    alice: User, sequence: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "MOST", 1)
    schedule_create(alice, sequence, plan())
    with pytest.raises(Conflict, match="more are not taken"):
        schedule_create(alice, sequence, plan())


def test_a_time_that_is_due_is_not_lost_by_a_change_of_something_else(
    alice: User, sequence: Tool
) -> None:
    schedule = schedule_create(alice, sequence, plan())
    now = due(schedule)
    schedule_change(schedule, plan(input={"n": 2}))
    assert schedules_start(now) == 1
    assert Run.objects.get().input == {"n": 2}


def test_what_was_missed_while_it_was_off_is_not_made_up_for(alice: User, sequence: Tool) -> None:
    schedule = schedule_create(alice, sequence, plan())
    now = due(schedule)
    schedules.schedule_switch(schedule, enabled=False)
    assert schedules_start(now) == 0
    assert schedules.schedule_switch(schedule, enabled=True).next_at > now
    assert schedules_start(now) == 0


# --- Starting ---


def test_what_is_due_is_started_in_the_name_of_its_owner(alice: User, sequence: Tool) -> None:
    schedule = schedule_create(alice, sequence, plan(), scopes={"tools:run"})
    now = due(schedule)
    assert schedules_start(now) == 1
    run = Run.objects.get()
    assert (run.caller, run.user, run.schedule) == ("schedule", alice, schedule)
    assert (run.input, run.scopes, run.status) == ({"n": 1}, ["tools:run"], "queued")
    schedule.refresh_from_db()
    assert schedule.last_at == now and schedule.next_at is not None and schedule.next_at > now
    running.execute(run.pk)
    run.refresh_from_db()
    assert run.status == "succeeded"


def test_times_that_were_missed_are_made_up_for_by_one_run(alice: User, sequence: Tool) -> None:
    schedule = schedule_create(alice, sequence, plan(cron="* * * * *"))
    now = due(schedule, timedelta(days=3))
    assert [schedules_start(now), schedules_start(now)] == [1, 0]
    assert Run.objects.count() == 1


def test_nothing_is_started_before_its_time(alice: User, sequence: Tool) -> None:
    schedule = schedule_create(alice, sequence, plan())
    # its own next time may come while the test runs
    Schedule.objects.filter(pk=schedule.pk).update(next_at=timezone.now() + timedelta(hours=1))
    assert tasks.start_due_schedules() == 0


@pytest.mark.django_db(transaction=True)
def test_two_beats_at_once_start_one_run() -> None:
    alice = factories.make_user("alice")
    sequence = workshop.sequence_of(alice, workshop.step(workshop.make("echo")))
    schedule = schedule_create(alice, sequence, plan())
    now, together, started = due(schedule), Barrier(4), []

    def beat() -> None:
        together.wait()
        started.append(schedules_start(now))
        connection.close()

    beats = [Thread(target=beat) for _ in range(4)]
    for thread in beats:
        thread.start()
    for thread in beats:
        thread.join()
    assert sorted(started) == [0, 0, 0, 1]
    assert Run.objects.count() == 1


def test_an_input_that_no_longer_fits_is_told_and_tried_again(alice: User, sequence: Tool) -> None:
    schedule = factories.make_schedule(alice, sequence, input={})
    assert schedules_start(due(schedule)) == 0
    schedule.refresh_from_db()
    assert schedule.enabled and schedule.last_error["code"] == "invalid_arguments"
    assert "n: " in schedule.last_error["message"]
    refused = Invocation.objects.get()
    assert (refused.caller, refused.error_code) == ("schedule", "invalid_arguments")


def test_a_refusal_is_forgotten_when_a_run_starts(alice: User, sequence: Tool) -> None:
    schedule = schedule_create(alice, sequence, plan())
    Schedule.objects.update(last_error={"code": "x", "message": "", "hint": "", "at": ""})
    schedules_start(due(schedule))
    schedule.refresh_from_db()
    assert schedule.last_error is None


def test_a_schedule_of_a_closed_account_is_switched_off(alice: User, sequence: Tool) -> None:
    schedule = schedule_create(alice, sequence, plan())
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert switched_off(schedule) == "owner_inactive"


def test_a_schedule_that_goes_while_others_are_started_is_passed_by(
    alice: User, bob: User, sequence: Tool, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    first, second = schedule_create(alice, sequence, plan()), factories.make_schedule(bob, sequence)
    due(second)
    now = due(first, timedelta(minutes=1))
    start = triggers_due.run_start

    def start_and_delete(*args: Any, **fields: Any) -> Run:
        bob.delete()
        return start(*args, **fields)

    monkeypatch.setattr(triggers_due, "run_start", start_and_delete)
    assert schedules_start(now) == 1
    assert not Schedule.objects.filter(pk=second.pk).exists()
    assert not [line for line in caplog.records if line.levelname == "ERROR"]


def test_a_schedule_of_a_deleted_sequence_is_switched_off(alice: User, sequence: Tool) -> None:
    schedule = schedule_create(alice, sequence, plan())
    sequence_delete(sequence)
    assert switched_off(schedule) == "sequence_gone"


def test_a_schedule_of_a_stopped_sequence_is_switched_off_with_the_reason(
    alice: User, sequence: Tool, governor: User
) -> None:
    schedule = schedule_create(alice, sequence, plan())
    tool_stop(sequence, by=governor, reason="it leaks")
    assert switched_off(schedule) == "tool_stopped"
    schedule.refresh_from_db()
    assert "it leaks" in schedule.last_error["message"]


def switched_off(schedule: Schedule) -> str:
    """Let it be due; return the code of why it was switched off."""
    assert schedules_start(due(schedule)) == 0
    schedule.refresh_from_db()
    assert (schedule.enabled, schedule.next_at) == (False, None)
    assert not Run.objects.exists()
    told = AuditEvent.objects.filter(model="sequences.schedule").latest("id")
    assert told.after == {"enabled": False} and told.reason == schedule.last_error["message"]
    return str(schedule.last_error["code"])


def test_a_schedule_of_somebody_who_lost_access_says_so_and_stays(
    alice: User, bob: User, sequence: Tool, team: Any
) -> None:
    Tool.objects.filter(pk=sequence.pk).update(visibility="team", team=team)
    sequence.refresh_from_db()
    schedule = schedule_create(bob, sequence, plan())
    Tool.objects.filter(pk=sequence.pk).update(visibility="private", team=None)
    assert schedules_start(due(schedule)) == 0
    schedule.refresh_from_db()
    assert schedule.enabled and schedule.last_error["code"] == "not_allowed"


def test_one_schedule_that_breaks_does_not_hold_up_the_others(
    alice: User, sequence: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sequences.triggers import due as module

    first, second = (schedule_create(alice, sequence, plan()) for _ in range(2))
    due(second)
    now = due(first, timedelta(hours=1))
    real = module.run_start

    def breaks_once(*args: Any, **more: Any) -> Run:
        monkeypatch.setattr(module, "run_start", real)
        raise RuntimeError

    monkeypatch.setattr(module, "run_start", breaks_once)
    assert schedules_start(now) == 1
    assert Run.objects.get().schedule == second
    assert schedules_start(now) == 1


# --- REST ---


def body(**fields: Any) -> dict[str, Any]:
    return {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "input": {"n": 1}, **fields}


def send(client: Client, method: str, url: str, data: Any = None, **headers: str) -> Any:
    call = getattr(client, method)
    return call(url, data or {}, content_type="application/json", headers=headers)


def test_a_schedule_is_made_listed_changed_and_deleted_over_rest(
    client: Client, sequence: Tool
) -> None:
    url = f"/api/v1/sequences/{sequence.pk}/schedules/"
    made = send(client, "post", url, body(name="Morning"))
    assert made.status_code == 201
    told = made.json()
    assert (told["words"], len(told["next_times"])) == ("At 09:00", 5)
    assert [row["id"] for row in client.get(url).json()["results"]] == [told["id"]]
    own = f"/api/v1/schedules/{told['id']}/"
    assert send(client, "patch", own, {"cron": "0 7 * * *"}).json()["words"] == "At 07:00"
    off = send(client, "patch", own, {"enabled": False}).json()
    assert (off["enabled"], off["next_at"], off["next_times"]) == (False, None, [])
    assert client.get(own).json() == off
    assert send(client, "delete", own).status_code == 204
    assert client.get(own).status_code == 404


def test_a_wrong_schedule_is_refused_over_rest(client: Client, sequence: Tool) -> None:
    url = f"/api/v1/sequences/{sequence.pk}/schedules/"
    answer = send(client, "post", url, body(cron="often"))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["extra"]["problems"][0]["path"] == "$.cron"


def test_a_schedule_of_somebody_else_is_not_found(
    alice: User, bob: User, sequence: Tool, client_for: Callable[[User], Client]
) -> None:
    schedule = schedule_create(alice, sequence, plan())
    stranger = client_for(bob)
    assert stranger.get(f"/api/v1/sequences/{sequence.pk}/schedules/").status_code == 404
    own = f"/api/v1/schedules/{schedule.pk}/"
    for method in ("get", "patch", "delete"):
        assert send(stranger, method, own).json()["code"] == "not_found"
    for action in ("edit", "switch", "delete"):
        answer = stranger.post(f"/sequences/schedules/{schedule.pk}/{action}")
        assert answer.status_code == 404
    assert Schedule.objects.filter(enabled=True).exists()


def test_a_schedule_gets_no_more_than_the_token_that_made_it(alice: User, sequence: Tool) -> None:
    url = f"/api/v1/sequences/{sequence.pk}/schedules/"
    _, running = token_create(alice, name="runs", scopes=["tools:run"])
    assert send(Client(), "post", url, body(), Authorization=f"Bearer {running}").status_code == 403
    _, both = token_create(alice, name="both", scopes=["tools:run", "tools:write"])
    bearer = f"Bearer {both}"
    made = send(Client(), "post", url, body(), Authorization=bearer).json()
    assert made["scopes"] == ["tools:run", "tools:write"]
    Schedule.objects.update(scopes=None)
    own = f"/api/v1/schedules/{made['id']}/"
    changed = send(Client(), "patch", own, {"input": {"n": 9}}, Authorization=bearer).json()
    assert changed["scopes"] == ["tools:run", "tools:write"]


def test_a_governor_switches_a_schedule_off_and_its_owner_is_told(
    alice: User, sequence: Tool, governor: User, client_for: Callable[[User], Client]
) -> None:
    schedule = schedule_create(alice, sequence, plan())
    chosen = {"action": "switch_off", "_selected_action": [str(schedule.pk)]}
    client_for(governor).post("/admin/sequences/schedule/", chosen)
    schedule.refresh_from_db()
    assert (schedule.enabled, schedule.last_error["code"]) == (False, "switched_off")
    page = client_for(alice).get(f"/sequences/{sequence.pk}/triggers").content.decode()
    assert "A governor switched this off." in page
