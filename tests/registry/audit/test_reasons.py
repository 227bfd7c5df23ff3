"""Whatever is governed by a service is told with who decided it, by which door, and why."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

import registry
from agents import experiments
from config.lib.changes import changing
from registry.audit.retention import policy_set
from registry.deprecation import tool_deprecate, tool_undeprecate
from registry.governing import governed_of, tool_govern
from registry.importing.jobs import IMPORTERS, import_request, import_run
from registry.importing.npm import Imported
from registry.importing.rows import package_bring
from registry.importing.variables import package_declare_env
from registry.models import AuditEvent, Package, Proposal, RetentionPolicy, SearchWeights, Tool
from registry.models.job import JobCause
from registry.models.package import Ecosystem, ReviewStatus
from registry.models.proposal import Cause
from registry.restoring import version_restore
from registry.review.deciding import (
    proposal_approve,
    proposal_pass,
    proposal_quarantine,
    proposal_reject,
)
from registry.review.drafts import tool_write
from registry.review.found import FoundPackage
from registry.review.staging import package_propose
from registry.review.standing import package_decide, tool_decide
from registry.roles import Role, registrar_distrust, registrar_trust, role_give
from registry.search.weights import Weights
from registry.services import package_allow_hosts, package_review, tool_publish, tool_review
from registry.stopping import package_resume, package_stop, tool_resume, tool_stop
from registry.weighing import weights_restore, weights_save
from tests import factories
from tests.registry.review import making

pytestmark = pytest.mark.django_db
REASON = "because the test says so"

Walk = Callable[[User], Any]
"""Carries out one service for a person and returns the row that it changed."""


def _tool(**fields: Any) -> Tool:
    return factories.make_tool(**fields)


def _candidate(by: User) -> Proposal:
    making.bring(factories.make_user())
    return making.waiting()


def _experiment(by: User) -> Any:
    other = factories.make_tool()
    agent = factories.make_agent(by)
    return experiments.experiment_create(
        agent,
        by=by,
        name="Two",
        a=experiments.present_toolset(agent),
        b=experiments.ToolsetPlan(tools={other.pk: None}, discovery_mode="linked"),
    )


def _proposed(by: User) -> Any:
    package = making.approved(by, factories.make_user(is_superuser=True))
    found = FoundPackage(values={"artifact": "other"}, tools=[making.tool(description="New.")])
    return package_propose(package, found, by=by, cause=Cause.IMPORT, reason=REASON)


def _brought(by: User) -> Any:
    package = factories.make_package(review_status=ReviewStatus.CANDIDATE, added_by=by)
    found = FoundPackage(values={"version": "2.0.0"}, tools=[making.tool()])
    package_bring(package, found, made=False, user=by, reason=REASON)
    return package


def _resumed(stop: Any, resume: Any, item: Any) -> Walk:
    def walk(by: User) -> Any:
        row = item()
        stop(row, by=None, reason="for a while")
        return resume(row, by=by, reason=REASON)

    return walk


def _distrusted(by: User) -> User:
    person = factories.make_user()
    registrar_trust(person, by=by, reason="for a while")
    registrar_distrust(person, by=by, reason=REASON)
    return person


def _decided(change: Any) -> Walk:
    return lambda by: change(_candidate(by), by=by, reason=REASON)


def _changed(row: Any, change: Callable[[Any], Any]) -> Any:
    change(row)
    return row


def _restored(by: User) -> Tool:
    sequence = factories.make_sequence(by)
    sequence.description = "Other words."
    tool_publish(sequence, author=by)
    return version_restore(sequence, 1, user=by, reason=REASON)


def _written(by: User) -> Tool:
    sequence = factories.make_sequence(by)
    return tool_write(
        sequence,
        author=by,
        name=sequence.title,
        description="Other words.",
        definition=sequence.definition or {},
        input_schema=sequence.input_schema,
        visibility=sequence.visibility,
        team=None,
        reason=REASON,
    )


def _governed(by: User) -> Tool:
    tool = _tool()
    return tool_govern(tool, governed_of(tool)._replace(calls_per_minute=3), by=by, reason=REASON)


def _weighed(by: User) -> SearchWeights:
    weights_save(by, {**Weights().as_dict(), "name": 2.0}, REASON, based_on=0)
    return SearchWeights.objects.get(version=1)


def _weighed_back(by: User) -> SearchWeights:
    weights_restore(by, 0, REASON, based_on=_weighed(by).version)
    return SearchWeights.objects.get(version=2)


WALKED: dict[Any, Walk] = {
    package_review: lambda by: _changed(
        factories.make_package(),
        lambda row: package_review(row, status=ReviewStatus.REJECTED, by=by, reason=REASON),
    ),
    tool_review: lambda by: _changed(
        _tool(), lambda row: tool_review(row, status=ReviewStatus.REJECTED, by=by, reason=REASON)
    ),
    package_decide: lambda by: _changed(
        factories.make_package(),
        lambda row: package_decide(row, ReviewStatus.QUARANTINED, by=by, reason=REASON),
    ),
    tool_decide: lambda by: _changed(
        _tool(), lambda row: tool_decide(row, ReviewStatus.QUARANTINED, by=by, reason=REASON)
    ),
    proposal_approve: _decided(proposal_approve),
    proposal_reject: _decided(proposal_reject),
    proposal_quarantine: _decided(proposal_quarantine),
    proposal_pass: _decided(proposal_pass),
    package_propose: _proposed,
    package_bring: _brought,
    package_allow_hosts: lambda by: _changed(
        factories.make_package(),
        lambda row: package_allow_hosts(row, ["api.example.com"], by=by, reason=REASON),
    ),
    tool_publish: lambda by: _changed(
        _tool(version=0, description="New."),
        lambda row: tool_publish(
            _changed(row, lambda tool: setattr(tool, "description", "Newer.")),
            author=by,
            reason=REASON,
        ),
    ),
    tool_write: _written,
    tool_stop: lambda by: tool_stop(_tool(), by=by, reason=REASON),
    package_stop: lambda by: package_stop(factories.make_package(), by=by, reason=REASON),
    tool_resume: _resumed(tool_stop, tool_resume, _tool),
    package_resume: _resumed(package_stop, package_resume, factories.make_package),
    tool_govern: _governed,
    version_restore: _restored,
    weights_save: _weighed,
    weights_restore: _weighed_back,
    policy_set: lambda by: policy_set(
        RetentionPolicy.objects.get(pk="invocations"), keep_days=90, reason=REASON, by=by
    ),
    role_give: lambda by: _changed(
        factories.make_user(), lambda person: role_give(person, Role.AUDITOR, by=by, reason=REASON)
    ),
    registrar_trust: lambda by: _changed(
        factories.make_user(), lambda person: registrar_trust(person, by=by, reason=REASON)
    ),
    registrar_distrust: _distrusted,
}
"""Every service that takes a reason, and how it is carried out."""

INNER = {
    "proposal_close",
    "version_stage",
    "tool_propose",
    "tool_put",
    "checked_reason",
}
"""Parts of the services above, or checks; nothing else calls them."""

INTERFACES = ("admin", "views", "api", "management", "migrations", "sandbox", "builtins")


def services_with_a_reason() -> Iterator[Any]:
    """Yield the public functions of the registry that take a reason and a person."""
    for module in pkgutil.walk_packages(registry.__path__, "registry."):
        if module.name.split(".")[1] in INTERFACES:
            continue
        for name, function in inspect.getmembers(import_module(module.name), inspect.isfunction):
            names = set(inspect.signature(function).parameters)
            own = function.__module__ == module.name and not name.startswith("_")
            if own and "reason" in names and names & {"by", "author", "user"}:
                yield function


def test_every_service_that_takes_a_reason_is_walked_here() -> None:
    named = {inspect.unwrap(walked) for walked in WALKED}
    found = {inspect.unwrap(service) for service in services_with_a_reason()}
    assert {service.__name__ for service in found - named} == INNER & {
        service.__name__ for service in found
    }


def _told_last(row: Any) -> AuditEvent:
    about = AuditEvent.objects.filter(object_id=str(row.pk)) | AuditEvent.objects.filter(
        subject_id=str(row.pk)
    )
    return about.latest("id")


@pytest.mark.parametrize("service", WALKED, ids=lambda service: service.__name__)
def test_what_a_service_does_is_told_with_person_door_and_reason(
    service: Any, governor: User
) -> None:
    with changing(source="admin"):
        row = WALKED[service](governor)
    event = _told_last(row)
    assert event.source == "admin"
    if service is tool_publish:  # whose author is no actor: whoever asked for the request is
        assert event.reason == REASON
        return
    assert (event.actor_id, event.actor_name) == (governor.pk, "governor")
    assert REASON in event.reason


def test_a_decision_is_told_the_same_of_the_proposal_the_package_and_its_tools(
    governor: User, alice: User
) -> None:
    making.bring(alice)
    package, tool = making.package(), making.row()
    proposal = making.waiting()
    start = AuditEvent.objects.latest("id").pk
    proposal_approve(proposal, by=governor, reason=REASON)
    told = AuditEvent.objects.filter(pk__gt=start)
    assert set(told.values_list("object_id", "reason", "actor_name")) == {
        (str(item.pk), REASON, "governor") for item in (package, tool, proposal)
    }


def test_a_deprecation_and_its_end_are_told_with_what_people_read(alice: User) -> None:
    tool = factories.make_sequence(alice)
    day = timezone.localdate() + timedelta(days=3)
    tool_deprecate(tool, by=alice, on=day, note="use the other one")
    assert "use the other one" in _told_last(tool).reason
    assert _told_last(tool).actor_name == "alice"
    tool_undeprecate(tool, by=alice)
    assert (_told_last(tool).reason, _told_last(tool).actor_name) == (
        *("Deprecated no more.", "alice"),
    )


def test_an_experiment_is_told_when_it_is_drawn_up_started_and_ended(alice: User) -> None:
    experiment = _experiment(alice)
    experiments.experiment_start(experiment, by=alice)
    experiments.experiment_end(experiment, by=alice)
    told = AuditEvent.objects.filter(object_id=str(experiment.pk)).order_by("id")
    assert list(told.values_list("reason", "actor_name")) == [
        ("Experiment drawn up", "alice"),
        ("Experiment started", "alice"),
        ("Experiment ended", "alice"),
    ]


def test_variables_that_a_package_may_read_are_told_with_their_names(alice: User) -> None:
    package = factories.make_package(review_status=ReviewStatus.CANDIDATE, added_by=alice)
    package_declare_env(package, [{"name": "EXA_API_KEY"}], user=alice)
    told = AuditEvent.objects.filter(object_id=str(package.pk)).latest("id")
    assert (told.reason, told.actor_name) == ("May read EXA_API_KEY", "alice")


def importing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have npm imports find a package without a sandbox."""

    def found(job: Any, stage: Any) -> Imported:
        making.bring(
            job.requested_by, making.tool(), name=job.name, cause=Cause(job.cause), version="2.0.0"
        )
        return Imported(package=Package.objects.get(name=job.name), report=[])

    monkeypatch.setattr("registry.importing.npm.npm_import_job", found)
    assert IMPORTERS[Ecosystem.NPM] == "registry.importing.npm.npm_import_job"


def run_by_a_worker(job_id: UUID) -> None:
    with changing(source="worker", path="registry.run_import"):
        import_run(job_id)


def test_what_a_worker_imports_is_told_as_of_who_asked_for_it(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing(monkeypatch)
    job = import_request(ecosystem=Ecosystem.NPM, name="@acme/x", user=alice, queued=False)
    run_by_a_worker(job.pk)
    told = AuditEvent.objects.filter(source="worker").exclude(reason="")
    assert {"registry.package", "registry.tool", "registry.proposal"} <= set(
        told.values_list("model", flat=True)
    )
    assert set(told.values_list("actor_name", flat=True)) == {"alice"}
    assert not AuditEvent.objects.filter(source="worker", reason="").exists()


def test_what_a_sync_proposes_is_told_as_a_sync_of_nobody(
    alice: User, governor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing(monkeypatch)
    making.approved(alice, governor)
    job = import_request(
        ecosystem=Ecosystem.NPM, name=making.NAME, user=None, queued=False, cause=JobCause.SYNC
    )
    run_by_a_worker(job.pk)
    event = AuditEvent.objects.get(source="worker", model="registry.proposal")
    assert (event.actor_id, event.reason) == (None, "Proposed @acme/shout@2.0.0")
    assert making.package().version == "1.0.0"
