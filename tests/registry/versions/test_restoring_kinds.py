"""Going back to an earlier version of tools of uploads, PyPI packages and APIs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from config.lib.addresses import parse_allowed
from registry.calling import direct_context
from registry.execution import invoke
from registry.governing import governed_of, tool_govern
from registry.importing.jobs import import_request, import_run, upload_request
from registry.loading import load_spec
from registry.models import ImportJob, Package, Tool
from registry.models.invocation import Caller
from registry.restoring import version_restore
from registry.results import Succeeded
from registry.review.deciding import proposal_approve
from registry.review.selectors import open_proposal_of
from tests.fakes.web_server import WebServer, serving
from tests.registry.openapi.reading import document_of

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pytest_django.fixtures import SettingsWrapper

    from tests.registry.sandbox.service import RunningService

pytestmark = pytest.mark.django_db

CODE = 'def greet(name: str) -> str:\n    """Greets{more}."""\n    return "{word} " + name\n'
FIRST = CODE.format(more="", word="Hi").encode()
SECOND = CODE.format(more=" loudly", word="HI").encode()


def finished(job: ImportJob, by: User) -> Package:
    """Carry out an import and approve what it found."""
    import_run(job.pk)
    job.refresh_from_db()
    assert job.error is None, job.error
    package = job.package
    assert package is not None
    proposal = open_proposal_of(package)
    assert proposal is not None
    accept = [finding["code"] for finding in proposal.findings]
    proposal_approve(proposal, by=by, reason="Read it.", accept=accept)
    package.refresh_from_db()
    return package


def greeting(user: User) -> Any:
    spec = load_spec(Tool.objects.get(export_name="greet"))
    result = invoke(spec, {"name": "Ada"}, direct_context(user, caller=Caller.BROWSER))
    assert isinstance(result, Succeeded), result
    return result.output


@pytest.mark.sandbox
def test_an_uploaded_module_goes_back_to_what_was_uploaded_before(
    sandbox_service: RunningService, governor: User
) -> None:
    def upload(content: bytes) -> Package:
        job = upload_request(content, filename="hello.py", user=governor, queued=False)
        return finished(job, governor)

    old, new = upload(FIRST), upload(SECOND)
    assert (old.version != new.version, greeting(governor)) == (True, "HI Ada")

    version_restore(Tool.objects.get(), 1, user=governor, reason="Too loud")
    tool = Tool.objects.get()
    assert (tool.version, tool.description, greeting(governor)) == (3, "Greets.", "Hi Ada")
    package = Package.objects.get()
    assert (package.version, package.artifact) == (old.version, old.artifact)


@pytest.mark.sandbox
def test_what_a_governor_decided_stays_when_a_tool_goes_back(
    sandbox_service: RunningService, governor: User
) -> None:
    job = upload_request(FIRST, filename="hello.py", user=governor, queued=False)
    finished(job, governor)
    job = upload_request(SECOND, filename="hello.py", user=governor, queued=False)
    finished(job, governor)
    tool = Tool.objects.get()
    wanted = governed_of(tool)._replace(required_scopes=["mail:send"], timeout_seconds=7)
    tool_govern(tool, wanted, by=governor, reason="It sends mail.")
    version_restore(Tool.objects.get(), 1, user=governor)
    tool = Tool.objects.get()
    assert (tool.description, tool.required_scopes, tool.timeout_seconds) == (
        "Greets.",
        ["mail:send"],
        7,
    )


@pytest.mark.sandbox
def test_a_package_of_the_index_goes_back(sandbox_service: RunningService, governor: User) -> None:
    def bring(version: str) -> Package:
        job = import_request(
            ecosystem="pypi", name="humanize", version=version, user=governor, queued=False
        )
        return finished(job, governor)

    old, new = bring("4.9.0"), bring("4.12.0")
    assert (old.version, new.version) == ("4.9.0", "4.12.0")
    tool = Tool.objects.get(export_name="naturalsize")
    version_restore(tool, 1, user=governor)
    package = Package.objects.get()
    assert (package.version, package.artifact, package.integrity) == (
        "4.9.0",
        old.artifact,
        old.integrity,
    )


@pytest.fixture
def web(settings: SettingsWrapper) -> Iterator[WebServer]:
    with serving() as server:
        settings.OUTBOUND_ALLOW = parse_allowed(f"127.0.0.1:{server.port}")
        yield server


def test_an_operation_goes_back_alone_and_asks_as_it_did(web: WebServer, governor: User) -> None:
    def bring(path: str, summary: str) -> Package:
        fine = {"responses": {"200": {"description": "Fine."}}, "operationId": "list"}
        paths = {"/pets": {"get": {**fine, "summary": summary}}}
        said = document_of(paths, servers=[{"url": f"{web.url}{path}"}])
        web.on("/openapi.json", lambda it: it.answer(json.dumps(said)))
        settings = {"url": f"{web.url}/openapi.json", "selection": "all", "server": web.url + path}
        job = import_request(
            ecosystem="openapi", name="pets", settings=settings, user=governor, queued=False
        )
        return finished(job, governor)

    web.on("/v1/pets", lambda it: it.json('"first"'))
    bring("/v1", "Lists pets.")
    bring("/v2", "Lists all pets.")
    tool = Tool.objects.get()
    assert tool.definition is not None
    assert "/v2/" in tool.definition["url"]

    version_restore(tool, 1, user=governor)
    tool = Tool.objects.get()
    assert (tool.version, tool.description) == (3, "Lists pets.")
    context = direct_context(governor, caller=Caller.BROWSER)
    result = invoke(load_spec(tool), {}, context)
    assert isinstance(result, Succeeded), result
    assert web.asked[-1].path == "/v1/pets"
