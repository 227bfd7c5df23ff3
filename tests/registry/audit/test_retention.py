"""Records are deleted when their policy says so, and in no other way."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client

from config.lib.errors import InvalidInput, NotAllowed
from registry.audit import retention
from registry.audit.retention import clear_records, policy_set
from registry.models import AuditEvent, ImportJob, Invocation, RetentionPolicy
from registry.models.retention_policy import Records
from registry.roles import Role
from tests import factories
from tests.registry.audit.records import age, call, person

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]


def policy(records: Records) -> RetentionPolicy:
    """Return a policy that every database has."""
    return RetentionPolicy.objects.get(pk=records)


def keep(records: Records, days: int | None) -> None:
    """Set a policy as a governor does."""
    governor = User.objects.filter(username="keeper").first() or person(Role.GOVERNOR, "keeper")
    policy_set(policy(records), keep_days=days, reason="the works council asked", by=governor)


@pytest.fixture
def calls(alice: User) -> dict[int, Invocation]:
    """Calls of some ages, in days."""
    tool = factories.make_tool()
    made = {days: call(tool, alice) for days in (0, 5, 40, 50, 60)}
    for days, row in made.items():
        age("registry_invocation", "created_at", row.pk, days)
    return made


def test_a_fresh_database_keeps_everything_for_good(calls: dict[int, Invocation]) -> None:
    assert set(RetentionPolicy.objects.values_list("keep_days", flat=True)) == {None}
    assert clear_records() == []
    assert Invocation.objects.count() == 5


def test_what_is_older_than_the_policy_goes_in_batches(
    calls: dict[int, Invocation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "ROWS_A_BATCH", 2)
    keep(Records.INVOCATIONS, 30)
    (cleared,) = clear_records()
    assert (cleared.records, cleared.deleted) == (Records.INVOCATIONS, 3)
    assert set(Invocation.objects.values_list("pk", flat=True)) == {calls[0].pk, calls[5].pk}
    assert policy(Records.INVOCATIONS).last_deleted == 3


def test_a_round_is_told_in_one_event_with_the_policys_reason(calls: dict[int, Invocation]) -> None:
    keep(Records.INVOCATIONS, 30)
    clear_records()
    event = AuditEvent.objects.latest("id")
    assert (event.model, event.operation, event.source) == (
        *("registry.invocation", "delete", "worker"),
    )
    assert event.before["deleted"] == 3
    assert event.reason == "Kept for 30 days. the works council asked"
    clear_records()
    assert AuditEvent.objects.latest("id") == event  # a round that deleted nothing tells nothing


def test_deleting_calls_in_any_other_way_is_refused(calls: dict[int, Invocation]) -> None:
    keep(Records.INVOCATIONS, 30)
    clear_records()
    for attempt in (
        lambda: Invocation.objects.all().delete(),
        lambda: connection.cursor().execute("DELETE FROM registry_invocation"),
        lambda: connection.cursor().execute("UPDATE registry_invocation SET user_id = NULL"),
    ):
        with pytest.raises(DatabaseError), transaction.atomic():
            attempt()
    assert Invocation.objects.count() == 2


def test_events_of_the_last_thirty_days_stay_even_for_retention_itself() -> None:
    for _ in range(3):
        factories.make_package()
    old = AuditEvent.objects.latest("id")
    age("registry_auditevent", "at", old.pk, 31)
    keep(Records.AUDIT_EVENTS, 30)
    (cleared,) = clear_records()
    assert cleared.deleted == 1 and not AuditEvent.objects.filter(pk=old.pk).exists()
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('outfitter.retention', 'on', true)")
        cursor.execute("DELETE FROM registry_auditevent")


def test_imports_that_are_under_way_stay() -> None:
    made = {
        status: ImportJob.objects.create(ecosystem="npm", name=status, status=status)
        for status in ("queued", "running", "succeeded", "failed")
    }
    for job in made.values():
        age("registry_importjob", "created_at", job.pk, 90)
    keep(Records.IMPORT_JOBS, 30)
    clear_records()
    assert set(ImportJob.objects.values_list("name", flat=True)) == {"queued", "running"}


@pytest.mark.parametrize(
    ("records", "days"),
    [(Records.AUDIT_EVENTS, 29), (Records.INVOCATIONS, 0), (Records.INVOCATIONS, 4000)],
)
def test_a_policy_outside_its_bounds_is_refused(records: Records, days: int) -> None:
    with pytest.raises(InvalidInput, match="can be kept from"):
        keep(records, days)
    with pytest.raises(DatabaseError), transaction.atomic():
        RetentionPolicy.objects.filter(pk=records).update(keep_days=days)


def test_a_change_without_a_reason_is_refused() -> None:
    with pytest.raises(InvalidInput, match="needs a reason"):
        policy_set(policy(Records.INVOCATIONS), keep_days=9, reason=" ", by=person(Role.GOVERNOR))


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.OWNER])
def test_only_a_governor_changes_a_policy(role: Role, client_for: SignIn) -> None:
    user = person(role)
    with pytest.raises(NotAllowed, match="Only a governor"):
        policy_set(policy(Records.INVOCATIONS), keep_days=9, reason="because", by=user)
    sent = {"keep_days": "9", "reason": "because"}
    place = "/admin/registry/retentionpolicy/invocations/change/"
    assert client_for(user).post(place, sent).status_code in (302, 403)
    assert policy(Records.INVOCATIONS).keep_days is None


def test_a_governor_changes_a_policy_in_the_admin_and_it_is_audited(client_for: SignIn) -> None:
    client, place = client_for(person(Role.GOVERNOR, "gwen")), "/admin/registry/retentionpolicy/"
    assert client.get(place).status_code == 200
    sent: dict[str, Any] = {"keep_days": "90", "reason": "policy 7.3"}
    assert client.post(f"{place}invocations/change/", sent).status_code == 302
    event = AuditEvent.objects.filter(model="registry.retentionpolicy").latest("id")
    assert (event.actor_name, event.source, event.reason) == ("gwen", "admin", "policy 7.3")
    assert (event.before["keep_days"], event.after["keep_days"]) == (None, 90)
    refused = client.post(f"{place}audit_events/change/", {"keep_days": "5", "reason": "x"})
    assert "can be kept from 30" in refused.content.decode()
    assert client.get(f"{place}add/").status_code == 403
    assert client.post(f"{place}invocations/delete/", {"post": "yes"}).status_code == 403
