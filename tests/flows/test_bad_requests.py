"""Mistakes that are well-formed: each is refused with what is wrong, and changes nothing."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents.models import AgentTool, ApiToken
from agents.tokens import token_create
from chat.models import Conversation, Turn
from registry.models import ImportJob, Tool
from sequences.models import Run
from sequences.services import sequence_delete
from tests.factories import make_turn
from tests.flows.hostility import checked, hostile_client, refusal_of

JSON = "application/json"
INPUTS = {"type": "object", "properties": {"text": {"type": "string"}}}


@pytest.fixture
def alice(owner: User) -> User:
    return owner


@pytest.fixture
def client(alice: User) -> Client:
    return hostile_client(alice)


def post(client: Client, path: str, body: Any, **headers: str) -> Any:
    return checked(client.post(f"/api/v1{path}", body, content_type=JSON, headers=headers))


def sequence(definition: Any, **more: Any) -> dict[str, Any]:
    named = {"name": "Bad", "description": "Is refused.", "inputSchema": INPUTS}
    return {**named, "definition": definition, **more}


def step(tool: Any, **more: Any) -> dict[str, Any]:
    return {"stepNumber": 1, "toolToRunId": str(tool), **more}


@pytest.mark.parametrize(
    ("name", "version"),
    [("UPPER", ""), ("../etc", ""), ("a b", ""), ("-g;rm", "$(id)"), ("ok", "1;2"), ("@a", "")],
)
def test_a_package_that_cannot_exist_is_refused_before_it_is_queued(
    client: Client, hers: dict[str, Any], name: str, version: str
) -> None:
    before = ImportJob.objects.count()
    told = refusal_of(post(client, "/packages/", {"name": name, "version": version}))
    assert told["code"] in {"invalid_package_name", "invalid_package_version"}
    page = checked(client.post("/packages/import/", {"name": name, "version": version}))
    assert page.status_code == 422
    assert ImportJob.objects.count() == before


@pytest.mark.parametrize("arguments", [{}, {"expression": 5}, {"expression": "1", "more": 1}])
def test_arguments_that_miss_the_schema_are_told_by_their_path(
    client: Client, hers: dict[str, Any], arguments: dict[str, Any]
) -> None:
    path = f"/tools/{hers['builtin']}/run/"
    told = refusal_of(post(client, path, {"arguments": arguments}))
    assert told["code"] == "invalid_arguments"
    assert all(problem["path"].startswith("$") for problem in told["extra"]["problems"])


def test_a_sequence_that_calls_itself_is_refused(client: Client, hers: dict[str, Any]) -> None:
    path = f"/api/v1/tools/{hers['tool_id']}/"
    before = Tool.objects.get(pk=hers["tool_id"]).definition
    body = sequence({"format": 1, "steps": [step(hers["tool_id"])]})
    refusal_of(client.put(path, body, content_type=JSON))
    name = Tool.objects.get(pk=hers["tool_id"]).wire_name
    form = {"name": "Bad", "description": "x", "schema": "{}", "steps-0-tool": name}
    form["action"] = "publish"
    page = checked(client.post(f"/sequences/{hers['tool_id']}/edit", form))
    assert page.status_code == 422
    assert Tool.objects.get(pk=hers["tool_id"]).definition == before


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"format": 2, "steps": []},
        {"format": 1, "steps": {}},
        {"format": 1, "steps": [None, 1, "x"]},
        {"format": 1, "steps": [{"stepNumber": 1, "toolToRunId": "\x00"}]},
        {"format": 1, "steps": [{"stepNumber": 10**30, "toolToRunId": str(uuid4())}]},
        {f"key{number}": number for number in range(10_000)},
        {"format": 1, "steps": [], "finalOutputMapping": nested(90)},
        {"format": 1, "steps": [{"stepNumber": 1}] * 5_000},
    ],
    ids=lambda definition: str(definition)[:40],
)
def test_a_definition_that_is_none_is_refused(
    client: Client, hers: dict[str, Any], definition: Any
) -> None:
    before = Tool.objects.count()
    refusal_of(post(client, "/tools/", sequence(definition)))
    assert Tool.objects.count() == before


def test_a_mapping_to_what_is_not_there_is_refused(client: Client, hers: dict[str, Any]) -> None:
    source = {"source": "previousStep", "step": "nowhere", "path": "a.b"}
    mapped = step(hers["builtin"], inputMapping={"expression": source})
    told = refusal_of(post(client, "/tools/", sequence({"format": 1, "steps": [mapped]})))
    assert "nowhere" in str(told)


def test_a_static_value_of_ninety_levels_is_no_server_error(
    client: Client, hers: dict[str, Any]
) -> None:
    source = {"source": "static", "value": nested(85)}
    mapped = step(hers["builtin"], inputMapping={"expression": source})
    post(client, "/tools/", sequence({"format": 1, "steps": [mapped]}))


def test_a_tool_that_is_gone_after_it_was_linked_is_refused_everywhere(
    client: Client, hers: dict[str, Any]
) -> None:
    tool = Tool.objects.get(pk=hers["tool_id"])
    sequence_delete(tool)
    links = client.get(f"/api/v1/agents/{hers['slug']}/tools/").json()["results"]
    assert [link["toolId"] for link in links] == [str(hers["builtin"])]
    for path in (f"/agents/{hers['slug']}/", f"/agents/{hers['slug']}/tools/"):
        assert checked(client.get(path)).status_code == 200
    refusal_of(post(client, f"/tools/{tool.pk}/run/", {"arguments": {"text": "1"}}))
    refusal_of(post(client, f"/agents/{hers['slug']}/tools/", {"toolId": str(tool.pk)}))
    refusal_of(post(client, f"/runs/{hers['run_id']}/retry/", {}))
    assert checked(client.get(f"/runs/{hers['run_id']}/")).status_code == 200


def test_a_version_that_is_not_there_cannot_be_pinned_run_or_restored(
    client: Client, hers: dict[str, Any]
) -> None:
    for number in (999, 2**31, 10**30):
        body = {"toolId": str(hers["builtin"]), "version": number}
        refusal_of(post(client, f"/agents/{hers['slug']}/tools/", body))
        body = {"arguments": {"expression": "1"}, "version": number}
        refusal_of(post(client, f"/tools/{hers['builtin']}/run/", body))
        refusal_of(post(client, f"/tools/{hers['tool_id']}/versions/{number}/restore/", {}))
    assert not AgentTool.objects.exclude(pinned_version=None).exists()


def test_a_message_that_is_too_long_is_refused_and_the_longest_is_kept_whole(
    client: Client, hers: dict[str, Any]
) -> None:
    path = f"/conversations/{hers['conversation_id']}/messages/"
    told = refusal_of(post(client, path, {"content": "x" * 100_001}))
    assert "100,001" in told["message"]
    page = checked(
        client.post(f"/chat/{hers['conversation_id']}/messages/", {"content": "y" * 100_001})
    )
    assert page.status_code == 400
    assert "y" * 100_001 in page.content.decode()
    assert Turn.objects.count() == 1


def test_a_second_message_while_the_agent_answers_is_refused(
    client: Client, hers: dict[str, Any]
) -> None:
    conversation = Conversation.objects.get(pk=hers["conversation_id"])
    make_turn(conversation, number=2, heartbeat_at=timezone.now())
    told = refusal_of(
        post(client, f"/conversations/{hers['conversation_id']}/messages/", {"content": "more"})
    )
    assert told["code"] == "turn_open"
    assert Turn.objects.count() == 2


def test_a_message_into_somebody_elses_conversation_is_refused(
    hers: dict[str, Any], charlie: User
) -> None:
    path = f"/conversations/{hers['conversation_id']}/messages/"
    told = refusal_of(post(hostile_client(charlie), path, {"content": "hello"}))
    assert told["code"] == "not_found"
    assert Turn.objects.count() == 1


def test_an_idempotency_key_is_good_for_one_request_only(
    client: Client, hers: dict[str, Any]
) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    first = post(client, "/agents/", {"name": "Once"}, **key)
    again = post(client, "/agents/", {"name": "Once"}, **key)
    assert (first.status_code, again.json()) == (201, first.json())
    assert refusal_of(post(client, "/agents/", {"name": "Twice"}, **key))["code"] == (
        "idempotency_conflict"
    )
    for odd in ("k" * 201, "é\x01", " "):
        checked(post(client, "/agents/", {"name": "Odd"}, **{"Idempotency-Key": odd}))


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer oft_", "bearer oft_ÿ", "Basic !!", "x" * 9000]
)
def test_a_header_that_is_no_token_is_401(hers: dict[str, Any], header: str) -> None:
    answer = hostile_client().get("/api/v1/tools/", headers={"Authorization": header})
    assert (answer.status_code, bool(refusal_of(answer))) == (401, True)


def test_a_token_that_has_expired_is_401(alice: User) -> None:
    token, text = token_create(alice, name="old", expires_at=timezone.now() + timedelta(hours=1))
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(1))
    answer = hostile_client().get("/api/v1/tools/", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 401
    assert "expired" in refusal_of(answer)["message"]


def test_a_form_without_its_csrf_token_gets_a_page_and_the_api_its_shape(
    alice: User, hers: dict[str, Any]
) -> None:
    client = hostile_client(alice, enforce_csrf_checks=True)
    page = client.post(f"/chat/{hers['conversation_id']}/messages/", {"content": "forged"})
    assert page.status_code == 403
    assert "text/html" in page["Content-Type"]
    told = refusal_of(post(client, "/agents/", {"name": "Forged"}))
    assert told["code"] == "permission_denied"
    assert Turn.objects.count() == 1


def test_a_method_that_is_not_supported_is_405(client: Client, hers: dict[str, Any]) -> None:
    assert checked(client.put("/tools/")).status_code == 405
    assert checked(client.get(f"/agents/{hers['slug']}/delete/")).status_code == 405
    answer = client.put("/api/v1/agents/", {}, content_type=JSON)
    assert (answer.status_code, refusal_of(answer)["code"]) == (405, "method_not_allowed")


def test_a_run_cannot_be_retried_from_nowhere(client: Client, hers: dict[str, Any]) -> None:
    for start in ("9" * 5_000, "²", "-1", "99", "abc"):
        answer = checked(client.post(f"/runs/{hers['run_id']}/retry", {"from_step": start}))
        assert answer.status_code in (302, 400)
    assert Run.objects.count() == 1


@pytest.mark.parametrize("field", ["name", "description", "schema", "steps-0-tool", "team"])
def test_what_no_database_and_no_stack_holds_does_not_break_the_builder(
    client: Client, hers: dict[str, Any], field: str
) -> None:
    form = {"name": "A", "description": "B", "schema": "{}", "steps-0-tool": "calculator"}
    deep = '{"not": ' * 300 + "1" + "}" * 300
    for value in ("a\x00b", "9" * 5_000, "[" * 100_000, "1e999", deep):
        page = client.post("/sequences/new").url
        for action in ("", "publish"):
            sent = {**form, field: value, "action": action, "revision": "1"}
            checked(client.post(page, sent))
