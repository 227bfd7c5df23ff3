"""What stands in the way of a tool, who is told, and what they may do about it."""

import pytest
from celery import current_app
from django.utils import timezone

from registry.importing import checks
from registry.importing.health_check import package_check
from registry.models import CheckSchedule, Package, Tool
from registry.models.health import ExecutionHealth, Health, HealthState
from registry.models.package import ReviewStatus
from registry.review.deciding import proposal_approve
from registry.review.selectors import open_proposal_of
from registry.services import package_review
from registry.views.health_words import ICONS, MEANINGS, MENDED_BY
from tests.factories import make_package, make_tool

pytestmark = pytest.mark.django_db

API = "/api/v1"
STATES = {
    HealthState.IMPORT_BROKEN: {"import_health": Health.BROKEN},
    HealthState.EXECUTION_BROKEN: {"execution_health": ExecutionHealth.BROKEN},
    HealthState.NEEDS_SIGN_IN: {"execution_health": ExecutionHealth.NEEDS_SIGN_IN},
    HealthState.NEEDS_KEY: {"execution_health": ExecutionHealth.NEEDS_KEY},
    HealthState.UPSTREAM_DOWN: {"execution_health": ExecutionHealth.UPSTREAM_DOWN},
    HealthState.HEALTHY: {"import_health": Health.HEALTHY},
    HealthState.UNKNOWN: {},
}


@pytest.fixture(autouse=True)
def queue(monkeypatch):
    sent = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **_: sent.append(name))
    return sent


@pytest.fixture
def package(alice):
    return make_package(added_by=alice, artifact="a" * 64)


def text_of(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("state", HealthState)
def test_each_state_is_told_with_its_reason_and_who_can_mend_it(alice, client_for, state):
    error = {"code": "the_code", "message": "The reason.", "hint": "The advice."}
    tool = make_tool(**STATES[state], health_error=error, last_health_check_at=timezone.now())

    text = text_of(client_for(alice), f"/tools/{tool.pk}/")

    assert f'<span class="badge is-{state}">' in text
    assert state.label in text
    told = state in MEANINGS
    assert told == (state not in (HealthState.HEALTHY, HealthState.UNKNOWN))
    for word in ("The reason.", "the_code", "Who can mend it"):
        assert (word in text) == told
    assert ("The advice." in text) == (told and state != HealthState.NEEDS_KEY)


def test_every_state_that_is_told_has_words_and_an_icon():
    assert MEANINGS.keys() == MENDED_BY.keys() == ICONS.keys()


def test_the_api_tells_the_state_and_filters_by_it(alice, client_for):
    for state, values in STATES.items():
        make_tool(title=state.value, **values)
    client = client_for(alice)

    for state in HealthState:
        (tool,) = client.get(f"{API}/tools/?health={state}").json()["results"]
        assert (tool["title"], tool["health"]) == (state, state)
    assert len(client.get(f"{API}/tools/?health=unwell").json()["results"]) == 5


def test_a_key_that_the_reader_has_not_set_is_named_on_every_page(alice, client_for):
    package = make_package(env=[{"name": "EXA_API_KEY"}])
    tool = make_tool(title="Exa", package=package, import_health=Health.HEALTHY)
    client = client_for(alice)

    page = text_of(client, f"/tools/{tool.pk}/")
    assert "You have not set EXA_API_KEY yet." in page
    assert "?name=EXA_API_KEY" in page
    assert "Needs your key" in text_of(client, "/tools/")
    assert "Exa" in text_of(client, "/tools/?health=needs_key")
    told = client.get(f"{API}/tools/{tool.pk}/").json()
    assert (told["health"], told["missingEnv"]) == ("healthy", ["EXA_API_KEY"])


@pytest.fixture
def drifted(package):
    error = {
        "code": "export_drift",
        "message": "It is declared as “a”, but exported as “aTool”.",
        "hint": "Use it.",
        "extra": {"declared": "a", "candidates": ["aTool"]},
    }
    return make_tool(
        package=package, export_name="a", import_health=Health.BROKEN, health_error=error
    )


@pytest.mark.parametrize("page", ["tool", "package"])
def test_a_drift_is_mended_by_a_button_that_only_they_see_who_may_press_it(
    alice, bob, governor, client_for, package, drifted, page
):
    path = f"/tools/{drifted.pk}/" if page == "tool" else f"/packages/{package.pk}/"

    for person, shown in ((alice, True), (governor, True), (bob, False)):
        text = text_of(client_for(person), path)
        assert ('name="export" value="aTool"' in text) is shown
        assert ("Check again" in text) is shown


@pytest.mark.parametrize(
    ("step", "body"),
    [
        ("repair", {"declared": "a", "export": "aTool"}),
        ("env", {"name": "A_KEY"}),
        ("check", {}),
    ],
)
def test_who_may_not_change_a_package_is_refused_and_told(
    bob, client_for, package, drifted, step, body
):
    client = client_for(bob)
    answer = client.post(f"/packages/{package.pk}/{step}/", body, follow=True)

    assert "is here already, and you did not add it" in answer.content.decode()
    package.refresh_from_db()
    assert package.env == []
    assert not CheckSchedule.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "repair/", {"declared": "a", "export": "aTool"}),
        ("patch", "", {"env": [{"name": "A_KEY"}]}),
        ("post", "check/", {}),
    ],
)
def test_the_api_refuses_who_may_not_change_a_package(
    bob, client_for, package, drifted, method, path, body
):
    answer = getattr(client_for(bob), method)(
        f"{API}/packages/{package.pk}/{path}", body, content_type="application/json"
    )

    assert answer.status_code == 403
    assert answer.json()["code"] == "package_not_yours"


def test_a_variable_is_let_in_from_the_page_and_through_the_api(alice, client_for, package):
    package_review(package, status=ReviewStatus.CANDIDATE)
    tool = make_tool(package=package, execution_health=ExecutionHealth.NEEDS_KEY)
    client = client_for(alice)

    client.post(f"/packages/{package.pk}/env/", {"name": "A_KEY", "required": "false"})
    answer = client.patch(
        f"{API}/packages/{package.pk}/",
        {"env": [{"name": "B_KEY", "description": "The second"}]},
        content_type="application/json",
    )

    assert answer.status_code == 200
    assert answer.json()["env"] == [
        {"name": "A_KEY", "description": "", "required": False},
        {"name": "B_KEY", "description": "The second", "required": True},
    ]
    tool.refresh_from_db()
    assert tool.health_state == HealthState.UNKNOWN
    assert tool.version == 3


def test_an_approved_package_reads_more_once_that_is_approved(governor, client_for, package):
    tool = make_tool(package=package, execution_health=ExecutionHealth.NEEDS_KEY)
    client = client_for(governor)
    for name in ("A_KEY", "B_KEY"):
        answer = client.post(f"/packages/{package.pk}/env/", {"name": name}, follow=True)
        assert "once a reviewer approves it" in answer.content.decode()

    package.refresh_from_db()
    assert (package.review_status, package.env) == (ReviewStatus.APPROVED, [])
    proposal_approve(open_proposal_of(package), by=governor, reason="", accept=["new_secret"])
    package.refresh_from_db()
    assert [item["name"] for item in package.env] == ["A_KEY", "B_KEY"]
    tool.refresh_from_db()
    assert tool.health_state == HealthState.UNKNOWN


@pytest.mark.parametrize(
    "env",
    [
        [],
        [{"name": "lower"}],
        [{"name": "A B"}],
        [{"name": "A"}, {"name": "A"}],
        [{"name": f"A{number}"} for number in range(51)],
        [{}],
        "A",
    ],
)
def test_what_cannot_be_variables_is_refused(alice, client_for, package, env):
    answer = client_for(alice).patch(
        f"{API}/packages/{package.pk}/", {"env": env}, content_type="application/json"
    )

    assert answer.status_code == 400
    assert Package.objects.get(pk=package.pk).env == []


def test_a_suggested_variable_stands_beside_its_button(alice, client_for, package):
    package.findings = [{"code": "env", "path": "EXA_API_KEY", "message": "It reads it."}]
    package.save()

    text = text_of(client_for(alice), f"/packages/{package.pk}/")

    assert 'name="name" value="EXA_API_KEY"' in text
    assert "Let it read" in text


@pytest.fixture
def looks(monkeypatch):
    monkeypatch.setitem(checks.CHECKS, "npm", lambda package, tools: {})


def test_a_check_that_was_asked_for_is_followed_to_its_end(
    alice, client_for, package, drifted, looks, queue, django_capture_on_commit_callbacks
):
    client, path = client_for(alice), f"/packages/{package.pk}/check/"
    with django_capture_on_commit_callbacks(execute=True):
        asked = client.post(path, HTTP_HX_REQUEST="true").content.decode()
    assert queue == ["registry.check_tool_health"]
    assert "<progress" in asked
    follow = asked.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert "<progress" in client.get(follow, HTTP_HX_REQUEST="true").content.decode()

    package_check(package)

    assert client.get(follow, HTTP_HX_REQUEST="true").headers["HX-Refresh"] == "true"
    assert Tool.objects.get(pk=drifted.pk).health_state == HealthState.HEALTHY


def test_a_check_that_cannot_be_carried_out_says_why(alice, client_for, package, drifted):
    client, path = client_for(alice), f"/packages/{package.pk}/check/"
    client.post(path)
    CheckSchedule.objects.update(error={"message": "No sandbox.", "hint": "Start it."})
    now = timezone.now().isoformat().replace("+", "%2B")

    text = client.get(f"{path}?since={now}", HTTP_HX_REQUEST="true").content.decode()
    assert "No sandbox. Start it." in text
    assert "hx-get" not in text
    for nonsense in ("", "x", "2026-01-01", "2026-99-99T00:00:00Z"):
        CheckSchedule.objects.update(error=None)
        answer = client.get(f"{path}?since={nonsense}", HTTP_HX_REQUEST="true")
        assert "No worker has taken the check yet" in answer.content.decode()


def test_the_api_has_a_package_looked_at(alice, client_for, package, drifted):
    client, path = client_for(alice), f"{API}/packages/{package.pk}/check/"

    assert client.get(path).json() == {"lastAt": None, "nextAt": None, "error": None}
    asked = client.post(path, {}, content_type="application/json")

    assert asked.status_code == 202
    assert CheckSchedule.objects.get(package=package).next_at is None


def test_a_reviewers_dashboard_counts_the_tools_that_are_not_well(alice, governor, client_for):
    make_tool(import_health=Health.BROKEN)
    make_tool(execution_health=ExecutionHealth.UPSTREAM_DOWN)

    text = text_of(client_for(governor), "/")
    assert "Tools not well" in text
    assert "/tools/?health=unwell" in text
    assert "Tools not well" not in text_of(client_for(alice), "/")


def test_a_reviewer_sets_a_tools_time_limit_as_its_next_version(governor, client_for):
    tool = make_tool()
    path = f"/admin/registry/tool/{tool.pk}/change/"
    versions = {
        "versions-TOTAL_FORMS": 0,
        "versions-INITIAL_FORMS": 0,
        "reason": "It takes long",
    }
    client = client_for(governor)

    client.post(path, {**versions, "timeout_seconds": 300})
    tool.refresh_from_db()
    assert (tool.timeout_seconds, tool.version) == (300, 2)
    assert tool.versions.latest("number").author == governor

    refused = client.post(path, {**versions, "timeout_seconds": 301})
    assert refused.status_code == 200
    tool.refresh_from_db()
    assert tool.timeout_seconds == 300
