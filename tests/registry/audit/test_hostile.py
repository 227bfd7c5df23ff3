"""The audit cannot be gone round, and neither it nor the list of calls tells what it may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import DatabaseError, connection, transaction
from django.urls import reverse

from registry.models import AuditEvent, Invocation, SyncFeed
from registry.models.sync import SyncKind
from tests.factories import make_package, make_tool
from tests.registry.console.making import make_staff

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User
    from django.test import Client

pytestmark = pytest.mark.django_db

PROBES = [
    "arguments__text__startswith=top",
    "arguments__icontains=top",
    "arguments__text=top+secret",
    "output__icontains=top",
    "error__icontains=top",
]


@pytest.mark.parametrize("probe", PROBES)
def test_the_list_of_calls_does_not_answer_what_they_were_given(
    alice: User, client_for: Callable[[User], Client], probe: str
) -> None:
    call = Invocation.objects.create(
        tool=make_tool(),
        tool_version=1,
        caller="browser",
        user=alice,
        outcome="succeeded",
        phase="execute",
        duration_ms=1,
        arguments={"text": "top secret"},
        output={"text": "top secret"},
    )
    clerk = make_staff("clerk", "view_invocation")
    url = reverse("admin:registry_invocation_changelist")
    client = client_for(clerk)
    assert str(call.pk) in client.get(url).content.decode()
    answer = client.get(f"{url}?{probe}")
    assert answer.status_code in (302, 400)


def test_the_list_of_events_does_not_answer_what_they_hold(
    client_for: Callable[[User], Client],
) -> None:
    make_package(settings={"api_key": "abc"})
    clerk = make_staff("clerk", "view_auditevent")
    url = reverse("admin:registry_auditevent_changelist")
    assert client_for(clerk).get(f"{url}?after__icontains=abc").status_code in (302, 400)


def test_a_secret_in_an_event_is_masked_in_the_console_as_on_its_page(
    client_for: Callable[[User], Client],
) -> None:
    make_package(settings={"x-token": "hunter-two"})
    event = AuditEvent.objects.get(model="registry.package")
    clerk = make_staff("clerk", "view_auditevent")
    page = client_for(clerk).get(reverse("admin:registry_auditevent_change", args=[event.pk]))
    assert page.status_code == 200
    assert "hunter-two" not in page.content.decode()


def test_whoever_lets_a_refused_version_run_again_is_told_of() -> None:
    tool = make_tool(blocked_versions=[2])
    before = AuditEvent.objects.count()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE registry_tool SET blocked_versions = '{}' WHERE id = %s", [tool.pk])
    assert AuditEvent.objects.count() == before + 1
    event = AuditEvent.objects.latest("pk")
    assert (event.before, event.after) == ({"blocked_versions": [2]}, {"blocked_versions": []})


def test_which_registries_are_looked_through_is_told_of() -> None:
    feed = SyncFeed.objects.create(kind=SyncKind.KEYWORD, keyword="evil", enabled=False)
    SyncFeed.objects.filter(pk=feed.pk).update(enabled=True)
    events = AuditEvent.objects.filter(model="registry.syncfeed").order_by("pk")
    assert [event.operation for event in events] == ["insert", "update"]
    assert events[1].after == {"enabled": True}
    SyncFeed.objects.filter(pk=feed.pk).update(checkpoint={"from": 1}, asked=True)
    assert events.count() == 2


@pytest.mark.parametrize(
    "table", ["registry_auditevent", "registry_toolversion", "registry_invocation"]
)
def test_what_is_append_only_is_not_emptied_at_once(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('outfitter.empty', '', true)")
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            cursor.execute(f"TRUNCATE {table} CASCADE")
