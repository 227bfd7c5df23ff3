"""What is run is what was approved: copies of modules, and built packages under their digest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from registry.context import CallContext
from registry.errors import ArtifactMissing
from registry.execution import invoke
from registry.importing import checks
from registry.importing.health_check import package_check
from registry.importing.jobs import import_request, import_run
from registry.loading import load_spec
from registry.models import Tool
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from registry.models.proposal import Cause
from registry.review.deciding import proposal_approve
from registry.review.selectors import open_proposal_of
from registry.services import package_review
from tests.factories import make_package, make_tool

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from tests.registry.sandbox.service import RunningService

pytestmark = pytest.mark.django_db

CODE = '''
def greet(name: str) -> str:
    """{said}"""
    return "{word} " + name
'''


@pytest.mark.sandbox
def test_a_changed_module_waits_while_its_approved_copy_runs(
    sandbox_service: RunningService, python_tools: Path, governor: User
) -> None:
    module = python_tools / "greeting.py"
    module.write_text(CODE.format(said="Greet somebody.", word="Hello"))
    job = import_request(ecosystem="local", name="greeting", user=governor, queued=False)
    import_run(job.pk)
    job.refresh_from_db()
    assert job.error is None, job.error
    package = job.package
    assert package is not None
    package_review(package, status=ReviewStatus.APPROVED)
    assert package_check(package).healthy == ("greet",)
    assert open_proposal_of(package) is None

    module.write_text(CODE.format(said="Greet anybody.", word="Goodbye"))
    for _ in range(2):
        assert package_check(package).healthy == ("greet",)
    tool = Tool.objects.get(package=package)
    context = CallContext(user=governor, caller=Caller.BROWSER)
    assert invoke(load_spec(tool), {"name": "Ann"}, context).output == "Hello Ann"
    proposal = open_proposal_of(package)
    assert proposal is not None
    assert proposal.cause == Cause.CHECK
    accept = [finding["code"] for finding in proposal.findings]
    proposal_approve(proposal, by=governor, reason="Ours.", accept=accept)
    tool.refresh_from_db()
    assert tool.description == "Greet anybody."
    assert invoke(load_spec(tool), {"name": "Ann"}, context).output == "Goodbye Ann"


def test_a_package_that_installs_as_something_else_than_was_approved_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = make_package(artifact="a" * 64)
    make_tool(package=package)

    def gone(*, artifact: str) -> None:
        raise ArtifactMissing(f"{artifact} is gone.")

    other = SimpleNamespace(artifact="b" * 64)
    service = SimpleNamespace(describe=gone, build=lambda **_: other)
    monkeypatch.setattr(checks, "sandbox", lambda: service)

    told = package_check(package).broken
    assert all("no longer what was imported" in message for message in told.values())
    assert told
