"""Every change of what is governed is told, by triggers: who, where from, why, before and after."""

import json
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client

from agents.experiments import (
    ToolsetPlan,
    experiment_create,
    experiment_delete,
    present_toolset,
)
from agents.models import (
    Agent,
    AgentTool,
    ApiToken,
    ApprovalRule,
    Arm,
    ArmTool,
    Credential,
    Experiment,
    OAuthClient,
)
from agents.services import credential_set
from agents.tokens import token_create
from config.celery import app
from config.lib.changes import changing, current_change, headers_of
from registry.audit.events import MODELS
from registry.models import (
    AuditEvent,
    EventSubscription,
    Package,
    Proposal,
    RetentionPolicy,
    SearchWeights,
    SyncFeed,
    Tool,
    ToolVersion,
    Upload,
)
from registry.models.audit_triggers import _Audit
from registry.services import package_allow_hosts, tool_publish
from registry.stopping import tool_stop
from sequences.models import Schedule, Webhook
from tests import factories

pytestmark = pytest.mark.django_db

UNGOVERNED = {
    Package: {"id", "downloads", "deprecations", "search_xid", "created_at", "updated_at"},
    Tool: {
        *("id", "quality", "import_health", "execution_health", "health_error"),
        *("last_health_check_at", "search_xid", "created_at", "updated_at"),
    },
    ToolVersion: {"id", "snapshot", "created_at"},
    Proposal: {"id", "opened_at"},
    RetentionPolicy: {"last_run_at", "last_deleted"},
    ApprovalRule: {"id", "created_at"},
    SearchWeights: {"created_at"},
    SyncFeed: {
        *("id", "asked", "checkpoint", "next_at", "leased_until", "last_at", "last_error"),
    },
    Upload: {"files", "created_at"},
    Agent: {"id", "created_at", "updated_at"},
    AgentTool: {"id", "created_at"},
    Experiment: {"id", "created_at"},
    Arm: {"id"},
    ArmTool: {"id"},
    Credential: {"id", "ciphertext", "created_at"},
    Schedule: {"id", "input", "next_at", "last_at", "last_error", "created_at"},
    Webhook: {"id", "secret", "last_at", "last_error", "created_at"},
    EventSubscription: {
        *("id", "url", "secret", "previous_secret", "previous_until", "off_at"),
        *("failing_since", "created_at"),
    },
    ApiToken: {"id", "digest", "last_used_at", "created_at"},
    OAuthClient: {
        *("id", "post_logout_redirect_uris", "client_secret", "hash_client_secret", "created"),
        *("updated", "algorithm", "cimd_expires_at", "last_used_at"),
    },
}
"""The fields of governed models whose change is not told, each by a decision."""


def events(item: Any) -> list[AuditEvent]:
    """Return what is told of a row, oldest first."""
    return list(AuditEvent.objects.filter(object_id=str(item.pk)).order_by("id"))


def last(item: Any) -> AuditEvent:
    """Return what was told last of a row."""
    return events(item)[-1]


@pytest.mark.parametrize("model", UNGOVERNED, ids=lambda model: model.__name__)
def test_each_field_of_a_governed_model_is_told_or_left_out_by_decision(model: Any) -> None:
    told = {
        name
        for trigger in model._meta.triggers
        if isinstance(trigger, _Audit)
        for name in trigger.fields
    }
    assert told | UNGOVERNED[model] == {field.name for field in model._meta.concrete_fields}
    assert not told & UNGOVERNED[model]


def test_every_model_with_audit_triggers_has_its_words_and_its_decision() -> None:
    told = {
        trigger.get_func(model).split("'")[3].split("'")[0]: model
        for model in apps.get_models(include_auto_created=True)
        for trigger in getattr(model._meta, "triggers", ())
        if isinstance(trigger, _Audit)
    }
    assert set(told) <= set(MODELS)
    people = {name for name in told if name.startswith("auth.")}
    assert {told[name] for name in set(told) - people} == set(UNGOVERNED)


def test_the_files_of_an_upload_are_not_told(alice: User) -> None:
    Upload.objects.create(
        digest="a" * 64, name="mod", filename="mod.py", files={"mod.py": "U0VDUkVU"}, size=6
    )
    event = AuditEvent.objects.get(model="registry.upload")
    assert event.object_id == "a" * 64 and event.object_label == "mod aaaaaaaaaaaa"
    assert event.after["digest"] == "a" * 64 and "files" not in event.after


def test_who_stopped_a_tool_is_told_with_the_stop(governor: User) -> None:
    tool = tool_stop(factories.make_tool(), by=governor, reason="it leaks")
    assert last(tool).after["stopped_by_id"] == governor.pk


def test_what_an_agent_may_reach_is_told(alice: User) -> None:
    agent = factories.make_agent(alice)
    Agent.objects.filter(pk=agent.pk).update(scopes=["mail.send"])
    assert (last(agent).before, last(agent).after) == (
        *({"scopes": []}, {"scopes": ["mail.send"]}),
    )


def test_an_experiment_and_its_toolsets_stand_in_the_history_of_the_agent(alice: User) -> None:
    agent, other = factories.make_agent(alice, slug="helper"), factories.make_tool(wire_name="b")
    experiment = experiment_create(
        agent,
        by=alice,
        name="With b",
        a=present_toolset(agent),
        b=ToolsetPlan(tools={other.pk: None}, discovery_mode="linked"),
    )
    experiment_delete(experiment, by=alice)
    told = AuditEvent.objects.filter(subject_model="agents.agent", subject_id=str(agent.pk))
    labels = list(told.exclude(model="agents.agent").values_list("operation", "object_label"))
    assert sorted(labels) == sorted(
        (operation, label)
        for operation in ("insert", "delete")
        for label in ("With b", "With b A", "With b B", "With b B → b")
    )


def test_a_change_is_told_with_both_values_and_nothing_else() -> None:
    package = factories.make_package(name="acme")
    Package.objects.filter(pk=package.pk).update(review_status="quarantined", downloads=5)
    event = last(package)
    assert (event.model, event.operation, event.object_label) == (
        *("registry.package", "update"),
        "npm:acme",
    )
    assert event.before == {"review_status": "approved"}
    assert event.after == {"review_status": "quarantined"}


def test_what_is_added_and_deleted_is_told_without_what_is_empty(alice: User) -> None:
    agent = factories.make_agent(alice, slug="helper", description="")
    added = last(agent)
    agent.delete()
    deleted = last(agent) if agent.pk else AuditEvent.objects.latest("id")
    assert added.operation == "insert" and added.before == {}
    assert added.after["slug"] == "helper" and "description" not in added.after
    assert deleted.operation == "delete" and deleted.after == {}
    assert deleted.before["slug"] == "helper"


def test_a_change_that_changes_nothing_is_not_told() -> None:
    tool = factories.make_tool()
    before = len(events(tool))
    tool.save()
    assert len(events(tool)) == before


def test_health_quality_and_times_make_no_events() -> None:
    tool = factories.make_tool()
    before = AuditEvent.objects.count()
    Tool.objects.filter(pk=tool.pk).update(
        quality="0.50", execution_health="broken", health_error={"code": "x"}
    )
    assert AuditEvent.objects.count() == before


def test_a_publication_is_told_of_the_tool_and_of_its_version() -> None:
    tool = factories.make_tool()
    told = AuditEvent.objects.filter(subject_model="registry.tool", subject_id=str(tool.pk))
    assert set(told.values_list("model", "operation")) >= {
        ("registry.tool", "insert"),
        ("registry.toolversion", "insert"),
    }


def test_a_tool_of_an_agent_stands_in_the_history_of_the_agent(alice: User) -> None:
    tool = factories.make_tool(wire_name="helpful")
    agent = factories.make_agent(alice, tool, slug="helper")
    AgentTool.objects.filter(agent=agent).update(approval="deny")
    event = AuditEvent.objects.filter(subject_id=str(agent.pk)).latest("id")
    assert event.object_label == "helper → helpful"
    assert (event.before, event.after) == ({"approval": "rules"}, {"approval": "deny"})


def test_secrets_never_reach_the_audit(alice: User) -> None:
    credential = credential_set(alice, name="EXA_API_KEY", value="sk-very-secret")
    credential_set(alice, name="EXA_API_KEY", value="sk-another-secret")
    token, text = token_create(alice, name="script")
    tool = factories.make_tool()
    agent = factories.make_agent(alice, tool)
    AgentTool.objects.filter(agent=agent).update(
        config={"api_key": 'sk-"typed', "city": "Basel", "deep": [{"password": "geheim"}]}
    )
    alice.set_password("a-new-password")
    alice.save()
    told = json.dumps(
        list(AuditEvent.objects.values_list("before", "after", "object_label")), ensure_ascii=False
    )
    for secret in (
        "very-secret",
        "another-secret",
        text,
        token.digest,
        "typed",
        "geheim",
        "pbkdf2",
    ):
        assert secret not in told
    assert bytes(credential.ciphertext).decode() not in told and alice.password not in told
    assert "Basel" in told
    assert [event.operation for event in events(credential)] == ["insert", "update"]


def test_a_long_value_is_kept_as_its_size_and_digest() -> None:
    package = factories.make_package()
    Package.objects.filter(pk=package.pk).update(manifest={"readme": "x" * 9_000})
    assert last(package).after["manifest"].keys() == {"bytes", "sha256"}


def test_flags_and_groups_of_people_are_told(alice: User) -> None:
    alice.is_staff = True
    alice.save()
    factories.make_team("team", alice)
    told = AuditEvent.objects.filter(subject_model="auth.user", subject_id=str(alice.pk))
    assert ("auth.user", "update", "alice") in told.values_list(
        "model", "operation", "object_label"
    )
    assert ("auth.user_groups", "insert", "alice in team") in told.values_list(
        "model", "operation", "object_label"
    )


def test_sql_by_hand_is_told_as_from_the_database() -> None:
    package = factories.make_package()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE registry_package SET review_status = 'rejected' WHERE id = %s", [package.pk]
        )
        cursor.execute("SELECT session_user")
        account = cursor.fetchone()[0]
    event = last(package)
    assert (event.source, event.actor_id, event.actor_name) == ("database", None, account)
    assert event.after == {"review_status": "rejected"}


@pytest.mark.parametrize("given", [None, [], {}])
def test_what_is_told_is_told_whatever_it_holds_and_however_it_is_written(given: Any) -> None:
    package = factories.make_package(name="acme")
    words = "100 % sure; it's \\'\"quoted\" %s %(name)s ☂"
    by_hand = "UPDATE registry_package SET version = '5%' WHERE name LIKE 'ac%'"
    by_hand = by_hand if given is None else by_hand.replace("%", "%%")
    with changing(source="command", reason=words), connection.cursor() as cursor:
        cursor.execute(by_hand, given)
        assert cursor.rowcount == 1
        cursor.execute("UPDATE registry_package SET tier = 'rich' RETURNING name", given)
        assert cursor.fetchall() == [("acme",)]
    assert [(e.after, e.reason) for e in events(package)[1:]] == [
        ({"version": "5%"}, words),
        ({"tier": "rich"}, words),
    ]


def test_an_event_can_be_neither_changed_nor_deleted() -> None:
    package = factories.make_package()
    for attempt in (
        "UPDATE registry_auditevent SET actor_name = 'nobody' WHERE object_id = %s",
        "DELETE FROM registry_auditevent WHERE object_id = %s",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(attempt, [str(package.pk)])
    assert last(package).operation == "insert"


def test_the_actor_of_a_page_is_who_is_signed_in(alice: User, client_for: Any) -> None:
    response = client_for(alice).post(
        "/agents/new/?secret=1",
        {
            "name": "Mine",
            "slug": "mine",
            "discovery_mode": "auto",
            "max_found_tools": 5,
            "visibility": "private",
        },
    )
    agent = Agent.objects.get(owner=alice)
    event = last(agent)
    assert (event.source, event.actor_id, event.actor_name) == ("browser", alice.pk, "alice")
    assert (event.method, event.request_id) == ("POST", response["X-Request-ID"])
    assert event.path.startswith("/agents/") and "secret" not in event.path


def test_the_actor_of_a_token_is_its_person(alice: User) -> None:
    _, text = token_create(alice, name="script")
    headers = {"authorization": f"Bearer {text}"}
    answer = Client().post(
        "/api/v1/agents/", {"name": "By script"}, content_type="application/json", headers=headers
    )
    assert answer.status_code == 201, answer.content
    event = last(Agent.objects.get(owner=alice))
    assert (event.source, event.actor_name, event.path) == ("rest", "alice", "/api/v1/agents/")


def test_a_reason_stands_with_what_was_done_inside_and_no_longer() -> None:
    package = factories.make_package()
    with changing(source="command", reason="outer"):
        with changing(reason="inner"):
            Package.objects.filter(pk=package.pk).update(version="2")
        Package.objects.filter(pk=package.pk).update(version="3")
    Package.objects.filter(pk=package.pk).update(version="4")
    told = [(e.after["version"], e.source, e.reason) for e in events(package)[1:]]
    assert told == [("2", "command", "inner"), ("3", "command", "outer"), ("4", "database", "")]


def test_a_job_names_the_person_who_asked_for_it(alice: User) -> None:
    package = factories.make_package()
    with changing(source="browser", actor=lambda: (alice.pk, "alice"), path="/packages/"):
        headers = headers_of(current_change())

    @app.task(name="tests.renames")
    def task() -> None:
        Package.objects.filter(pk=package.pk).update(version="9")

    task.push_request(**headers)
    try:
        task()
    finally:
        task.pop_request()
    event = last(package)
    assert (event.source, event.actor_id, event.path) == ("worker", alice.pk, "tests.renames")


def test_who_is_gone_stays_named(alice: User) -> None:
    with changing(source="browser", actor=lambda: (alice.pk, "alice")):
        package = factories.make_package()
    alice.delete()
    event = AuditEvent.objects.select_related("actor").get(object_id=str(package.pk))
    assert (event.actor_name, event.actor) == ("alice", None)


def test_no_trigger_is_missing_from_the_database() -> None:
    names = {
        trigger.get_pgid(model)
        for model in apps.get_models(include_auto_created=True)
        for trigger in getattr(model._meta, "triggers", ())
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O'")
        assert names <= {row[0] for row in cursor.fetchall()}


def test_the_reason_of_a_service_is_the_reason_of_its_event(governor: User) -> None:
    package = factories.make_package()
    package_allow_hosts(package, ["api.example.com"], by=governor, reason="it asks the weather")
    event = last(package)
    assert (event.reason, event.after) == (
        *("it asks the weather", {"allowed_hosts": ["api.example.com"]}),
    )
    tool = factories.make_tool()
    tool.description = "Better words."
    tool_publish(tool, author=governor, reason="clearer")
    assert last(tool).reason == "clearer"
