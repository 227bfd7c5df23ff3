"""Governors decide what the ranking weighs: once at a time, with a reason, for everybody."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client

from config.lib.errors import Conflict, DomainError, InvalidInput, NotAllowed, NotFound
from registry.changes import ChangeFeed, Follower
from registry.models import AuditEvent, SearchWeights
from registry.roles import PERMISSIONS, Role, role_give
from registry.search import in_force
from registry.search.in_force import (
    changes_between,
    decided_of,
    weights_forget,
    weights_history,
    weights_now,
    weights_version,
)
from registry.search.service import search
from registry.search.weights import BOUNDS, FIELDS, Weights
from registry.weighing import weights_restore, weights_save
from tests import factories
from tests.live import eventually

pytestmark = pytest.mark.django_db

NAME = "name_coverage"


def others(value: float = 0.2, name: str = NAME) -> dict[str, Any]:
    """Return the product's weights but for one."""
    return {**Weights().as_dict(), name: value}


def test_until_somebody_decides_the_products_own_weights_are_in_force() -> None:
    now = weights_now()
    assert (now.version, now.weights, now.reason, now.by) == (0, Weights(), "", None)
    assert [decided.version for decided in weights_history()] == [0]


def test_the_weights_in_force_are_read_once_and_again_when_a_save_is_heard_of(
    django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = ChangeFeed()
    monkeypatch.setattr(ChangeFeed, "follow", lambda _, channel, heard: Follower(channel, heard))
    monkeypatch.setattr(in_force, "feed", feed)
    with django_assert_num_queries(1):
        weights_now()
    with django_assert_num_queries(0):
        weights_now()
    weights_forget("1")
    with django_assert_num_queries(1):
        weights_now()


def test_what_a_governor_saves_is_in_force(
    governor: User, django_capture_on_commit_callbacks: Any
) -> None:
    weights_now()
    with django_capture_on_commit_callbacks(execute=True):
        saved = weights_save(governor, others(), "  names count more ", based_on=0)
    now = weights_now()
    assert now == saved
    assert (now.version, now.reason, now.by) == (1, "names count more", governor)
    assert now.weights == Weights.of(others())
    assert changes_between(Weights(), now.weights)[0].after == 0.2


def test_what_is_saved_orders_the_next_search_and_has_its_floor(
    governor: User, django_capture_on_commit_callbacks: Any
) -> None:
    for name, text in (("parcel", "Sends it."), ("letter", "Sends a parcel, a parcel, a parcel.")):
        factories.make_tool(wire_name=name, export_name=name, title=name, description=text)

    def found() -> list[str]:
        return [hit.wire_name for hit in search("send a parcel", user=governor).found]

    first = found()
    changed = {"name": 0.0, "description": 5.0, "name_coverage": 0.0}
    with django_capture_on_commit_callbacks(execute=True):
        weights_save(governor, {**Weights().as_dict(), **changed}, "texts", based_on=0)
    assert first[0] == "parcel" and found()[0] == "letter"
    with django_capture_on_commit_callbacks(execute=True):
        weights_save(governor, {**Weights().as_dict(), "floor": 1.0}, "nothing", based_on=1)
    assert found() == []


def test_only_governors_decide(alice: User) -> None:
    for decide in (
        lambda: weights_save(alice, others(), "mine", based_on=0),
        lambda: weights_restore(alice, 0, "mine", based_on=0),
    ):
        with pytest.raises(NotAllowed, match="Only a governor"):
            decide()
    assert not SearchWeights.objects.exists()


def test_the_role_of_a_governor_is_enough_and_that_of_an_auditor_is_not(
    alice: User, bob: User
) -> None:
    role_give(alice, Role.GOVERNOR)
    role_give(bob, Role.AUDITOR)
    weights_save(User.objects.get(pk=alice.pk), others(), "names", based_on=0)
    with pytest.raises(NotAllowed):
        weights_save(User.objects.get(pk=bob.pk), others(0.3), "names", based_on=1)
    assert "registry.view_searchweights" in PERMISSIONS[Role.AUDITOR]


@pytest.mark.parametrize(
    ("values", "path", "message"),
    [
        ({NAME: 99.0}, f"$.values.{NAME}", "99"),
        ({NAME: -1}, f"$.values.{NAME}", NAME),
        ({NAME: float("nan")}, f"$.values.{NAME}", NAME),
        ({NAME: "0.2"}, f"$.values.{NAME}", NAME),
        ({NAME: True}, f"$.values.{NAME}", NAME),
        ({NAME: None}, f"$.values.{NAME}", NAME),
        ({"smell": 1}, "$.values.smell", "smell"),
    ],
)
def test_a_weight_that_cannot_be_is_named(
    governor: User, values: dict[str, Any], path: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match="These are no weights") as refused:
        weights_save(governor, {**others(), **values}, "try", based_on=0)
    [problem] = refused.value.extra["problems"]
    assert problem["path"] == path and message in f"{values} {problem['message']}"


def test_weights_that_leave_no_text_to_rank_by_are_refused(governor: User) -> None:
    values = {**others(), **dict.fromkeys(FIELDS, 0.0)}
    with pytest.raises(InvalidInput, match="At least one text"):
        weights_save(governor, values, "try", based_on=0)


def test_a_weight_that_is_missing_is_named(governor: User) -> None:
    values = others()
    del values[NAME]
    with pytest.raises(InvalidInput) as refused:
        weights_save(governor, values, "try", based_on=0)
    [problem] = refused.value.extra["problems"]
    assert problem["path"] == f"$.values.{NAME}" and problem["message"].startswith("is missing")


def test_a_reason_is_asked_for(governor: User) -> None:
    with pytest.raises(InvalidInput, match="A reason is needed"):
        weights_save(governor, others(), " ", based_on=0)


def test_weights_that_are_in_force_already_are_no_decision(governor: User) -> None:
    with pytest.raises(InvalidInput, match="in force already"):
        weights_save(governor, Weights().as_dict(), "again", based_on=0)


def test_who_saves_second_is_told_and_nothing_is_lost(governor: User) -> None:
    weights_save(governor, others(0.2), "first", based_on=0)
    with pytest.raises(Conflict, match="version 1 is in force by governor: first") as refused:
        weights_save(governor, others(0.3), "second", based_on=0)
    assert refused.value.extra["version"] == 1
    assert weights_history()[0].reason == "first"


@pytest.mark.django_db(transaction=True)
def test_of_two_who_save_at_once_one_is_told() -> None:
    people = [User.objects.create_superuser(name) for name in ("one", "two")]
    together = Barrier(2)

    def save(person: User) -> DomainError | None:
        try:
            together.wait(60)
            weights_save(person, others(0.3 + person.pk % 7 / 100), person.username, based_on=0)
        except Conflict as refused:
            return refused
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(2) as threads:
        refused = [each for each in threads.map(save, people) if each]
    assert len(refused) == 1
    assert [decided.version for decided in weights_history()] == [1, 0]


@pytest.mark.django_db(transaction=True)
def test_what_another_process_saves_is_in_force_soon() -> None:
    assert weights_now().version == 0
    SearchWeights.objects.create(version=1, values=others(), reason="elsewhere")
    assert eventually(lambda: weights_now().version == 1)


def test_an_earlier_version_is_restored(governor: User) -> None:
    weights_save(governor, others(0.2), "first", based_on=0)
    weights_save(governor, others(0.3), "second", based_on=1)
    restored = weights_restore(governor, 1, "it was better", based_on=2)
    assert (restored.version, restored.restored_from) == (3, 1)
    assert restored.weights == weights_version(1).weights
    assert weights_restore(governor, 0, "back", based_on=3).weights == Weights()


def test_a_version_that_never_was_cannot_be_restored(governor: User) -> None:
    with pytest.raises(NotFound, match="no version 7"):
        weights_restore(governor, 7, "back", based_on=0)


def test_a_decision_is_audited_with_its_reason(governor: User) -> None:
    weights_save(governor, others(), "names count more", based_on=0)
    event = AuditEvent.objects.get(model="registry.searchweights")
    assert (event.actor_name, event.reason) == ("governor", "names count more")
    assert event.after["values"][NAME] == 0.2 and event.object_label == "Search weights 1"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"values": {NAME: 1}}, "missing or out of bounds"),
        ({"values": {**others(), "smell": 1}}, "no such weight: smell"),
        ({"values": others(11)}, f"out of bounds: {NAME}"),
        ({"values": others("0.2")}, f"out of bounds: {NAME}"),  # type: ignore[arg-type]
        ({"values": []}, "object"),
        ({"version": 0}, "search_weights_positive"),
        ({"reason": " "}, "search_weights_reason"),
        ({"restored_from": 1}, "search_weights_restored_before"),
    ],
)
def test_the_database_takes_no_weights_that_cannot_be(row: dict[str, Any], message: str) -> None:
    fields = {"version": 1, "values": others(), "reason": "by hand", **row}
    with pytest.raises(DatabaseError, match=message), transaction.atomic():
        SearchWeights.objects.create(**fields)


def test_a_decision_is_never_changed_or_deleted() -> None:
    row = SearchWeights.objects.create(version=1, values=others(), reason="by hand")
    for change in (
        lambda: SearchWeights.objects.filter(pk=1).update(reason="other"),
        row.delete,
    ):
        with pytest.raises(DatabaseError, match="Cannot"), transaction.atomic():
            change()


def test_weights_of_an_older_release_are_read_as_far_as_they_are_known() -> None:
    row = SearchWeights(version=1, values={NAME: 0.3, "gone": 4, "k1": 1e9}, reason="old")
    row.created_at = None  # type: ignore[assignment]
    assert decided_of(row).weights == Weights.of(others(0.3))


def test_programs_read_and_save_weights(
    governor: User, client_for: Callable[[User], Client]
) -> None:
    client = client_for(governor)
    told = client.get("/api/v1/search/weights/").json()
    assert told["version"] == 0 and told["values"] == Weights().as_dict()
    assert [bound["name"] for bound in told["bounds"]] == list(BOUNDS)
    body = {"values": others(), "reason": "names", "basedOn": 0}
    put = client.put("/api/v1/search/weights/", body, content_type="application/json")
    assert put.status_code == 200 and put.json()["version"] == 1 and put.json()["by"] == "governor"
    again = client.put("/api/v1/search/weights/", body, content_type="application/json")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    back = {"version": 0, "reason": "no", "basedOn": 1}
    restored = client.post("/api/v1/search/weights/restore/", back, "application/json")
    assert restored.json()["restoredFrom"] == 0
    history = client.get("/api/v1/search/weights/history/").json()
    assert [decided["version"] for decided in history] == [2, 1, 0]


def test_a_program_of_somebody_else_reads_and_is_refused_to_save(
    client_for: Callable[[User], Client],
) -> None:
    client = client_for(factories.make_user("dora"))
    assert client.get("/api/v1/search/weights/").status_code == 200
    assert client.get("/api/v1/search/weights/history/").status_code == 200
    saved = {"values": others(), "reason": "names", "basedOn": 0}
    restored = {"version": 0, "reason": "names", "basedOn": 0}
    for answer in (
        client.put("/api/v1/search/weights/", saved, content_type="application/json"),
        client.post("/api/v1/search/weights/restore/", restored, "application/json"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


def test_the_admin_shows_the_decisions_and_changes_none(
    governor: User, client_for: Callable[[User], Client]
) -> None:
    weights_save(governor, others(), "names count more", based_on=0)
    client = client_for(governor)
    assert b"names count more" in client.get("/admin/registry/searchweights/").content
    page = client.get("/admin/registry/searchweights/1/change/")
    assert b"name_coverage" in page.content and b'name="_save"' not in page.content
    assert client.get("/admin/registry/searchweights/add/").status_code == 403
