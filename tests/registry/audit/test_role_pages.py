"""What each role meets on every page of the admin, and that the reference says so."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from oauth2_provider.models import AccessToken, RefreshToken

from agents.experiments import ToolsetPlan, experiment_create, present_toolset
from agents.models import Agent, AgentTool
from agents.oauth.clients import client_make
from registry.models import (
    AuditEvent,
    ImportJob,
    RetentionPolicy,
    SearchWeights,
    SyncFeed,
    SyncRun,
    ToolVersion,
    Upload,
)
from registry.roles import PERMISSIONS, Role, role_give
from registry.search.weights import Weights
from tests import factories
from tests.architecture.source import PACKAGES, ROOT
from tests.registry.audit.records import call
from tests.registry.console.making import make_proposal

pytestmark = pytest.mark.django_db

REGISTERED = sorted(admin.site._registry, key=lambda model: model._meta.label)
ACTS = ("view", "add", "change", "delete")
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def permitted(role: Role, model: type[Model]) -> list[str]:
    """Return what a role may do with a model, of view, add, change and delete."""
    app, name = model._meta.app_label, model._meta.model_name
    return [act for act in ACTS if f"{app}.{act}_{name}" in PERMISSIONS[role]]


GOVERNED = [model for model in REGISTERED if permitted(Role.AUDITOR, model)]
PRIVATE = [model for model in REGISTERED if model not in GOVERNED]


def _label(model: type[Model]) -> str:
    return model._meta.label


@pytest.fixture
def rows(alice: User) -> Mapping[type[Model], Model]:
    """One row of each model that governance sees."""
    tool = factories.make_tool()
    agent = factories.make_agent(alice, tool)
    plan = ToolsetPlan(tools={factories.make_tool().pk: None}, discovery_mode="linked")
    experiment = experiment_create(agent, by=alice, name="Two", a=present_toolset(agent), b=plan)
    feed = SyncFeed.objects.create(kind="keyword", keyword="tpmjs")
    assert tool.package is not None
    made = [
        tool,
        tool.package,
        ToolVersion.objects.filter(tool=tool).get(),
        make_proposal(tool.package),
        call(tool, user=alice),
        ImportJob.objects.create(ecosystem="npm", name="x", requested_by=alice),
        feed,
        SyncRun.objects.create(feed=feed),
        AuditEvent.objects.latest("id"),
        RetentionPolicy.objects.get(pk="invocations"),
        SearchWeights.objects.create(version=1, values=Weights().as_dict(), reason="so"),
        Upload.objects.create(digest="a" * 64, name="m", filename="m.py", files={}, size=1),
        agent,
        AgentTool.objects.get(agent=agent),
        experiment,
        factories.make_schedule(alice),
        factories.make_webhook(alice),
        factories.make_event_subscription(alice),
        Group.objects.get(name="owner"),
        alice,
        *oauth_rows(alice, agent),
    ]
    return {type(row): row for row in made}


def oauth_rows(person: User, agent: Agent) -> list[Model]:
    """Make a program of an agent, with tokens of a person's."""
    client, _ = client_make(agent, name="Nightly")
    of: dict[str, Any] = {"user": person, "application": client}
    expires = timezone.now() + timedelta(hours=1)
    token = AccessToken.objects.create(**of, token_checksum="a" * 64, expires=expires)
    refresh = RefreshToken.objects.create(**of, token_checksum="b" * 64, access_token=token)
    return [client, token, refresh]


@pytest.fixture
def signed_in(client_for: Callable[[User], Client]) -> Callable[[Role], Client]:
    """Return a function that gives the client of somebody with a role."""

    def sign_in(role: Role) -> Client:
        person = factories.make_user(f"the-{role}")
        role_give(person, role)
        return client_for(person)

    return sign_in


def page(model: type[Model], kind: str, *args: Any) -> str:
    """Return the address of a page of a model in the admin."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{kind}", args=args)


def pages(model: type[Model], key: Any) -> list[str]:
    """Return the addresses of all pages of one row and of its model."""
    own = [page(model, kind, key) for kind in ("change", "delete", "history")]
    return [page(model, "changelist"), page(model, "add"), *own]


def stored(row: Model) -> dict[str, Any]:
    """Return the row as the database has it."""
    return type(row)._default_manager.filter(pk=row.pk).values().get()


def posted(client: Client, row: Model) -> list[int]:
    """Send every change that a page could; return how each was answered."""
    model, fields = type(row), {"reason": "because", "decision": "approve", "enabled": "on"}
    fields |= {"keep_days": "90", "name": "changed", "every_minutes": "7", "most_per_run": "7"}
    urls = [page(model, "change", row.pk), page(model, "delete", row.pk), page(model, "add")]
    return [client.post(url, {**fields, "post": "yes"}).status_code for url in urls]


def actions_of(model: type[Model]) -> list[str]:
    """Return the names of the actions that the list of a model has for anybody."""
    named = admin.site._registry[model].actions or ()
    own = [action if isinstance(action, str) else action.__name__ for action in named]
    return [*own, "delete_selected"]


@pytest.mark.parametrize("model", GOVERNED, ids=_label)
@pytest.mark.parametrize("role", [Role.GOVERNOR, Role.AUDITOR])
def test_governance_sees_every_governed_list_row_and_history(
    model: type[Model], role: Role, rows: Any, signed_in: Any
) -> None:
    client, row = signed_in(role), rows[model]
    for url in (page(model, "changelist"), page(model, "change", row.pk)):
        assert client.get(url).status_code == 200, url
    assert client.get(page(model, "history", row.pk)).status_code == 200


@pytest.mark.parametrize("model", GOVERNED, ids=_label)
def test_an_auditor_changes_nothing(model: type[Model], rows: Any, signed_in: Any) -> None:
    client, row = signed_in(Role.AUDITOR), rows[model]
    before, count = stored(row), model._default_manager.count()
    assert posted(client, row) == [403, 403, 403]
    assert client.get(page(model, "add")).status_code == 403
    assert client.get(page(model, "delete", row.pk)).status_code == 403
    for action in actions_of(model):
        chosen = {"action": action, "_selected_action": [str(row.pk)], "reason": "because"}
        for step in ({}, {"post": "yes"}, {"apply": "yes", "confirmed": "yes"}):
            answer = client.post(page(model, "changelist"), {**chosen, **step})
            assert answer.status_code in (200, 302, 403)
    assert stored(row) == before and model._default_manager.count() == count


@pytest.mark.parametrize("model", GOVERNED, ids=_label)
def test_a_governor_is_refused_what_the_role_does_not_say(
    model: type[Model], rows: Any, signed_in: Any
) -> None:
    client, row, may = signed_in(Role.GOVERNOR), rows[model], permitted(Role.GOVERNOR, model)
    before = stored(row)
    for act, url in (
        ("add", page(model, "add")),
        ("delete", page(model, "delete", row.pk)),
        ("change", page(model, "change", row.pk)),
    ):
        if act not in may:
            assert client.post(url, {"post": "yes", "name": "changed"}).status_code == 403, url
            if act != "change":
                assert client.get(url).status_code == 403, url
    if "change" not in may:
        assert stored(row) == before


@pytest.mark.parametrize("model", PRIVATE, ids=_label)
@pytest.mark.parametrize("role", [Role.GOVERNOR, Role.AUDITOR])
def test_what_people_say_and_keep_is_nothing_of_governance(
    model: type[Model], role: Role, signed_in: Any
) -> None:
    client = signed_in(role)
    key = 1 if model._meta.pk.get_internal_type() in ("AutoField", "BigAutoField") else UNKNOWN
    for url in pages(model, key)[:-1]:
        assert client.get(url).status_code == 403, url
        assert client.post(url, {"post": "yes"}).status_code == 403, url


@pytest.mark.parametrize("model", REGISTERED, ids=_label)
def test_an_owner_is_refused_everywhere(model: type[Model], rows: Any, signed_in: Any) -> None:
    client = signed_in(Role.OWNER)
    row = rows.get(model)
    for url in pages(model, row.pk if row else UNKNOWN):
        for answer in (client.get(url), client.post(url, {"post": "yes"})):
            assert answer.status_code == 302 and "/login/" in answer["Location"], url


@pytest.mark.parametrize("model", REGISTERED, ids=_label)
def test_staff_without_a_role_is_refused_everywhere(
    model: type[Model], rows: Any, client_for: Any
) -> None:
    client = client_for(factories.make_user("staff", is_staff=True))
    row = rows.get(model)
    urls = pages(model, row.pk if row else 1 if "chat" in model._meta.label else UNKNOWN)
    for url in urls[:-1]:
        for answer in (client.get(url), client.post(url, {"post": "yes"})):
            assert answer.status_code == 403, url


def test_a_governor_changes_how_often_a_registry_is_looked_through(
    rows: Any, signed_in: Any
) -> None:
    fields = {"enabled": "on", "every_minutes": "30", "most_per_run": "5"}
    client = signed_in(Role.GOVERNOR)
    assert client.post(page(SyncFeed, "change", rows[SyncFeed].pk), fields).status_code == 302
    event = AuditEvent.objects.filter(model="registry.syncfeed").latest("id")
    assert (event.actor_name, event.source) == ("the-governor", "admin")
    assert event.after == {"enabled": True, "every_minutes": 30, "most_per_run": 5}


@pytest.mark.parametrize("role", [Role.GOVERNOR, Role.AUDITOR])
def test_the_files_of_an_upload_are_not_shown(role: Role, signed_in: Any) -> None:
    Upload.objects.create(
        digest="b" * 64, name="m", filename="m.py", files={"m.py": "U0VDUkVU"}, size=1
    )
    answer = signed_in(role).get(page(Upload, "change", "b" * 64))
    assert answer.status_code == 200 and b"U0VDUkVU" not in answer.content


def test_the_reference_says_what_each_role_may_do_with_each_model() -> None:
    text = (ROOT / "docs" / "reference" / "roles.md").read_text()
    table = re.findall(r"^\| `(\w+\.\w+)` \| ([\w, ]+|—) \| ([\w, ]+|—) \|$", text, re.MULTILINE)
    told = {label: (governor, auditor) for label, governor, auditor in table}
    ours = [*PACKAGES, "auth"]
    wanted = {
        model._meta.label: tuple(
            ", ".join(permitted(role, model)) or "—" for role in (Role.GOVERNOR, Role.AUDITOR)
        )
        for model in apps.get_models()
        if model._meta.app_label in ours and not model._meta.proxy
    }
    wanted.pop("auth.Permission")
    assert told == wanted
