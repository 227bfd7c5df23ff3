"""The pages of an HTTP tool: what they show, to whom, and that problems stand by their fields."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from registry.models import Tool
from registry.models.package import ReviewStatus
from registry.models.tool import Visibility
from registry.review.deciding import proposal_approve
from registry.review.selectors import open_proposal_of
from tests.factories import make_package, make_sequence, make_tool
from tests.registry.api_tools.making import make_api_tool

pytestmark = pytest.mark.django_db

NEW = "/tools/new/api"
FILLED = {
    "name": "City weather",
    "description": "Tells the weather of a city.",
    "input_schema": '{"type": "object", "properties": {"city": {"type": "string"}}}',
    "method": "POST",
    "url": "https://api.example.com/v1/{{ args.city }}",
    "query": "unit: C\nq: {{ args.city }}",
    "headers": "X-From: outfitter",
    "body_type": "json",
    "body": '{"city": "{{ args.city }}"}',
    "auth_type": "header",
    "auth_env": "ACME_KEY",
    "auth_name": "X-Key",
    "auth_prefix": "key ",
    "response_path": "items[0]",
    "success_status": "200, 404",
    "max_bytes": "5000",
    "timeout_seconds": "9",
    "visibility": "private",
}
DEFINITION = {
    "method": "POST",
    "url": "https://api.example.com/v1/{{ args.city }}",
    "headers": {"X-From": "outfitter"},
    "query": {"unit": "C", "q": "{{ args.city }}"},
    "body": {"type": "json", "value": {"city": "{{ args.city }}"}},
    "auth": {"type": "header", "env": "ACME_KEY", "name": "X-Key", "prefix": "key "},
    "response": {"path": "items[0]", "successStatus": [200, 404]},
    "maxBytes": 5000,
    "timeoutSeconds": 9,
}


@pytest.fixture
def client(alice, client_for):
    return client_for(alice)


def edit(tool):
    return reverse("registry:api_tool_edit", args=[tool.pk])


def problem_of(text, field):
    """Return what is told beside a field."""
    found = re.search(rf'id="id_{field}_error">(.*?)</ul>', text, re.DOTALL)
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", found[1])).strip() if found else ""


def test_a_stranger_is_asked_to_sign_in():
    response = Client().get(NEW)
    assert response["Location"].startswith("/login/")


def test_the_catalogue_leads_to_the_form(client):
    assert f'href="{NEW}"' in client.get("/tools/").content.decode()


def test_the_form_makes_a_tool_and_leads_to_its_page(client, alice):
    response = client.post(NEW, FILLED)
    tool = Tool.objects.get(title="City weather")
    assert response["Location"] == f"/tools/{tool.pk}/"
    assert tool.definition == DEFINITION
    assert (tool.kind, tool.owner, tool.version, tool.timeout_seconds) == ("api", alice, 1, 9)
    assert (tool.visibility, tool.wire_name) == ("private", "city_weather")
    text = client.get(f"/tools/{tool.pk}/").content.decode()
    assert "POST https://api.example.com/v1/{{ args.city }}" in text
    assert "ACME_KEY" in text
    assert f'href="{edit(tool)}"' in text


@pytest.mark.parametrize(
    ("changes", "auth"),
    [
        ({"auth_type": "none"}, None),
        ({"auth_type": "bearer"}, {"type": "bearer", "env": "ACME_KEY"}),
        ({"auth_type": "oauth_caller"}, {"type": "oauth_caller"}),
        (
            {"auth_type": "basic", "auth_username": "me"},
            {"type": "basic", "env": "ACME_KEY", "username": "me", "usernameEnv": None},
        ),
        (
            {"auth_type": "basic", "auth_username": "$ACME_USER"},
            {"type": "basic", "env": "ACME_KEY", "username": "", "usernameEnv": "ACME_USER"},
        ),
        ({"auth_type": "query"}, {"type": "query", "env": "ACME_KEY", "name": "X-Key"}),
    ],
)
def test_each_sign_in_is_kept_and_shown_again(client, changes, auth):
    client.post(NEW, {**FILLED, **changes})
    tool = Tool.objects.get(title="City weather")
    assert tool.definition["auth"] == auth
    assert client.post(edit(tool), {**FILLED, **changes}).status_code == 302
    tool.refresh_from_db()
    assert (tool.definition["auth"], tool.version) == (auth, 1)


@pytest.mark.parametrize(
    ("changes", "body"),
    [
        ({"body_type": "none"}, None),
        (
            {"body_type": "form", "body": "a: 1\nb: {{ args.city }}"},
            {"type": "form", "value": {"a": "1", "b": "{{ args.city }}"}},
        ),
        (
            {"body_type": "text", "body": "<a/>", "content_type": "application/xml"},
            {"type": "text", "value": "<a/>", "contentType": "application/xml"},
        ),
    ],
)
def test_each_body_is_kept(client, changes, body):
    client.post(NEW, {**FILLED, **changes})
    assert Tool.objects.get(title="City weather").definition["body"] == body


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("name", "", "Give the tool a name"),
        ("description", "", "a model chooses its tools by this"),
        ("input_schema", "{", "not JSON: Expecting property name"),
        ("input_schema", "[]", "must be a JSON object"),
        ("input_schema", '{"type": "string"}', "“type”: “object”"),
        ("url", "", "must not be empty"),
        ("url", "https://{{ args.city }}/", "host must be fixed"),
        ("url", "https://example.com/{{ args.town }}", "“town” is not among the inputs"),
        ("method", "TRACE", "not one of the available choices"),
        ("query", "unit C", "Line 1 is not of the form name: value"),
        ("query", "a: 1\na: 2", "Line 2: “a” stands there already"),
        ("headers", "Authorization: Bearer abc", "by the sign-in"),
        ("body", "{", "not JSON"),
        ("auth_env", "my key", "ACME_API_KEY"),
        ("auth_env", "", "ACME_API_KEY"),
        ("auth_name", "X Key", "not the name of a header"),
        ("response_path", "a[", "cannot be read as JMESPath"),
        ("success_status", "all", "Write statuses such as"),
        ("success_status", "999", "at most 599"),
        ("max_bytes", "0", "greater than or equal to 1"),
        ("timeout_seconds", "301", "less than or equal to 300"),
        ("visibility", "world", "not one of the available choices"),
    ],
)
def test_what_is_wrong_is_told_beside_its_field_and_nothing_typed_is_lost(
    client, field, value, told
):
    response = client.post(NEW, {**FILLED, field: value})
    text = response.content.decode()
    assert response.status_code == 422
    assert told in problem_of(text, field)
    assert "X-From: outfitter" in text or field == "headers"
    assert not Tool.objects.exists()


def test_a_get_with_a_body_is_told_at_the_body(client):
    text = client.post(NEW, {**FILLED, "method": "GET"}).content.decode()
    assert "GET request has no body" in problem_of(text, "body")


def test_a_change_publishes_the_next_version(client, alice):
    tool = make_api_tool(alice, DEFINITION)
    text = client.get(edit(tool)).content.decode()
    assert "unit: C" in text
    assert "X-From: outfitter" in text
    response = client.post(edit(tool), {**FILLED, "response_path": ""})
    assert response.status_code == 302
    tool.refresh_from_db()
    assert (tool.version, tool.definition["response"]["path"]) == (2, "")


def test_a_public_tool_goes_on_while_its_change_waits(client, alice, bob, governor, client_for):
    tool = make_api_tool(alice, DEFINITION, visibility="public")
    assert tool.review_status == ReviewStatus.CANDIDATE
    proposal_approve(open_proposal_of(tool), by=governor, reason="")
    changed = {**FILLED, "visibility": "public", "url": "https://evil.example/"}
    told = client.post(edit(tool), changed, follow=True).content.decode()
    assert "saved as version 2. It waits for review; everybody else has version 1" in told
    assert "Version 2 waits for review." in told
    tool.refresh_from_db()
    assert (tool.version, tool.review_status) == (1, ReviewStatus.APPROVED)
    assert tool.definition["url"] != "https://evil.example/"
    assert "https://evil.example/" in client.get(edit(tool)).content.decode(), "the owner goes on"
    assert "You look at version 2" in client.get(f"/tools/{tool.pk}/?version=2").content.decode()
    other = client_for(bob)
    assert "waits for review" not in other.get(f"/tools/{tool.pk}/").content.decode()
    assert other.get(f"/tools/{tool.pk}/?version=2").status_code == 404
    mine = client.get(f"/api/v1/tools/{tool.pk}/").json()
    assert (mine["version"], mine["liveVersion"]) == (2, 1)
    theirs = other.get(f"/api/v1/tools/{tool.pk}/").json()
    assert (theirs["version"], theirs["liveVersion"]) == (1, 1)


def test_a_narrower_visibility_holds_at_once(client, alice, governor):
    tool = make_api_tool(alice, DEFINITION, visibility="public")
    proposal_approve(open_proposal_of(tool), by=governor, reason="")
    client.post(edit(tool), {**FILLED, "visibility": "public", "url": "https://evil.example/"})
    client.post(edit(tool), {**FILLED, "visibility": "private", "url": "https://evil.example/"})
    tool.refresh_from_db()
    assert (tool.visibility, tool.definition["url"]) == ("private", "https://evil.example/")
    assert open_proposal_of(tool) is None


def test_a_tool_is_shared_with_one_of_the_persons_own_teams(client, alice, team):
    client.post(NEW, {**FILLED, "visibility": "team", "team": str(team.pk)})
    tool = Tool.objects.get(title="City weather")
    assert (tool.visibility, tool.team) == (Visibility.TEAM, team)


def test_sharing_with_a_team_needs_the_team(client, team):
    text = client.post(NEW, {**FILLED, "visibility": "team"}).content.decode()
    assert "one of your own teams" in problem_of(text, "team")


@pytest.mark.parametrize("page", ["api_tool_edit", "api_tool_delete"])
def test_only_the_owner_reaches_a_tools_form(client_for, bob, alice, team, page):
    tool = make_api_tool(alice, DEFINITION, visibility="team", team=team)
    url = reverse(f"registry:{page}", args=[tool.pk])
    other = client_for(bob)
    assert other.post(url, FILLED).status_code == 404
    assert edit(tool) not in other.get(f"/tools/{tool.pk}/").content.decode()
    tool.refresh_from_db()
    assert (tool.version, tool.deleted_at) == (1, None)


def test_a_tool_of_another_kind_is_not_edited_here(client, alice):
    sequence = make_sequence(alice)
    assert client.get(edit(sequence)).status_code == 404
    definition = {"url": "https://example.com", "method": "GET"}
    imported = make_tool(
        kind="api", owner=alice, definition=definition, package=make_package(name="openapi")
    )
    assert client.get(edit(imported)).status_code == 404


def test_a_tool_is_deleted_and_its_name_becomes_free(client, alice):
    tool = make_api_tool(alice, DEFINITION)
    response = client.post(reverse("registry:api_tool_delete", args=[tool.pk]), follow=True)
    assert "Weather is deleted" in response.content.decode()
    assert make_api_tool(alice, DEFINITION).wire_name == tool.wire_name


def test_the_catalogue_is_narrowed_to_apis(client, alice):
    make_api_tool(alice, DEFINITION)
    make_tool(title="Another kind")
    text = client.get("/tools/?kind=api").content.decode()
    assert "Weather" in text
    assert "Another kind" not in text
    assert "HTTP API" in text


def test_the_admin_shows_the_request_to_a_reviewer(client_for, governor, alice):
    tool = make_api_tool(alice, DEFINITION, visibility="public")
    text = client_for(governor).get(f"/admin/registry/tool/{tool.pk}/change/").content.decode()
    assert "https://api.example.com/v1/" in text


REQUIRED = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'


def calling(owner, tool):
    steps = [{"stepNumber": 1, "toolToRunId": str(tool.pk), "inputMapping": {}}]
    return make_sequence(owner, title="Outer", definition={"format": 1, "steps": steps})


def test_a_change_that_breaks_others_is_saved_only_when_agreed_to(client, alice):
    client.post(NEW, FILLED)
    tool = Tool.objects.get(kind="api")
    calling(alice, tool)
    sent = {**FILLED, "input_schema": REQUIRED, "description": "Typed."}
    answer = client.post(edit(tool), sent)
    page = answer.content.decode()
    assert answer.status_code == 422 and "Typed." in page
    assert "Not saved yet: This breaks 1 sequence: “Outer”." in page
    agreed = re.search(r'name="agreed" value="(\w{64})"', page)[1]
    assert client.post(edit(tool), {**sent, "agreed": "x"}).status_code == 422
    assert client.post(edit(tool), {**sent, "agreed": agreed}).status_code == 302
    tool.refresh_from_db()
    assert (tool.version, tool.description) == (2, "Typed.")


def test_who_uses_a_tool_is_shown_before_it_is_deleted(client, alice):
    tool = make_api_tool(alice, {"url": "https://api.example.com/v1"})
    calling(alice, tool)
    url = reverse("registry:api_tool_delete", args=[tool.pk])
    page = client.get(url).content.decode()
    assert "This breaks 1 sequence: “Outer”." in page
    assert Tool.objects.filter(pk=tool.pk, deleted_at=None).exists()
    assert client.post(url).status_code == 302
    assert not Tool.objects.filter(pk=tool.pk, deleted_at=None).exists()


def test_only_the_owner_is_asked_whether_to_delete(client, bob):
    tool = make_api_tool(bob, {"url": "https://api.example.com/v1"})
    url = reverse("registry:api_tool_delete", args=[tool.pk])
    assert client.get(url).status_code == client.post(url).status_code == 404
