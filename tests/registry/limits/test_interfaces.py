"""Stopping and governing in the browser, the admin, REST and at the command line."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from registry.calling import call_directly, direct_context
from registry.governing import governed_of, tool_govern
from registry.models import Invocation, ToolVersion
from registry.models.invocation import Caller
from registry.stopping import package_stop, tool_stop
from tests.factories import make_builtin, make_package, make_tool

pytestmark = pytest.mark.django_db

JSON = "application/json"


@pytest.fixture
def tool():
    return make_tool(wire_name="send_mail", title="Send mail")


def page(name, item):
    return reverse(f"registry:{name}", args=[item.pk])


def fresh(item):
    item.refresh_from_db()
    return item


# --- The browser ------------------------------------------------------------------------------


def test_a_governor_stops_a_tool_on_its_page_and_everybody_reads_why(
    client_for, governor, alice, tool
):
    client = client_for(governor)
    asked = client.get(page("tool_stop", tool))
    assert b"everywhere within a second" in asked.content

    done = client.post(page("tool_stop", tool), {"reason": "Sends twice"}, follow=True)

    assert "Send mail is stopped, everywhere." in done.content.decode()
    told = client_for(alice).get(page("tool_detail", tool)).content.decode()
    assert "This tool is stopped by governor, since" in told
    assert "Sends twice" in told
    assert "It is stopped, so nobody can call it." in told
    assert page("tool_resume", tool) not in told
    assert page("tool_resume", tool) in done.content.decode()


def test_a_stop_without_a_reason_is_told_beside_the_field(client_for, governor, tool):
    refused = client_for(governor).post(page("tool_stop", tool), {"reason": " "})

    assert refused.status_code == 422
    assert "Say in a few words why." in refused.content.decode()
    assert fresh(tool).stopped_at is None


def test_a_second_stop_is_told_on_the_page(client_for, governor, tool):
    tool_stop(tool, by=governor, reason="The first")

    refused = client_for(governor).post(page("tool_stop", tool), {"reason": "The second"})

    assert refused.status_code == 422
    assert "is stopped already" in refused.content.decode()


def test_a_governor_lets_a_package_run_again_on_its_page(client_for, governor, alice, tool):
    package_stop(tool.package, by=governor, reason="Leaks addresses")
    for address in (page("package_detail", tool.package), page("tool_detail", tool)):
        assert "Leaks addresses" in client_for(alice).get(address).content.decode()

    done = client_for(governor).post(
        page("package_resume", tool.package), {"reason": "Mended"}, follow=True
    )

    assert f"{tool.package.name} runs again." in done.content.decode()
    assert fresh(tool.package).stopped_at is None


def test_a_governor_who_cannot_see_a_private_tool_in_the_catalogue_stops_it_all_the_same(
    client_for, governor, alice
):
    private = make_tool(owner=alice, visibility="private")

    done = client_for(governor).post(page("tool_stop", private), {"reason": "No"})

    assert done.url == reverse("admin:registry_tool_change", args=[private.pk])
    assert fresh(private).stopped_reason == "No"


@pytest.mark.parametrize("name", ["tool_stop", "tool_resume", "tool_governance"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_nobody_else_gets_to_the_pages_of_a_tool(client_for, alice, tool, name, method):
    answer = getattr(client_for(alice), method)(page(name, tool), {"reason": "I want to"})

    assert answer.status_code == 403
    assert "Only a governor" in answer.content.decode()
    assert fresh(tool).stopped_at is None


@pytest.mark.parametrize("name", ["package_stop", "package_resume"])
def test_nobody_else_gets_to_the_pages_of_a_package(client_for, alice, tool, name):
    assert client_for(alice).get(page(name, tool.package)).status_code == 403


def test_nobody_else_is_offered_them(client_for, alice, tool):
    told = client_for(alice).get(page("tool_detail", tool)).content.decode()
    assert page("tool_stop", tool) not in told
    assert page("tool_governance", tool) not in told


def test_the_page_of_a_tool_says_how_it_is_limited_and_what_is_left(client_for, alice):
    limited = make_builtin("calculator", calls_per_minute=5, required_scopes=["maths:do"])
    context = direct_context(alice, caller=Caller.BROWSER)
    call_directly(limited, {"expression": "1"}, context)

    told = client_for(alice).get(page("tool_detail", limited)).content.decode()

    assert "5 a minute for each caller; 4 left for you now" in told
    assert "<code>maths:do</code>" in told


def test_a_governor_changes_what_is_governed_and_the_history_has_it(client_for, governor, tool):
    body = {
        "required_scopes": "mail:send, mail:read",
        "calls_per_minute": "3",
        "cost_per_call": "0.002",
        "timeout_seconds": "10",
        "reason": "It costs money",
    }
    done = client_for(governor).post(page("tool_governance", tool), body, follow=True)

    assert "$0.002 a call" in done.content.decode()
    governed = governed_of(fresh(tool))
    assert governed == (["mail:read", "mail:send"], 3, Decimal("0.002"), 10)
    version = ToolVersion.objects.get(tool=tool, number=2)
    assert (version.author, version.reason) == (governor, "Governed: It costs money")
    assert version.snapshot["required_scopes"] == ["mail:read", "mail:send"]
    assert tool.review_status == "approved"
    assert tool.unreviewed_versions == []


def test_a_limit_alone_makes_no_version(governor, tool):
    tool_govern(tool, governed_of(tool)._replace(calls_per_minute=3), by=governor, reason="Dear")

    assert ToolVersion.objects.filter(tool=tool).count() == 1


def test_what_cannot_be_is_told_beside_each_field(client_for, governor, tool):
    body = {
        "required_scopes": "Mail:Send",
        "calls_per_minute": "0",
        "cost_per_call": "-1",
        "timeout_seconds": "301",
        "reason": "",
    }
    refused = client_for(governor).post(page("tool_governance", tool), body)

    assert refused.status_code == 422
    told = refused.content.decode()
    assert "“Mail:Send” is no scope" in told
    assert set(refused.context["form"].errors) == set(body)


# --- The admin --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["tool", "package"])
def test_the_admin_stops_and_resumes_in_bulk_with_a_reason(client_for, governor, tool, model):
    client = client_for(governor)
    item = tool if model == "tool" else tool.package
    address = reverse(f"admin:registry_{model}_changelist")
    chosen = {"_selected_action": [str(item.pk)]}
    between = client.post(address, {"action": "stop", **chosen}).content.decode()
    assert "those that run end within a second" in between
    assert fresh(item).stopped_at is None

    client.post(address, {"action": "stop", "reason": "Sends twice", "decide": "1", **chosen})
    assert (fresh(item).stopped_reason, item.stopped_by) == ("Sends twice", governor)
    again = client.post(
        address, {"action": "stop", "reason": "x", "decide": "1", **chosen}, follow=True
    )
    assert "is stopped already" in again.content.decode()
    client.post(address, {"action": "resume", "reason": "Mended", "decide": "1", **chosen})
    assert fresh(item).stopped_at is None


def test_the_admin_asks_for_a_reason_where_a_limit_is_changed(client_for, governor, tool):
    address = reverse("admin:registry_tool_change", args=[tool.pk])
    body = {
        "review_status": "approved",
        "required_scopes": "mail:send",
        "calls_per_minute": "3",
        "timeout_seconds": "30",
        "versions-TOTAL_FORMS": "0",
        "versions-INITIAL_FORMS": "0",
    }
    client = client_for(governor)
    assert "Say in a few words why." in client.post(address, body).content.decode()

    assert client.post(address, {**body, "reason": "It costs money"}).status_code == 302
    assert governed_of(fresh(tool))[:2] == (["mail:send"], 3)


# --- REST -------------------------------------------------------------------------------------


def api(item, action="stop"):
    return (
        f"/api/v1/{'tools' if item._meta.model_name == 'tool' else 'packages'}/{item.pk}/{action}/"
    )


@pytest.mark.parametrize("which", ["tool", "package"])
def test_rest_stops_and_resumes(client_for, governor, tool, which):
    client, item = client_for(governor), tool if which == "tool" else tool.package
    body = {"reason": "Sends twice"}

    stopped = client.post(api(item), body, content_type=JSON)
    again = client.post(api(item), body, content_type=JSON)
    resumed = client.delete(api(item) + "?reason=Mended")

    assert (stopped.status_code, stopped.json()["stoppedReason"]) == (200, "Sends twice")
    assert stopped.json()["stoppedAt"]
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert (resumed.status_code, resumed.json()["stoppedAt"]) == (200, None)


def test_rest_wants_a_reason(client_for, governor, tool):
    refused = client_for(governor).post(api(tool), {}, content_type=JSON)
    assert (refused.status_code, refused.json()["extra"]["problems"][0]["path"]) == (
        400,
        "$.reason",
    )


@pytest.mark.parametrize("action", ["stop", "governance"])
def test_rest_refuses_who_does_not_govern(client_for, alice, tool, action):
    client, body = client_for(alice), {"reason": "I want to"}
    items = [tool, tool.package] if action == "stop" else [tool]
    for item in items:
        send = client.post if action == "stop" else client.patch
        refused = send(api(item, action), body, content_type=JSON)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")


def test_rest_hides_from_others_what_they_cannot_see(client_for, charlie, alice):
    private = make_tool(owner=alice, visibility="private", package=make_package(added_by=alice))
    refused = client_for(charlie).post(api(private), {"reason": "x"}, content_type=JSON)
    assert refused.status_code == 404


def test_rest_governs_what_is_named_and_leaves_the_rest(client_for, governor, tool):
    client = client_for(governor)
    body = {"requiredScopes": ["mail:send"], "callsPerMinute": 3, "reason": "It costs money"}

    done = client.patch(api(tool, "governance"), body, content_type=JSON)
    refused = client.patch(
        api(tool, "governance"), {"requiredScopes": ["A B"], "reason": "x"}, content_type=JSON
    )

    assert (done.json()["requiredScopes"], done.json()["callsPerMinute"]) == (["mail:send"], 3)
    assert done.json()["timeoutSeconds"] == 30
    assert refused.status_code == 400
    assert refused.json()["extra"]["problems"][0]["path"] == "$.requiredScopes"


# --- The command line ---------------------------------------------------------------------------


def command(*arguments):
    output = StringIO()
    call_command("stop_tool", *arguments, stdout=output)
    return output.getvalue()


def test_the_command_stops_and_resumes_a_tool_and_a_package(tool):
    assert "send_mail is stopped everywhere." in command("send_mail", "--reason", "Now")
    assert (fresh(tool).stopped_reason, tool.stopped_by) == ("Now", None)
    assert "send_mail runs again." in command("send_mail", "--resume", "--reason", "Mended")
    name = tool.package.name
    assert f"{name} is stopped everywhere." in command(name, "--package", "--reason", "Now")
    assert fresh(tool.package).stopped_reason == "Now"


def test_the_command_says_what_it_does_not_find(tool):
    make_package(name="mail")
    make_package(name="mail", ecosystem="pypi")
    for arguments, told in (
        (["nothing"], "There is no tool “nothing”"),
        (["nothing", "--package"], "There is no package “nothing”"),
        (["mail", "--package"], "say --ecosystem npm or pypi"),
        (["send_mail", "--resume"], "is not stopped"),
    ):
        with pytest.raises(CommandError, match=told):
            command(*arguments, "--reason", "Now")
    assert "stopped" in command("mail", "--package", "--ecosystem", "pypi", "--reason", "Now")
    assert not Invocation.objects.exists()
