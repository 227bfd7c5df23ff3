"""MCP servers of packages, in the real sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from registry.context import CallContext
from registry.execution import invoke
from registry.importing.jobs import import_request, import_run
from registry.loading import load_spec
from registry.models import Package, Tool
from registry.models.invocation import Caller
from registry.results import Failed, Succeeded

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from registry.results import ToolResult
    from tests.registry.sandbox.service import RunningService

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox_service")]

EVERYTHING = "@modelcontextprotocol/server-everything"


@pytest.fixture
def everything(alice: User) -> Package:
    """The reference server, imported by Alice; the service installs it once."""
    settings = {
        "transport": "stdio",
        "ecosystem": "npm",
        "package": EVERYTHING,
        "args": ["stdio"],
    }
    job = import_request(
        ecosystem="mcp", name=EVERYTHING, settings=settings, user=alice, queued=False
    )
    import_run(job.pk)
    job.refresh_from_db()
    assert job.error is None, job.error
    assert job.package is not None
    return job.package


def called(user: User, package: Package, name: str, **arguments: object) -> ToolResult:
    tool = Tool.objects.get(package=package, export_name=name)
    context = CallContext(user=user, caller=Caller.BROWSER)
    return invoke(load_spec(tool), arguments, context)


def test_it_answers(alice: User, everything: Package) -> None:
    for name, arguments in [
        ("echo", {"message": "hi"}), ("get-sum", {"a": 1, "b": 2}), ("get-tiny-image", {}),
        ("get-structured-content", {"location": "New York"}), ("get-resource-links", {"count": 2}),
        ("trigger-long-running-operation", {"duration": 0.3, "steps": 3}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
        ("gzip-file-as-resource", {}),
        ]:
        r = called(alice, everything, name, **arguments)
        print(name, str(r)[:700])
    assert 0
