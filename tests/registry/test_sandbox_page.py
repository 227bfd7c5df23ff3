"""The state of the sandbox: its page for staff, and the metrics."""

import pytest
from django.test import Client

from registry import tasks
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models.invocation import Caller
from registry.models.package import ReviewStatus
from registry.sandbox.client import LocalSandbox
from registry.sandbox.contract import Collected
from registry.selectors import artifacts_in_use
from registry.services import package_review
from tests.factories import make_builtin, make_package, make_tool, make_user

pytestmark = pytest.mark.django_db

PAGE, METRICS = "/sandbox/", "/metrics"


@pytest.fixture
def no_sandbox(monkeypatch, tmp_path):
    """The service is not there."""
    monkeypatch.setenv("SANDBOX_SOCKET", str(tmp_path / "none.sock"))


@pytest.fixture
def staff(client_for):
    return client_for(make_user(is_staff=True))


def test_a_stranger_is_asked_to_sign_in():
    assert Client().get(PAGE)["Location"].startswith("/login/")


def test_who_is_neither_staff_nor_reviewer_is_refused(alice, client_for):
    response = client_for(alice).get(PAGE)

    assert response.status_code == 403
    assert "Only staff and reviewers see the state of the sandbox." in response.content.decode()
    assert "/sandbox/" not in client_for(alice).get("/").content.decode()


def test_a_service_that_is_not_there_is_said_with_what_to_do(no_sandbox, staff):
    response = staff.get(PAGE)

    assert response.status_code == 200
    text = response.content.decode()
    assert "The sandbox service does not answer" in text
    assert "make run" in text
    assert 'hx-trigger="every 5s"' in text, "it shows by itself when the service is back"


@pytest.mark.sandbox
def test_staff_see_checks_memory_and_spares(sandbox_service, staff):
    text = staff.get(PAGE).content.decode()

    assert "capabilities" in text
    assert "at most" in text
    assert "Look again" in text, "it works without scripts"
    assert 'href="/sandbox/"' in text, "the navigation leads there"
    assert staff.get(PAGE, headers={"HX-Request": "true"}).content.decode().count("<html") == 0


@pytest.mark.sandbox
def test_a_reviewer_sees_the_page(sandbox_service, governor, client_for):
    assert client_for(governor).get(PAGE).status_code == 200


def test_a_closed_sandbox_says_how_to_mend_it(monkeypatch, staff):
    closed = {
        "tier": "disabled", "ok": False, "uid": 64001, "store": "/s", "deno": "", "running": 0,
        "waiting": 0, "builds": [], "uptime_seconds": 1, "lines": [],
        "checks": [{"name": "bwrap", "ok": False, "detail": "`bwrap` is not installed.",
                    "fix": "sudo apt-get install -y bubblewrap"}],
        "cgroup": {"controllers": [], "detail": "None could be had."},
        "memory": {"used": 0, "budget": 1 << 30, "waiting": 0},
        "spares": {"ready": 0, "most": 16, "hits": 0, "misses": 0, "evicted": 0, "lost": 0},
    }  # fmt: skip
    monkeypatch.setattr(LocalSandbox, "status", lambda self: closed)

    text = staff.get(PAGE).content.decode()

    assert "No package can run." in text
    assert "sudo apt-get install -y bubblewrap" in text
    assert "Nothing is kept ready" in text


def test_the_metrics_count_calls_by_kind_and_outcome(no_sandbox, alice):
    spec = load_spec(make_builtin("change_case"))
    context = CallContext(user=alice, caller=Caller.REST)
    invoke(spec, {"text": "a", "case": "upper"}, context)
    invoke(spec, {"text": 1}, context)

    text = Client().get(METRICS).content.decode()

    assert 'outfitter_calls_total{kind="builtin",outcome="succeeded"}' in text
    assert 'outfitter_calls_total{kind="builtin",outcome="invalid_arguments"}' in text
    assert 'outfitter_call_seconds_bucket{kind="builtin",le="0.001"}' in text
    assert 'outfitter_recent_calls{kind="builtin",outcome="failed"} 1.0' in text
    assert "outfitter_sandbox_up 0.0" in text


@pytest.mark.sandbox
def test_the_metrics_tell_spares_and_memory(sandbox_service):
    text = Client().get(METRICS).content.decode()

    assert "outfitter_sandbox_up 1.0" in text
    assert "outfitter_sandbox_spares_hits_total" in text
    assert "outfitter_sandbox_memory_budget_bytes" in text


@pytest.mark.parametrize(
    "sent",
    [
        {"REMOTE_ADDR": "203.0.113.9"},
        {"HTTP_X_FORWARDED_FOR": "203.0.113.9"},
        {"REMOTE_ADDR": ""},
    ],
)
def test_without_a_token_only_this_machine_reads_the_metrics(sent):
    response = Client().get(METRICS, **sent)

    assert response.status_code == 403
    assert response.json()["error"]["hint"].startswith("Send METRICS_TOKEN")


def test_with_a_token_it_alone_counts(monkeypatch, no_sandbox):
    monkeypatch.setenv("METRICS_TOKEN", "let-me-in")
    far = {"REMOTE_ADDR": "203.0.113.9"}

    assert Client().get(METRICS).status_code == 403
    assert Client().get(METRICS, HTTP_AUTHORIZATION="Bearer wrong").status_code == 403
    assert Client().get(METRICS, HTTP_AUTHORIZATION="Bearer let-me-in", **far).status_code == 200


def test_artifacts_of_packages_and_of_every_version_are_in_use():
    package = make_package(artifact="a" * 64)
    make_tool(package=package, kind="npm", export_name="x")
    package.artifact = "b" * 64
    package.save()

    assert artifacts_in_use() >= {"a" * 64, "b" * 64}


def test_the_task_keeps_what_is_in_use(monkeypatch):
    make_package(artifact="c" * 64)
    kept = []
    monkeypatch.setattr(
        LocalSandbox, "collect", lambda self, keep: kept.extend(keep) or Collected((), 0)
    )

    tasks.collect_artifacts()

    assert "c" * 64 in kept


def test_the_task_only_warns_where_the_service_is_not_there(no_sandbox, caplog):
    tasks.collect_artifacts()

    assert "Old artifacts were not removed" in caplog.text


def test_a_package_that_review_stops_is_forgotten_by_the_sandbox(
    monkeypatch, django_capture_on_commit_callbacks
):
    forgotten = []
    monkeypatch.setattr(LocalSandbox, "forget", lambda self, artifact: forgotten.append(artifact))
    package = make_package(artifact="d" * 64)

    with django_capture_on_commit_callbacks(execute=True):
        package_review(package, status=ReviewStatus.APPROVED)
        package_review(package, status=ReviewStatus.QUARANTINED)

    assert forgotten == ["d" * 64]
