"""Tools that programs register, call by name and take away."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.bearer import Bearer
from agents.discovery.calling import tool_use
from agents.tokens import token_create
from config.lib.addresses import parse_allowed
from config.lib.errors import NotAllowed
from registry.errors import HostRefused
from registry.models import AuditEvent, Proposal, Tool
from registry.models.package import ReviewStatus
from registry.review.deciding import proposal_approve, proposal_reject
from registry.roles import Role, registrar_distrust, registrar_trust, role_give
from tests.factories import make_agent, make_builtin, make_sequence, make_user
from tests.fakes.web_server import serving

pytestmark = pytest.mark.django_db

PLACE = "/api/v1/discovery/"
TOOLS = f"{PLACE}tools/"
REGISTER = f"{TOOLS}register/"


@pytest.fixture
def service(settings):
    """A tool service on loopback, which an operator allows."""
    settings.OUTBOUND_ALLOW = parse_allowed("127.0.0.1")
    with serving() as server:
        server.on("/tools/weather", lambda it: it.json('{"sky": "blue"}'))
        yield server


@pytest.fixture
def body(service):
    """What the seed sends."""
    return {
        "name": "weather_forecast",
        "endpoint": "/tools/weather",
        "scopes": ["weather:read"],
        "description": "Get weather data",
        "parameters": {"city": {"type": "string", "description": "Where"}},
        "returns": "Forecast",
        "host": "127.0.0.1",
        "port": service.port,
    }


class Program:
    """A program with a token."""

    def __init__(self, user, *scopes):
        text = token_create(user, name="program", scopes=scopes)[1]
        self.client, self.headers = Client(), {"Authorization": f"Bearer {text}"}

    def post(self, path, body=None, **headers):
        return self.client.post(
            path, body, content_type="application/json", headers={**self.headers, **headers}
        )

    def delete(self, path):
        return self.client.delete(path, headers=self.headers)

    def names(self):
        answer = self.client.get(PLACE, headers=self.headers).json()
        return [tool["name"] for tool in answer["tools"]]


def approve(governor):
    proposal_approve(Proposal.objects.get(state="open"), by=governor, reason="fine")


def test_a_registered_tool_is_its_registrars_alone_until_a_governor_approves_it(
    alice, charlie, governor, body, service
):
    mine, theirs = Program(alice), Program(charlie)
    made = mine.post(REGISTER, body)

    assert made.status_code == 201
    told = made.json()
    assert (told["state"], told["created"], told["changed"], told["version"]) == (
        *("waiting", True, True),
        1,
    )
    assert told["message"] == (
        "weather_forecast is registered as version 1. It waits for review; until then only you "
        "have it."
    )
    assert mine.names() == ["weather_forecast"]
    assert theirs.names() == []
    assert Client().get(PLACE).json()["tools"] == []
    assert theirs.post(told["endpoint"], {"city": "Ulm"}).status_code == 404

    approve(governor)
    assert theirs.names() == ["weather_forecast"]
    assert theirs.post(told["endpoint"], {"city": "Ulm"}).json() == {"sky": "blue"}
    [asked] = service.asked
    assert (asked.method, asked.path) == ("POST", "/tools/weather")
    assert json.loads(asked.body) == {"city": "Ulm"}
    assert "authorization" not in asked.headers


def test_what_was_registered_is_told_as_it_was_said(alice, body):
    program = Program(alice)
    program.post(REGISTER, body)
    [tool] = program.client.get(PLACE, headers=program.headers).json()["tools"]

    assert tool["parameters"] == {"city": {"type": "string", "description": "Where"}}
    assert tool["inputSchema"]["required"] == ["city"]
    assert (tool["returns"], tool["scopes"]) == ("Forecast", ["weather:read"])
    assert (tool["description"], tool["kind"]) == ("Get weather data", "api")


def test_registering_the_same_again_changes_nothing(alice, body):
    program = Program(alice)
    first, again = program.post(REGISTER, body), program.post(REGISTER, body)

    assert (first.status_code, again.status_code) == (201, 200)
    assert (again.json()["changed"], again.json()["version"]) == (False, 1)
    assert Tool.objects.count() == 1
    assert Proposal.objects.filter(state="open").count() == 1


def test_a_change_of_an_approved_tool_waits_while_what_is_live_stays(alice, governor, body):
    program = Program(alice)
    program.post(REGISTER, body)
    approve(governor)
    told = program.post(REGISTER, {**body, "description": "Better", "returns": "More"}).json()

    assert (told["state"], told["version"], told["changed"]) == ("waiting", 2, True)
    assert "everybody else has version 1 until then" in told["message"]
    assert Tool.objects.get().description == "Get weather data"
    approve(governor)
    tool = Tool.objects.get()
    assert (tool.version, tool.description) == (2, "Better")
    assert tool.output_schema == {"description": "More"}


def test_what_a_trusted_registrar_registers_is_live_at_once(alice, charlie, governor, body):
    role_give(alice, Role.AUDITOR)
    registrar_trust(alice, by=governor, reason="Runs the weather team")
    alice = User.objects.get(pk=alice.pk)
    assert set(alice.groups.values_list("name", flat=True)) == {"auditor", "registrar"}
    program = Program(alice)

    assert program.post(REGISTER, body).json()["state"] == "live"
    assert Program(charlie).names() == ["weather_forecast"]
    told = program.post(REGISTER, {**body, "description": "Better"}).json()
    assert (told["state"], told["version"]) == ("live", 2)
    assert Tool.objects.get().description == "Better"

    registrar_distrust(alice, by=governor)
    assert program.post(REGISTER, {**body, "description": "Worse"}).json()["state"] == "waiting"
    assert Tool.objects.get().description == "Better"
    reasons = AuditEvent.objects.filter(reason="Runs the weather team")
    assert reasons.get().actor_name == "governor"


def test_what_a_reviewer_has_refused_waits_even_for_a_trusted_registrar(alice, governor, body):
    program = Program(alice)
    program.post(REGISTER, body)
    proposal_reject(Proposal.objects.get(), by=governor, reason="It lies")
    registrar_trust(alice, by=governor)

    assert program.post(REGISTER, {**body, "description": "Honest"}).json()["state"] == "waiting"
    assert Tool.objects.get().review_status == ReviewStatus.CANDIDATE


def test_only_a_governor_says_who_is_trusted(alice, charlie):
    with pytest.raises(NotAllowed, match="Only a governor says"):
        registrar_trust(charlie, by=alice)
    with pytest.raises(NotAllowed, match="Only a governor says"):
        registrar_distrust(charlie, by=alice)


def test_governors_trust_registrars_on_the_page_of_people(alice, client_for):
    keeper = make_user("keeper")
    role_give(keeper, Role.GOVERNOR)
    client, place = client_for(User.objects.get(pk=keeper.pk)), "/admin/auth/user/"
    for action, trusted in (("trust", True), ("distrust", False)):
        answer = client.post(place, {"action": action, "_selected_action": [alice.pk]})
        assert answer.status_code == 302
        person = User.objects.get(pk=alice.pk)
        assert person.has_perm("registry.trusted_registrar") is trusted
    auditor = make_user("reader")
    role_give(auditor, Role.AUDITOR)
    client_for(User.objects.get(pk=auditor.pk)).post(
        place, {"action": "trust", "_selected_action": [alice.pk]}
    )
    assert not User.objects.get(pk=alice.pk).has_perm("registry.trusted_registrar")


def test_the_name_of_another_is_refused_with_a_hint(alice, charlie, body):
    Program(alice).post(REGISTER, body)
    refused = Program(charlie).post(REGISTER, body)

    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert (
        refused.json()["message"] == "Somebody else has a tool that is called “weather_forecast”."
    )
    assert "Choose another name" in refused.json()["hint"]
    assert Program(charlie).names() == []


def test_a_tool_of_another_kind_is_not_overwritten(alice, body):
    make_sequence(alice, wire_name="weather_forecast")
    refused = Program(alice).post(REGISTER, body)

    assert refused.status_code == 409
    assert "another kind of tool" in refused.json()["message"]


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"name": "Weather Forecast!"}, {"$.name"}),
        ({"name": ""}, {"$.name"}),
        ({"description": ""}, {"$.description"}),
        ({"endpoint": ""}, {"$.endpoint"}),
        ({"endpoint": "/a/../b"}, {"$.endpoint"}),
        ({"scopes": ["No Scope"]}, {"$.scopes"}),
        ({"scopes": "weather:read"}, {"$.scopes"}),
        ({"method": "BREW"}, {"$.method"}),
        ({"port": 0}, {"$.port"}),
        ({"parameters": [1]}, {"$.parameters"}),
        ({"parameters": {"city": {"type": "town"}}}, {"$.parameters.city.type"}),
        ({"parameters": {"city": 7}}, {"$.parameters.city"}),
        ({"parameters": {"type": "object", "properties": 3}}, {"$.parameters"}),
        ({"visibility": "team", "team": "strangers"}, {"$.team"}),
        ({"url": "ftp://example.com/"}, {"$.url"}),
        ({"url": "https://me:secret@example.com/"}, {"$.url"}),
        ({"forward_token": True}, {"$.forward_token"}),
        ({"colour": "blue"}, {"$.colour"}),
        (
            {"scopes": ["No Scope"], "forward_token": True, "parameters": {"city": 7}},
            {"$.scopes", "$.forward_token", "$.parameters.city"},
        ),
    ],
)
def test_every_problem_of_a_registration_is_named_with_its_place(alice, body, changes, paths):
    refused = Program(alice).post(REGISTER, {**body, **changes})

    assert refused.status_code == 400
    assert {problem["path"] for problem in refused.json()["extra"]["problems"]} == paths
    assert not Tool.objects.exists()


def test_a_host_that_may_not_be_asked_is_refused_and_it_is_said_how_to_allow_it(
    alice, body, settings
):
    settings.OUTBOUND_ALLOW = ()
    [problem] = Program(alice).post(REGISTER, body).json()["extra"]["problems"]

    assert problem["path"] == "$.host"
    assert "127.0.0.1 is this machine" in problem["message"]
    assert "OUTBOUND_ALLOW" in problem["message"]


def test_a_host_that_nobody_knows_is_refused(alice, body):
    changed = {**body, "host": "nowhere.invalid"}
    [problem] = Program(alice).post(REGISTER, changed).json()["extra"]["problems"]

    assert problem["path"] == "$.host"
    assert "no host of the name nowhere.invalid" in problem["message"]


@pytest.mark.parametrize(
    ("method", "path"), [("post", REGISTER), ("delete", f"{TOOLS}weather_forecast/")]
)
def test_registering_takes_its_own_scope(alice, body, method, path):
    Program(alice).post(REGISTER, body)
    program = Program(alice, "tools:read", "tools:write", "tools:run")
    refused = program.post(path, body) if method == "post" else program.delete(path)

    assert refused.status_code == 403
    assert "discovery:register" in refused.json()["message"]
    assert Client().post(REGISTER, body, content_type="application/json").status_code == 401


def test_a_tool_is_unregistered_at_once_and_it_is_told_what_loses_it(alice, charlie, body):
    program = Program(alice)
    program.post(REGISTER, body)
    make_agent(alice, Tool.objects.get(), name="Planner")
    assert Program(charlie).delete(f"{TOOLS}weather_forecast/").status_code == 404

    gone = program.delete(f"{TOOLS}weather_forecast/")
    assert gone.status_code == 200
    assert gone.json()["impact"]["breaks"] is True
    assert "1 agent" in gone.json()["impact"]["summary"]
    assert program.names() == []
    assert program.post(f"{TOOLS}weather_forecast/", {"city": "Ulm"}).status_code == 404
    assert program.delete(f"{TOOLS}weather_forecast/").status_code == 404
    assert program.post(REGISTER, body).status_code == 201


def test_the_answer_of_a_call_is_the_output_itself(alice):
    make_builtin("calculator", required_scopes=["calculator:use"])
    place = f"{TOOLS}calculator/"

    answer = Program(alice, "tools:run", "calculator:use").post(place, {"expression": "6 * 7"})
    assert (answer.status_code, answer.json()["result"]) == (200, 42)
    lacking = Program(alice, "tools:run").post(place, {"expression": "1"})
    assert (lacking.status_code, lacking.json()["code"]) == (403, "permission_refused")
    assert lacking.json()["extra"]["missing_scopes"] == ["calculator:use"]
    assert Program(alice, "calculator:use").post(place, {}).status_code == 403
    wrong = Program(alice).post(place, {"expresion": "1"})
    assert (wrong.status_code, wrong.json()["extra"]["phase"]) == (400, "validate")
    assert Program(alice).post(place).status_code == 400
    bare = Client().post(place, headers=Program(alice).headers, content_type="application/json")
    assert bare.json()["code"] == wrong.json()["code"]
    for nobody in ("a%00b", "x" * 200, "%F0%9F%A6%84"):
        assert Program(alice).post(f"{TOOLS}{nobody}/", {}).status_code == 404
        assert Program(alice).delete(f"{TOOLS}{nobody}/").status_code == 404
    assert Program(alice).post(place, [1]).status_code == 400
    assert Program(alice).post(f"{place}?wait=99", {"expression": "1"}).status_code == 400


def test_a_tool_is_called_as_an_agent_by_the_name_that_it_has_there(alice):
    from agents.services import tool_link

    tool = make_builtin("calculator")
    agent = make_agent(alice, slug="planner")
    tool_link(agent, tool.pk, name="sums", config={"expression": "6 * 7"})

    answer = Program(alice).post(f"{TOOLS}sums/?agent=planner", {})
    assert answer.json()["result"] == 42
    assert Program(alice).post(f"{TOOLS}sums/", {}).status_code == 404
    other = make_agent(alice)
    bearer = Bearer(user=alice, scopes=frozenset({"tools:run"}), key="k", agent_id=agent.pk)
    assert tool_use(alice, bearer, "sums", {}).output["result"] == 42
    with pytest.raises(NotAllowed, match="is the agent “planner”"):
        tool_use(alice, bearer, "sums", {}, agent=other.slug)


def test_an_oauth_token_goes_on_to_a_trusted_host_and_to_no_other(alice, body, service, settings):
    settings.TRUSTED_TOKEN_HOSTS = (f"127.0.0.1:{service.port}",)
    assert Program(alice).post(REGISTER, {**body, "forward_token": True}).status_code == 201
    bearer = Bearer(
        user=alice, scopes=frozenset({"tools:run", "weather:read"}), key="k", token="at-secret"
    )
    tool_use(alice, bearer, "weather_forecast", {"city": "Ulm"})
    assert service.asked[-1].headers["authorization"] == "Bearer at-secret"

    personal = Program(alice).post(f"{TOOLS}weather_forecast/", {"city": "Ulm"})
    assert (personal.status_code, personal.json()["code"]) == (403, "permission_refused")
    settings.TRUSTED_TOKEN_HOSTS = ()
    with pytest.raises(HostRefused, match="may not be sent"):
        tool_use(alice, bearer, "weather_forecast", {"city": "Ulm"})
    assert len(service.asked) == 1


def test_arguments_go_in_the_query_of_a_method_without_a_body(alice, body, service):
    program = Program(alice)
    changes = {
        "method": "GET",
        "parameters": {"city": "str", "no-of days": {"type": "int", "optional": True}},
    }
    assert program.post(REGISTER, {**body, **changes}).status_code == 201
    program.post(f"{TOOLS}weather_forecast/", {"city": "Bad Ulm", "no-of days": 2})
    program.post(f"{TOOLS}weather_forecast/", {"city": "Ulm"})

    assert [asked.path for asked in service.asked] == [
        "/tools/weather?city=Bad%20Ulm&no-of%20days=2",
        "/tools/weather?city=Ulm",
    ]


def test_a_registration_is_repeated_by_its_key(alice, body):
    program = Program(alice)
    first = program.post(REGISTER, body, **{"Idempotency-Key": "k1"})
    again = program.post(REGISTER, body, **{"Idempotency-Key": "k1"})

    assert (first.status_code, again.status_code) == (201, 201)
    assert again["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
