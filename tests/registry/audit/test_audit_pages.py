"""Reading and exporting the audit: in the browser, over REST and in the admin."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.tokens import token_create
from config.lib.changes import changing
from registry.audit import paging
from registry.models import AuditEvent, Package
from registry.roles import Role
from tests import factories
from tests.registry.audit.records import person

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]

PAGES = ("/audit/", "/audit/export/?format=csv", "/audit/export/?format=json", "/api/v1/audit/")


def text_of(response: Any) -> str:
    """Return a streamed answer whole."""
    return b"".join(response.streaming_content).decode()


@pytest.fixture
def event(db: None) -> AuditEvent:
    """A review of a package, by somebody, for a reason."""
    package = factories.make_package(name="acme")
    with changing(source="admin", actor=lambda: (None, "zoe"), reason="found a worm"):
        Package.objects.filter(pk=package.pk).update(review_status="quarantined")
    return AuditEvent.objects.latest("id")


@pytest.mark.parametrize("page", [*PAGES, "/audit/{}/", "/api/v1/audit/{}/"])
def test_only_governors_and_auditors_read_the_audit(
    page: str, event: AuditEvent, client_for: SignIn, alice: User
) -> None:
    address = page.format(event.pk)
    assert client_for(alice).get(address).status_code == 403
    assert client_for(person(Role.OWNER)).get(address).status_code == 403
    assert Client().get(address).status_code in (302, 401, 403)
    for role in (Role.GOVERNOR, Role.AUDITOR):
        assert client_for(person(role)).get(address).status_code == 200


def test_a_token_needs_the_scope_of_the_audit(event: AuditEvent) -> None:
    auditor = person(Role.AUDITOR)
    for scopes, status in ((["tools:read"], 403), (["audit:read"], 200), ([], 200)):
        _, text = token_create(auditor, name="script", scopes=scopes)
        answer = Client().get("/api/v1/audit/", headers={"authorization": f"Bearer {text}"})
        assert answer.status_code == status


def test_an_event_shows_both_values_side_by_side(event: AuditEvent, client_for: SignIn) -> None:
    page = client_for(person(Role.AUDITOR)).get(f"/audit/{event.pk}/").content.decode()
    for text in ("npm:acme", "approved", "quarantined", "found a worm", "zoe", "review status"):
        assert text in page


@pytest.mark.parametrize(
    "query",
    [
        "q=acme",
        "q=worm",
        "actor=zoe",
        "model=registry.package&operation=update",
        "source=admin",
        "since=2020-01-01&until=2999-01-01",
        "object={}",
        "request={}",
    ],
)
def test_each_filter_finds_the_event(query: str, event: AuditEvent, client_for: SignIn) -> None:
    key = event.request_id if query.startswith("request") else event.subject_id
    answer = client_for(person(Role.AUDITOR)).get(f"/api/v1/audit/?{query.format(key)}")
    assert event.pk in [found["id"] for found in answer.json()["results"]]


@pytest.mark.parametrize(
    "query",
    ["q=nothing", "actor=nobody", "model=x", "operation=x", "source=x", "object=x", "request=x"],
)
def test_a_filter_that_fits_nothing_finds_nothing(
    query: str, event: AuditEvent, client_for: SignIn
) -> None:
    client = client_for(person(Role.AUDITOR))
    assert client.get(f"/api/v1/audit/?{query}").json()["results"] == []
    assert "Nothing was changed" in client.get(f"/audit/?{query}").content.decode()


@pytest.mark.parametrize("query", ["since=yesterday", "until=2026-13-01", "cursor=x", "cursor=MQ"])
def test_what_cannot_be_read_is_refused(query: str, client_for: SignIn) -> None:
    answer = client_for(person(Role.AUDITOR)).get(f"/audit/?{query}")
    assert answer.status_code == 400
    assert "is no" in answer.content.decode()


def test_every_event_stands_on_exactly_one_page(
    client_for: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "ROWS_A_PAGE", 3)
    for _ in range(8):
        factories.make_package()
    client, seen, query = client_for(person(Role.AUDITOR)), [], "?"
    while query:
        page = client.get(f"/audit/{query}&model=registry.package").context
        seen += [row[0].pk for row in page["rows"]]
        query = page["older"] and f"?cursor={page['older']}"
    expected = AuditEvent.objects.filter(model="registry.package").order_by("-at", "-id")
    assert seen == list(expected.values_list("pk", flat=True))
    assert len(seen) >= 8


def test_a_page_takes_a_few_queries_however_many_events_there_are(
    client_for: SignIn, django_assert_max_num_queries: Any
) -> None:
    for _ in range(30):
        factories.make_package()
    client = client_for(person(Role.AUDITOR))
    with django_assert_max_num_queries(6) as captured:
        client.get("/audit/")
    assert not any("COUNT(" in query["sql"] for query in captured.captured_queries)


def test_the_export_has_every_event_that_passes(
    event: AuditEvent, client_for: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "ROWS_A_BATCH", 2)
    for _ in range(5):
        factories.make_package()
    client = client_for(person(Role.AUDITOR))
    whole = json.loads(text_of(client.get("/audit/export/?format=json")))
    assert len(whole) == AuditEvent.objects.count()
    answer = client.get("/audit/export/?format=csv&q=worm")
    assert answer["Content-Disposition"].startswith('attachment; filename="audit-')
    (row,) = csv.DictReader(io.StringIO(text_of(answer)))
    assert (row["object"], row["actor"], row["reason"]) == ("npm:acme", "zoe", "found a worm")
    assert json.loads(row["after"]) == {"review_status": "quarantined"}
    assert json.loads(text_of(client.get("/audit/export/?format=json&q=nothing"))) == []


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_the_export_is_a_formula(start: str, client_for: SignIn) -> None:
    with changing(reason=f"x{start}"), changing(reason=f"{start}HYPERLINK(1)"):
        factories.make_package(name=f"{start}acme")
    client = client_for(person(Role.AUDITOR))
    rows = list(csv.DictReader(io.StringIO(text_of(client.get("/audit/export/")), newline="")))
    assert f"'{start}HYPERLINK(1)" in [row["reason"] for row in rows]


def test_an_unknown_format_is_refused(client_for: SignIn) -> None:
    answer = client_for(person(Role.AUDITOR)).get("/audit/export/?format=xls")
    assert answer.status_code == 400
    assert "Ask for csv or json." in answer.content.decode()


@pytest.mark.parametrize("role", [Role.GOVERNOR, Role.AUDITOR])
def test_the_admin_shows_events_and_lets_nobody_change_them(
    role: Role, event: AuditEvent, client_for: SignIn
) -> None:
    client, place = client_for(person(role)), "/admin/registry/auditevent"
    assert client.get(f"{place}/").status_code == 200
    assert "found a worm" in client.get(f"{place}/{event.pk}/change/").content.decode()
    assert client.post(f"{place}/{event.pk}/change/", {"reason": "none"}).status_code == 403
    assert client.post(f"{place}/{event.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get(f"{place}/add/").status_code == 403


def test_nobody_without_a_role_enters_the_admin(event: AuditEvent, client_for: SignIn) -> None:
    assert client_for(person(Role.OWNER)).get("/admin/registry/auditevent/").status_code == 302


def test_pages_lead_to_the_history_of_their_object(client_for: SignIn, alice: User) -> None:
    tool = factories.make_tool()
    client = client_for(person(Role.GOVERNOR))
    for page, key in (
        (f"/tools/{tool.pk}/", tool.pk),
        (f"/packages/{tool.package_id}/", tool.package_id),
        (f"/admin/registry/package/{tool.package_id}/history/", tool.package_id),
    ):
        assert f"/audit/?object={key}" in client.get(page).content.decode()
    assert (
        f"/audit/?object={tool.pk}"
        not in client_for(alice).get(f"/tools/{tool.pk}/").content.decode()
    )


def test_an_administrator_gives_roles_in_the_admin(
    governor: User, alice: User, client_for: SignIn
) -> None:
    sent = {"action": "give_auditor", "_selected_action": [alice.pk]}
    assert client_for(governor).post("/admin/auth/user/", sent).status_code == 302
    assert alice.groups.filter(name="auditor").exists()
    event = AuditEvent.objects.filter(model="auth.user_groups").latest("id")
    assert (event.source, event.actor_name) == ("admin", "governor")
    refused = client_for(person(Role.GOVERNOR, "some")).post("/admin/auth/user/", sent)
    assert refused.status_code in (200, 302, 403)
    assert not AuditEvent.objects.filter(actor_name="some", model="auth.user_groups").exists()
