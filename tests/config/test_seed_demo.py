"""What a first look finds."""

from io import StringIO

import pytest
from django.core.management import call_command

from agents.models import Agent, AgentTool
from registry.importing.jobs import import_request
from registry.models import ImportJob, Tool
from registry.models.job import JobStatus
from tests.factories import make_package

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_sandbox(monkeypatch, tmp_path):
    """The sandbox is not there."""
    monkeypatch.setenv("SANDBOX_SOCKET", str(tmp_path / "none.sock"))


def seed():
    output = StringIO()
    call_command("seed_demo", stdout=output)
    return output.getvalue()


def test_without_a_sandbox_everything_else_is_made_and_the_failure_is_told(governor):
    text = seed()

    assert "could not be imported" in text
    assert "Everything else works" in text
    assert Tool.objects.filter(kind="builtin").exists()
    job = ImportJob.objects.get()
    assert (job.status, job.requested_by) == (JobStatus.FAILED, governor)
    agent = Agent.objects.get(slug="demo")
    assert (agent.owner, agent.discovery_mode, agent.model) == (governor, "auto_filter", "")
    linked = AgentTool.objects.filter(agent=agent).values_list("tool__wire_name", flat=True)
    assert {"current_time", "calculator"} <= set(linked)


def test_a_second_time_changes_nothing_that_is_there(governor):
    make_package(name="@tpmjs/tools-html-to-markdown")
    seed()
    AgentTool.objects.all().delete()
    text = seed()

    assert "0 changed" in text
    assert "Demo agent is there already" in text
    assert "is there already" in text
    assert Agent.objects.count() == 1
    assert not AgentTool.objects.exists(), "what its owner unlinked stays unlinked"
    assert not ImportJob.objects.exists()


def test_without_a_superuser_the_tools_are_there_all_the_same(db):
    assert "There is no superuser yet" in seed()
    assert Tool.objects.filter(kind="builtin").exists()
    assert not Agent.objects.exists()


def test_an_import_that_runs_already_is_left_alone(governor):
    job = import_request(
        ecosystem="npm",
        name="@tpmjs/tools-html-to-markdown",
        version="0.1.0",
        user=governor,
        queued=False,
    )
    ImportJob.objects.filter(pk=job.pk).update(
        status=JobStatus.RUNNING, started_at="2999-01-01T00:00Z"
    )

    assert "by another process" in seed()
