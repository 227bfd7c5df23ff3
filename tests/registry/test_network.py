"""Which hosts a package may reach: who decides, what pages say, and that it holds at once."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from config.lib.errors import InvalidInput, NotAllowed
from registry.context import CallContext
from registry.execution import invoke
from registry.loading import load_spec
from registry.models import Invocation
from registry.models.invocation import Caller, Outcome
from registry.models.tool import Health
from registry.network import hosts_asked, hosts_denied
from registry.services import MOST_HOSTS, package_allow_hosts
from tests.factories import builtin_package, make_package, make_tool

pytestmark = pytest.mark.django_db

MANIFEST = {"tpmjs": {"hosts": ["API.example.com", "*", "*.cdn.example:8443", 7, "http://x/"]}}


@pytest.fixture
def package():
    return make_package(manifest=MANIFEST)


def denied_call(tool, user, *hosts, error_code="network_denied"):
    error = {"code": error_code, "message": "", "hint": "", "extra": {"hosts": list(hosts)}}
    return Invocation.objects.create(
        tool=tool,
        tool_version=1,
        caller=Caller.REST,
        user=user,
        outcome=Outcome.FAILED,
        phase="execute",
        error_code=error_code,
        error=error,
        arguments={},
        duration_ms=1,
    )


def detail(package):
    return reverse("registry:package_detail", args=[package.pk])


def hosts_page(package):
    return reverse("registry:package_hosts", args=[package.pk])


def test_a_reviewer_allows_hosts_each_in_its_one_spelling_with_who_and_why_kept(package, governor):
    package_allow_hosts(
        package, ["API.Example.com.", "api.example.com", "b.example:8443"], by=governor, reason="OK"
    )

    package.refresh_from_db()
    assert package.allowed_hosts == ["api.example.com", "b.example:8443"]
    entry = LogEntry.objects.get(object_id=str(package.pk))
    assert entry.user == governor
    assert entry.get_change_message() == (
        "Network: api.example.com, b.example:8443 (before: none). OK"
    )


def test_nobody_else_allows_hosts(package, alice, client_for):
    with pytest.raises(NotAllowed, match="Only a reviewer"):
        package_allow_hosts(package, ["a.example"], by=alice)

    for sent in ({"add": "a.example"}, {"hosts": "a.example"}):
        assert client_for(alice).post(hosts_page(package), sent).status_code == 403
    package.refresh_from_db()
    assert package.allowed_hosts == []


def test_who_added_a_package_does_not_allow_it_hosts(alice, client_for):
    package = make_package(added_by=alice, review_status="candidate")
    response = client_for(alice).post(hosts_page(package), {"add": "a.example"})
    assert response.status_code == 403


@pytest.mark.parametrize("host", ["*", "*.com", "https://a.example", "2130706433", "a b"])
def test_what_is_no_host_is_not_allowed(package, governor, host):
    with pytest.raises(InvalidInput):
        package_allow_hosts(package, ["a.example", host], by=governor)
    package.refresh_from_db()
    assert package.allowed_hosts == []


def test_a_list_has_an_end(package, governor):
    hosts = [f"h{number}.example" for number in range(MOST_HOSTS + 1)]
    with pytest.raises(InvalidInput, match="At most 50 hosts"):
        package_allow_hosts(package, hosts, by=governor)


def test_asking_allows_nothing_and_is_shown(package, alice, client_for):
    assert hosts_asked(package) == ["api.example.com", "*.cdn.example:8443"]

    text = client_for(alice).get(detail(package)).content.decode()
    assert "None. Its tools cannot reach any host." in text
    assert "It asks for" in text
    assert "api.example.com" in text
    assert hosts_page(package) not in text, "only a reviewer gets the form"


@pytest.mark.parametrize("manifest", [{}, [], {"tpmjs": []}, {"tpmjs": {"hosts": "a.example"}}])
def test_a_manifest_without_hosts_asks_for_none(manifest):
    assert hosts_asked(make_package(manifest=manifest)) == []


def test_a_reviewer_changes_the_hosts_on_the_packages_page(package, governor, client_for):
    client = client_for(governor)
    assert hosts_page(package) in client.get(detail(package)).content.decode()

    sent = {"hosts": "a.example\n\n b.example:8443 \n", "reason": "Read it."}
    response = client.post(hosts_page(package), sent, follow=True)

    assert response.redirect_chain == [(detail(package), 302)]
    text = response.content.decode()
    assert "From the next call on its tools may reach a.example, b.example:8443." in text
    assert "Its tools may reach these hosts and no others." in text

    response = client.post(hosts_page(package), {"hosts": "", "reason": ""}, follow=True)
    assert "No network any more." in response.content.decode()


def test_a_reviewer_allows_one_more_host_at_a_press(package, governor, client_for):
    package_allow_hosts(package, ["a.example"], by=governor)
    client_for(governor).post(hosts_page(package), {"add": "api.example.com"})

    package.refresh_from_db()
    assert package.allowed_hosts == ["a.example", "api.example.com"]
    assert hosts_asked(package) == ["*.cdn.example:8443"]


def test_a_wrong_host_is_told_beside_the_field_with_what_was_written(package, governor, client_for):
    response = client_for(governor).post(hosts_page(package), {"hosts": "a.example\n*"})

    assert response.status_code == 422
    text = response.content.decode()
    assert "stands for the whole network" in text
    assert "a.example\n*" in text


def test_hosts_denied_lately_are_shown_until_they_are_allowed(package, alice, bob, governor):
    tool = make_tool(package=package)
    denied_call(tool, alice, "a.example:443", "b.example:8443")
    denied_call(tool, bob, "a.example:443")
    denied_call(tool, bob, "c.example:443", error_code="tool_failed")
    denied_call(make_tool(), bob, "other.example:443")

    assert {item.host: item.calls for item in hosts_denied(package, governor)} == {
        "a.example:443": 2,
        "b.example:8443": 1,
    }
    assert [item.host for item in hosts_denied(package, bob)] == ["a.example:443"]

    package_allow_hosts(package, ["a.example"], by=governor)
    assert [item.host for item in hosts_denied(package, governor)] == ["b.example:8443"]


def test_a_built_in_has_no_network_to_show(governor, client_for):
    text = client_for(governor).get(detail(builtin_package())).content.decode()
    assert 'id="network"' not in text


def test_the_admin_takes_hosts_and_names_a_wrong_one(package, governor, client_for):
    change = reverse("admin:registry_package_change", args=[package.pk])
    tools = {"tools-TOTAL_FORMS": 0, "tools-INITIAL_FORMS": 0}
    sent = {"review_status": "approved", "allowed_hosts": "A.example, b.example:8443", **tools}
    client = client_for(governor)

    assert client.post(change, sent).status_code == 302
    package.refresh_from_db()
    assert package.allowed_hosts == ["a.example", "b.example:8443"]

    response = client.post(change, {**sent, "allowed_hosts": "*"})
    assert "stands for the whole network" in response.content.decode()
    package.refresh_from_db()
    assert package.allowed_hosts == ["a.example", "b.example:8443"]


class Hello(BaseHTTPRequestHandler):
    """Greets."""

    def do_GET(self):
        """Answer one request."""
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        """Keep the test output quiet."""


@pytest.mark.sandbox
def test_a_tool_reaches_a_host_from_the_call_after_it_was_allowed(
    npm_settings, monkeypatch, alice, governor
):
    from tests.registry.sandbox.npm_registry import SCOPE
    from tests.registry.sandbox.service import running_service

    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        allow = {"SANDBOX_NET_ALLOW": f"127.0.0.1:{port},[::1]:{port}"}
        with running_service({**npm_settings, **allow}) as service:
            monkeypatch.setenv("SANDBOX_SOCKET", str(service.folder / "sandboxd.sock"))
            built = service.client.build(ecosystem="npm", name=f"{SCOPE}/network")
            package = make_package(name=built.name, artifact=built.artifact)
            tool = make_tool(
                package=package,
                export_name="fetches",
                input_schema={"type": "object"},
                execution_health=Health.HEALTHY,
            )

            def call():
                context = CallContext(user=alice, caller=Caller.REST)
                url = f"http://localhost:{port}/"
                return invoke(load_spec(tool), {"url": url}, context)

            for _ in range(4):
                refused = call()
                assert refused.error.code == "network_denied"
                assert refused.error.extra["hosts"] == [f"localhost:{port}"]
            tool.refresh_from_db()
            assert tool.execution_health == Health.HEALTHY, "the tool is not to blame"
            (denied,) = hosts_denied(package, alice)
            package_allow_hosts(package, [denied.host], by=governor)
            assert call().output == {"status": 200, "text": "hello"}
            package_allow_hosts(package, [], by=governor)
            assert call().error.code == "network_denied"
        server.shutdown()
    assert Invocation.objects.filter(tool=tool).count() == 6
