"""HTTP tools through the REST API."""

import pytest

from config.lib.addresses import parse_allowed
from registry.models import Tool
from tests.fakes.web_server import serving
from tests.registry.api_tools.making import make_api_tool

pytestmark = pytest.mark.django_db

TOOLS = "/api/v1/tools/"
BODY = {
    "type": "api",
    "name": "Weather",
    "description": "Tells the weather of a city.",
    "definition": {"url": "https://api.example.com/{{ args.city }}"},
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
def client(alice, client_for):
    return client_for(alice)


def send(client, method, url, body):
    return getattr(client, method)(url, body, content_type="application/json")


def test_a_tool_is_made_changed_and_deleted(client):
    made = send(client, "post", TOOLS, BODY)
    assert made.status_code == 201
    tool = made.json()
    assert (tool["type"], tool["version"], tool["visibility"]) == ("api", 1, "private")
    assert tool["definition"]["method"] == "GET"
    url = f"{TOOLS}{tool['id']}/"
    changed = send(client, "patch", url, {"definition": {"url": "https://other.example/"}}).json()
    assert (changed["version"], changed["title"]) == (2, "Weather")
    replaced = send(client, "put", url, {**BODY, "name": "Forecast"}).json()
    assert (replaced["version"], replaced["name"]) == (3, "forecast")
    back = client.post(f"{url}versions/1/restore/", content_type="application/json").json()
    assert (back["version"], back["title"]) == (4, "Weather")
    assert client.delete(url).status_code == 204
    assert client.get(url).status_code == 404


def test_everything_that_is_wrong_is_told_at_once(client):
    body = {
        **BODY,
        "description": "",
        "definition": {
            "url": "ftp://x",
            "auth": {"type": "bearer"},
            "query": {"q": "{{ args.town }}"},
            "more": 1,
        },
    }
    answer = send(client, "post", TOOLS, body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_api_definition"
    paths = {problem["path"] for problem in answer.json()["extra"]["problems"]}
    assert paths == {
        "$.description",
        "$.definition.auth.env",
        "$.definition.more",
        "$.definition.url",
        "$.definition.query.q",
    }


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"definition": {"url": "https://{{ args.city }}/"}}, "$.definition.url"),
        ({"definition": {"url": "https://e.com", "query": {"q": "x" * 200_000}}}, "$.definition"),
        ({"inputSchema": {"type": "array"}}, "$.inputSchema.type"),
        ({"visibility": "team"}, "$.team"),
        ({"team": "strangers"}, "$.team"),
        ({"extra": 1}, "$.extra"),
    ],
)
def test_a_wrong_field_is_told_by_its_path(client, changes, path):
    answer = send(client, "post", TOOLS, {**BODY, **changes})
    assert answer.status_code == 400
    assert path in {problem["path"] for problem in answer.json()["extra"]["problems"]}
    assert not Tool.objects.exists()


def test_what_cannot_be_stored_is_cleaned_and_never_a_server_error(client):
    body = {**BODY, "definition": {"url": "https://e.com/", "query": {"q\ud800": "a\u0000b"}}}
    assert send(client, "post", TOOLS, body).status_code in (201, 400)


def test_only_the_owner_changes_a_tool(client_for, alice, bob, team):
    tool = make_api_tool(alice, BODY["definition"], visibility="team", team=team)
    other = client_for(bob)
    url = f"{TOOLS}{tool.pk}/"
    assert other.get(url).status_code == 200
    assert send(other, "put", url, BODY).status_code == 404
    assert send(other, "patch", url, {"name": "Mine"}).status_code == 404
    assert other.delete(url).status_code == 404


def test_a_stranger_neither_sees_nor_calls_a_private_tool(client_for, alice, charlie):
    tool = make_api_tool(alice, BODY["definition"])
    other = client_for(charlie)
    assert other.get(f"{TOOLS}{tool.pk}/").status_code == 404
    assert send(other, "post", f"{TOOLS}{tool.pk}/run/", {"arguments": {}}).status_code == 404


def test_a_call_answers_at_once_with_the_callers_own_credential(client, alice, settings):
    with serving() as web:
        settings.OUTBOUND_ALLOW = parse_allowed("127.0.0.1")
        web.on("/Rome", lambda it: it.json('{"t": 30}'))
        auth = {"type": "bearer", "env": "ACME_KEY"}
        definition = {"url": web.url + "/{{ args.city }}", "auth": auth}
        tool = make_api_tool(alice, definition)
        url = f"{TOOLS}{tool.pk}/run/"
        asked = {"arguments": {"city": "Rome"}}
        refused = send(client, "post", url, asked)
        assert refused.json()["code"] == "missing_credential"
        answer = send(client, "post", url, {**asked, "env": {"ACME_KEY": "given"}})
        assert (answer.status_code, answer.json()["output"]) == (200, {"t": 30})
        assert web.asked[0].headers["authorization"] == "Bearer given"
        settings.OUTBOUND_ALLOW = ()
        refused = send(client, "post", url, {**asked, "env": {"ACME_KEY": "given"}})
        assert (refused.status_code, refused.json()["code"]) == (403, "host_refused")
