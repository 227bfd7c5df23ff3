"""Imports in the background: who may ask, who runs them, how they end."""

from datetime import timedelta

import pytest
from celery import current_app
from django.core.management import CommandError, call_command
from django.utils import timezone
from kombu.exceptions import OperationalError

from config.lib.errors import InvalidInput
from registry.importing import errors
from registry.importing.jobs import LONGEST_IMPORT, import_request, import_run
from registry.importing.selectors import failed_imports, open_imports
from registry.management.commands.import_package import split_version
from registry.models import ImportJob
from registry.models.job import JobStatus
from registry.models.package import ReviewStatus
from registry.tasks import run_import
from tests.factories import make_package, make_tool

pytestmark = pytest.mark.django_db

NAME = "@acme/scraper"


@pytest.fixture(autouse=True)
def no_sandbox(monkeypatch, tmp_path):
    """Every import ends at once: the sandbox is not there."""
    monkeypatch.setenv("SANDBOX_SOCKET", str(tmp_path / "none.sock"))


def ask(user, name=NAME, **fields):
    return import_request(ecosystem="npm", name=name, user=user, queued=False, **fields)


@pytest.mark.parametrize(
    "name",
    ["", "../etc/passwd", "UPPER", "a b", "@scope", "@/name", "a/b/c", ".hidden", "x" * 215, "a;b"],
)
def test_what_is_no_package_name_is_refused(alice, name):
    with pytest.raises(errors.InvalidPackageName) as refused:
        ask(alice, name)
    assert refused.value.hint


@pytest.mark.parametrize("version", ["1.0.0; rm", "$(x)", "../1", "v" * 65, "file:x"])
def test_what_is_no_version_is_refused(alice, version):
    with pytest.raises(errors.InvalidPackageVersion):
        ask(alice, version=version)


@pytest.mark.parametrize("version", ["", "1.2.3", "^1.2", ">=1 <2", "latest", "1.x || 2.x", "*"])
def test_versions_ranges_and_tags_are_taken(alice, version):
    assert ask(alice, version=version).version == version


def test_only_npm_packages_can_be_imported(alice):
    with pytest.raises(InvalidInput, match="builtin"):
        import_request(ecosystem="builtin", name="outfitter", user=alice)


def test_an_open_import_is_returned_instead_of_a_second(alice, bob):
    first = ask(alice)

    assert ask(alice) == first
    assert ask(alice, version="1.0.0") != first
    assert ask(bob) != first


def test_only_who_added_a_package_may_ask_for_it_again(alice, charlie, governor):
    make_package(name=NAME, added_by=alice)

    with pytest.raises(errors.PackageNotYours):
        ask(charlie)
    ask(alice)
    ask(governor)


def test_a_failed_import_says_why_and_what_to_do(alice):
    job = import_run(ask(alice).pk)

    assert job.status == JobStatus.FAILED
    assert job.finished_at
    assert job.error["code"] == "sandbox_unavailable"
    assert "doctor" in job.error["hint"]
    assert job.stage.startswith(f"Installing {NAME}")


def test_a_redelivered_message_does_nothing(alice):
    job = ask(alice)
    run_import(str(job.pk))
    ended = ImportJob.objects.get(pk=job.pk).finished_at

    run_import(str(job.pk))
    assert import_run(job.pk) is None
    assert ImportJob.objects.get(pk=job.pk).finished_at == ended


def test_an_import_whose_worker_is_gone_is_ended_when_it_is_asked_for_again(alice):
    job = ask(alice)
    long_ago = timezone.now() - LONGEST_IMPORT - timedelta(seconds=1)
    ImportJob.objects.filter(pk=job.pk).update(status=JobStatus.RUNNING, started_at=long_ago)

    assert ask(alice) != job
    job.refresh_from_db()
    assert (job.status, job.error["code"]) == (JobStatus.FAILED, "import_interrupted")


def test_a_queue_that_is_not_there_fails_the_job(
    alice, monkeypatch, django_capture_on_commit_callbacks
):
    def refuse(*_args, **_options):
        raise OperationalError("connection refused")

    monkeypatch.setattr(current_app, "send_task", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        job = import_request(ecosystem="npm", name=NAME, user=alice)
    job.refresh_from_db()
    assert job.error["code"] == "queue_unavailable"


def test_a_failed_import_is_news_until_it_is_tried_again(alice, charlie):
    failed = import_run(ask(alice).pk)

    assert list(failed_imports(alice)) == [failed]
    assert not failed_imports(charlie).exists()
    again = ask(alice)
    assert not failed_imports(alice).exists()
    assert list(open_imports(alice)) == [again]


def test_the_command_tells_the_error_and_fails(db):
    with pytest.raises(CommandError, match=r"sandbox.*\(sandbox_unavailable\)"):
        call_command("import_package", "npm", f"{NAME}@1.0.0")
    with pytest.raises(CommandError, match="is not the name"):
        call_command("import_package", "npm", "../x")


def test_the_health_command_fails_when_it_cannot_check(db):
    make_tool(package=make_package(artifact="a" * 64))

    with pytest.raises(CommandError, match="does not answer"):
        call_command("check_tool_health")


def test_the_health_command_has_nothing_to_do_without_packages(db, capsys):
    make_tool(package=make_package(artifact="a", review_status=ReviewStatus.QUARANTINED))

    call_command("check_tool_health")
    assert "0 packages" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("left-pad", ("left-pad", "")),
        ("left-pad@1.0.0", ("left-pad", "1.0.0")),
        ("@a/b", ("@a/b", "")),
        ("@a/b@^1", ("@a/b", "^1")),
        ("", ("", "")),
    ],
)
def test_name_and_version_are_told_apart(text, parts):
    assert split_version(text) == parts


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
@pytest.mark.parametrize(
    ("ecosystem", "settings"),
    [
        ("pypi", lambda text: {"tool_config": {"greeting": text}}),
        ("pypi", lambda text: {"tool_config": {text: 1}}),
        ("mcp", lambda text: {"transport": "http", "url": "https://a.example", "protocol": text}),
    ],
)
def test_settings_that_cannot_be_stored_are_cleaned(alice, ecosystem, settings, text):
    job = import_request(
        ecosystem=ecosystem, name="odd", settings=settings(text), user=alice, queued=False
    )
    job.refresh_from_db()
    assert text not in str(job.settings)
