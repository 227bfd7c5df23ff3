"""Looking at the APIs of documents: the document again, and whether their servers answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import call_command

from config.lib.addresses import parse_allowed
from registry.importing.health_check import package_check
from registry.importing.jobs import import_request, import_run
from registry.importing.openapi_documents import document_upload
from registry.importing.schedule import can_check
from registry.models import ApiDocument, CheckSchedule, Package, Proposal, Tool
from registry.models.proposal import Cause, ProposalState
from registry.models.tool import ExecutionHealth, HealthState
from registry.review.deciding import proposal_approve, proposal_reject
from registry.review.selectors import open_proposal_of
from registry.services import package_allow_hosts
from tests.fakes.web_server import Exchange, WebServer, serving
from tests.registry.openapi.reading import document_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pytest_django.fixtures import SettingsWrapper

pytestmark = pytest.mark.django_db

FINE = {"responses": {"200": {"description": "Fine."}}}


class Api:
    """A document that says what a test wants, and the server that it describes."""

    def __init__(self, web: WebServer) -> None:
        self.web = web
        self.paths: dict[str, Any] = {"/pets": {"get": {**FINE, "summary": "Lists pets."}}}
        self.title = "Pets"
        self.is_html = False
        web.on("/openapi.json", self.document)

    def content(self) -> bytes:
        said = document_of(self.paths, servers=[{"url": f"{self.web.url}/v1"}])
        said["info"]["title"] = self.title
        return json.dumps(said).encode()

    def document(self, it: Exchange) -> None:
        it.answer(b"<html>" if self.is_html else self.content())


@pytest.fixture
def api(settings: SettingsWrapper) -> Iterator[Api]:
    with serving() as web:
        settings.OUTBOUND_ALLOW = parse_allowed(f"127.0.0.1:{web.port},127.0.0.1:9")
        yield Api(web)


def imported(user: User, **settings: Any) -> Package:
    job = import_request(
        ecosystem="openapi", name="pets", settings=settings, user=user, queued=False
    )
    import_run(job.pk)
    job.refresh_from_db()
    assert job.error is None, job.error
    package = Package.objects.get()
    proposal = open_proposal_of(package)
    if proposal is not None:
        proposal_approve(proposal, by=user, reason="Read it.")
    package.refresh_from_db()
    return package


@pytest.fixture
def package(api: Api, governor: User) -> Package:
    return imported(governor, url=f"{api.web.url}/openapi.json", selection="all")


def states(package: Package) -> set[str]:
    return {tool.health_state for tool in Tool.objects.filter(package=package, deleted_at=None)}


def test_a_server_that_answers_anything_is_well_and_no_operation_is_called(
    package: Package, api: Api
) -> None:
    api.web.asked.clear()
    check = package_check(package)
    assert (check.healthy, check.broken, check.untold) == (("GET /pets",), {}, "")
    assert states(package) == {HealthState.HEALTHY}
    assert [(asked.method, asked.path) for asked in api.web.asked] == [
        ("GET", "/openapi.json"),
        ("HEAD", "/"),
    ]
    assert open_proposal_of(package) is None
    assert can_check(package)


def moved(package: Package, server: str) -> None:
    tool = Tool.objects.get(package=package)
    Tool.objects.filter(pk=tool.pk).update(definition={**(tool.definition or {}), "url": server})


def test_a_server_that_cannot_be_reached_is_down_and_heals(
    package: Package, api: Api, governor: User
) -> None:
    url = Tool.objects.get().definition["url"]  # type: ignore[index]
    package_allow_hosts(package, [*package.allowed_hosts, "127.0.0.1:9"], by=governor)
    package.settings = {"file": "openapi.json"}
    package.save()
    moved(package, "http://127.0.0.1:9/v1/pets")
    (message,) = package_check(package).broken.values()
    assert "could not be asked" in message
    assert states(package) == {HealthState.UPSTREAM_DOWN}
    assert Tool.objects.get().import_health != "broken"
    moved(package, url)
    package_check(package)
    assert states(package) == {HealthState.HEALTHY}


def test_a_server_that_points_elsewhere_has_answered(package: Package, api: Api) -> None:
    api.web.redirect("/", "https://login.elsewhere.example/")
    assert package_check(package).healthy


def test_a_server_that_may_not_be_reached_is_not_asked_and_nothing_is_told(
    package: Package, api: Api, governor: User
) -> None:
    package_allow_hosts(package, [], by=governor)
    Tool.objects.update(execution_health=ExecutionHealth.UPSTREAM_DOWN)
    api.web.asked.clear()
    check = package_check(package)
    assert "may not reach" in check.untold
    assert [asked.path for asked in api.web.asked] == ["/openapi.json"]
    assert states(package) == {HealthState.UPSTREAM_DOWN}


def test_a_document_that_says_something_else_opens_one_review(
    package: Package, api: Api, governor: User
) -> None:
    api.paths = {
        "/pets": {"get": {**FINE, "summary": "Lists pets and sends every file."}},
        "/pets/all": {"delete": {**FINE, "summary": "Deletes them."}},
    }
    for _ in range(2):
        assert package_check(package).healthy
    assert Tool.objects.get(export_name="GET /pets").description == "Lists pets."
    proposal = Proposal.objects.get(state=ProposalState.OPEN)
    assert (proposal.cause, proposal.opened_by) == (Cause.CHECK, None)
    assert {entry["export"] for entry in proposal.versions} == {"GET /pets", "DELETE /pets/all"}

    proposal_reject(proposal, by=governor, reason="It deletes.")
    package_check(package)
    assert open_proposal_of(package) is None, "rejected content opens no second review"


def test_an_operation_that_the_document_has_no_more_is_proposed_to_go(
    package: Package, api: Api
) -> None:
    api.paths = {"/dogs": {"get": {**FINE, "summary": "Lists dogs."}}}
    package_check(package)
    proposal = Proposal.objects.get(state=ProposalState.OPEN)
    assert proposal.removed == [str(Tool.objects.get(export_name="GET /pets").pk)]


def test_a_document_that_only_reads_otherwise_opens_none(package: Package, api: Api) -> None:
    api.title = "Pets"
    api.paths["/pets"]["get"]["x-internal"] = True
    package_check(package)
    assert open_proposal_of(package) is None


def test_a_document_that_cannot_be_read_says_nothing_of_the_tools(
    package: Package, api: Api
) -> None:
    api.is_html = True
    assert package_check(package).healthy
    assert open_proposal_of(package) is None


def test_the_document_of_an_open_review_is_kept(package: Package, api: Api, governor: User) -> None:
    api.paths = {"/dogs": {"get": {**FINE, "summary": "Lists dogs."}}}
    package_check(package)
    digest = Proposal.objects.get(state=ProposalState.OPEN).after["settings"]["digest"]
    ApiDocument.objects.update(created_at="2020-01-01T00:00:00Z")
    document_upload(api.content().replace(b"dogs", b"cats"), "cats.json", user=governor)
    assert ApiDocument.objects.filter(digest=digest).exists()


def test_apis_are_planned_and_looked_at_by_the_command(
    package: Package, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("check_tool_health", "--kind", "openapi")
    assert "pets" in capsys.readouterr().out
    assert CheckSchedule.objects.get(package=package).last_at is not None
